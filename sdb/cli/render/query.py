"""Show the answer of `sdb query`."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress
from itertools import chain, islice

from sdb import formats, sizes
from sdb.cli import output
from sdb.cli.render.csvsafety import made_safe
from sdb.cli.settings import terminal_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any, TypeAlias

    from sdb.cli.render.rows import Lines
    from sdb.query.result.result import Result

    Follow: TypeAlias = Callable[[Any], AbstractContextManager[object]]

TABLE = "table"
VERTICAL = "vertical"
_FORMATS = formats.written_by("shown")
_MOST_ROWS = 100
_LEAST_PATH = 24
_SLOW_SECONDS = 1.0
_MOST_FILES = 1 << 16


def form(fmt: str | None, target: str) -> tuple[str, str]:
    """Choose the format.

    Returns: That, or what the suffix says; else on a terminal that of the settings, or a table, and
    JSON elsewhere.
    Raises `UsageError` if there is no such format, or the suffix says another one.
    """
    if target != "-":
        return formats.written(target, fmt, _FORMATS, "json")
    if not sys.stdout.isatty():
        return formats.written(None, fmt, _FORMATS, "json")
    return formats.written(None, fmt or terminal_format(), _FORMATS, TABLE)


def allow_many_files() -> None:
    """Use as many open files as the system allows: a pattern may match thousands."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def write(
    result: Result | Lines,
    form: str,
    target: str,
    *,
    force: bool,
    compression: str = "none",
    follow: Follow = lambda _: nullcontext(),
    safety: str = "",
) -> None:
    """Write rows to a file or standard output.

    * ``target``: Where they go; ``-`` is standard output.
    * ``force``: Whether an existing file may be replaced, or a terminal get binary data.
    * ``follow``: Shows how far a result is, as long as its rows do not come to a terminal.
    * ``safety``: See :func:`sdb.cli.render.csvsafety.csv_safety`.
    """
    result.warns = False  # what there is to tell comes behind rows and progress
    is_shown = target == "-" and sys.stdout.isatty()
    with output.opened(
        target, force=force, is_text=form in formats.TEXTS, compression=compression
    ) as file:
        if form == TABLE:
            with follow(result):
                text = _table(result, output.columns())
            file.write(text.encode(_encoding(target), "replace"))
        elif form == VERTICAL:
            blocks = _vertical(result)
            with follow(result):  # up to the first row
                first = list(islice(blocks, 1))
            for lines in chain(first, blocks):
                file.write(lines.encode(_encoding(target), "replace"))
        else:
            with (
                made_safe(file, safety) as safe_file,
                nullcontext() if is_shown else follow(result),
            ):
                result.write(safe_file, form, indent=is_shown)
    say_notes(result)


def say_notes(result: Result | Lines) -> None:
    """Say what users should know of an answer."""
    for note in result.notes:
        output.say(output.plain(output.shortened(note)), to=sys.stderr)


def _encoding(target: str) -> str:
    return sys.stdout.encoding or "utf-8" if target == "-" else "utf-8"


def _table(result: Result | Lines, columns: int) -> str:
    from sdb.query.result.lines import parse
    from sdb.query.result.outputs import in_order_of_inputs
    from sdb.view.grid import gathered, grid

    lines: list[str] = []
    total = 0
    for piece in result.lines():
        if len(lines) < _MOST_ROWS:
            lines += piece.decode().split("\n")[:-1][: _MOST_ROWS - len(lines)]
        total += piece.count(b"\n")
    rows = [parse(line) for line in lines]
    if result.is_plan:
        return output.plain("".join(f"{row[result.columns[-1]]}\n" for row in rows))
    whole = result.of_whole_rows
    names = in_order_of_inputs(gathered(rows), result.tables) if whole else result.columns
    mark = "…" if output.can_draw() else "..."
    return output.plain(grid(names, rows, columns=columns, total=total, ellipsis=mark))


def _vertical(result: Result | Lines) -> Iterator[str]:
    from sdb.query.result.lines import parse
    from sdb.view.vertical import vertical

    if result.is_plan:
        yield _table(result, output.columns())
        return
    rows = (parse(line) for piece in result.lines() for line in piece.decode().split("\n")[:-1])
    yield from map(output.plain, vertical(rows, rule="─" if output.can_draw() else "-"))


def say_advice(result: Result, seconds: float, root: str) -> None:
    """Say what would have helped a slow query."""
    if seconds > _SLOW_SECONDS:
        from sdb.query.result.advice import advice

        for line in advice(result.tables, root=root):
            output.say(output.plain(line), to=sys.stderr)


def explain(result: Result, *, as_json: bool, root: str = "") -> None:
    """Show what a query would read.

    * ``result``: The result; its rows are not asked for.
    """
    from sdb.query.result.reading import facts

    explained = facts(result, root)
    if as_json:
        output.say_json(explained)
        return
    for table in explained["tables"]:
        output.say(output.plain("".join(f"{line}\n" for line in _explained(table)).rstrip("\n")))
    output.say(
        f"total: {explained['blocks']:,} of {explained['all_blocks']:,} blocks, "
        f"{sizes.human(explained['stored_bytes'])} of {sizes.human(explained['all_stored_bytes'])}"
    )
    if explained["order"]:
        output.say(f"they are read {explained['order']}")
    if explained["dialect"] != "standard":
        output.say(f"the dialect is {explained['dialect']}")
    for note in explained["notes"]:
        output.say(output.plain(note))


def _cut_last(head: list[str], rows: list[list[str]]) -> None:
    """Cut the start of paths, the last cells, so that lines fit a terminal."""
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)][:-1]
    room = output.columns() - sum(widths) - 2 * (len(widths) + 1)
    room = max(room, _LEAST_PATH)
    for row in rows:
        if len(row[-1]) > room:
            row[-1] = f"...{row[-1][3 - room :]}"


def _explained(table: dict[str, Any]) -> Iterable[str]:
    from sdb.query.result.reading import ranges
    from sdb.view.facts import table as drawn

    head = ["blocks", "of", "which", "rows", "size", "file"]
    rows = [
        [
            str(sum(stop - start for start, stop in file["blocks"])),
            str(file["all_blocks"]),
            ranges(file["blocks"]),
            "?" if file["rows"] is None else f"{file['rows']:,}",
            sizes.human(file["stored_bytes"]),
            file["path"],
        ]
        for file in table["files"]
    ]
    yield table["table"]
    for step in table["index"]:
        yield (
            f"  index: {step['lists']:,} of {step['all_lists']:,} lists, "
            f"{step['packfiles']:,} of {step['all_packfiles']:,} packfiles"
        )
    if schema := table.get("schema"):
        yield f"  schema: {schema['columns']:,} columns, mode {schema['mode']}"
    if not rows:
        yield "  no block has to be read"
        return
    _cut_last(head, rows)
    lines = drawn(head, rows, columns=1 << 16).splitlines()
    yield f"  {lines[0]}"
    for line, file in zip(lines[1:], table["files"], strict=True):
        yield f"  {line}"
        for reason in file["reasons"]:
            known = "any block" if reason["source"] == "nothing" else ranges(reason["blocks"])
            why = "" if reason["source"] == "nothing" else f" ({reason['source']})"
            yield f"      {reason['condition']}: {known}{why}"
