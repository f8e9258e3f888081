"""Show the answer of `sdb query`."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress
from itertools import chain, islice

from sdb import formats, sizes
from sdb.cli import output

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
_TEXTS = frozenset({"json", "csv", "tsv", "markdown", "ion-text", TABLE, VERTICAL})
_FORMATS = (*sorted(_TEXTS), "ion", "arrow", "parquet")
_MOST_ROWS = 100
_MOST_FILES = 1 << 16


def form(fmt: str | None, target: str) -> tuple[str, str]:
    """Choose the format.

    Parameters
    ----------
    fmt : str or None
        What the user says.
    target : str
        Where the rows go.

    Returns
    -------
    str
        That, or what the suffix says, or a table on a terminal and JSON elsewhere.
    str
        How the file is compressed.

    Raises
    ------
    UsageError
        There is no such format, or the suffix says another one.
    """
    if target != "-":
        return formats.written(target, fmt, _FORMATS, "json")
    return formats.written(None, fmt, _FORMATS, TABLE if sys.stdout.isatty() else "json")


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
) -> None:
    """Write rows to a file or standard output.

    Parameters
    ----------
    result : Result or Lines
        The rows.
    form : str
        The format.
    target : str
        Where they go; ``-`` is standard output.
    force : bool
        Whether an existing file may be replaced, or a terminal get binary data.
    compression : {"none", "gzip", "zstd"}
        How a file is compressed.
    follow : callable
        Shows how far a result is, as long as its rows do not come to a terminal.
    """
    is_shown = target == "-" and sys.stdout.isatty()
    with output.opened(
        target, force=force, is_text=form in _TEXTS, compression=compression
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
            with nullcontext() if is_shown else follow(result):
                result.write(file, form, indent=is_shown)
    say_notes(result)


def say_notes(result: Result | Lines) -> None:
    """Say what users should know of an answer."""
    for note in result.notes:
        output.say(output.plain(output.shortened(note)), to=sys.stderr)


def _encoding(target: str) -> str:
    return sys.stdout.encoding or "utf-8" if target == "-" else "utf-8"


def _table(result: Result | Lines, columns: int) -> str:
    from sdb.query.result.lines import parse
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
    names = gathered(rows) if result.of_whole_rows else result.columns
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


def explain(result: Result, *, as_json: bool) -> None:
    """Show what a query would read.

    Parameters
    ----------
    result : Result
        The result; its rows are not asked for.
    as_json : bool
        Whether to print JSON.
    """
    from sdb.query.result.reading import facts

    found = facts(result)
    if as_json:
        output.say_json(found)
        return
    for table in found["tables"]:
        output.say(output.plain("".join(f"{line}\n" for line in _explained(table)).rstrip("\n")))
    output.say(
        f"total: {found['blocks']:,} of {found['all_blocks']:,} blocks, "
        f"{sizes.human(found['stored_bytes'])} of {sizes.human(found['all_stored_bytes'])}"
    )
    if found["order"]:
        output.say(f"they are read {found['order']}")
    for note in found["notes"]:
        output.say(output.plain(note))


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
    if not rows:
        yield "  no block has to be read"
        return
    lines = drawn(head, rows, columns=1 << 16).splitlines()
    yield f"  {lines[0]}"
    for line, file in zip(lines[1:], table["files"], strict=True):
        yield f"  {line}"
        for reason in file["reasons"]:
            known = "any block" if reason["source"] == "nothing" else ranges(reason["blocks"])
            why = "" if reason["source"] == "nothing" else f" ({reason['source']})"
            yield f"      {reason['condition']}: {known}{why}"
