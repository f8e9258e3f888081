"""`sdb describe`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import (
    AsJson,
    AsPackfiles,
    At,
    PackfilesOrTables,
    Replace,
    ShowStats,
    Verbose,
)
from sdb.cli.parameters import Option, TableContext, Together
from sdb.cli.render.sharpness import show_sharpness
from sdb.cli.tablenames import Sources, at_version, single_table
from sdb.errors import UsageError
from sdb.packfile.inspect.describe import as_dict, describe, text
from sdb.packfile.inspect.records import Description
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.selectivity import Sharpness
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.table.catalog.handle import TableHandle

EXAMPLES = (
    "sdb describe events.zion",
    "sdb describe --timeline events.zion",
    "sdb describe --html events.html events.zion",
    "sdb describe --root lake web.gha",
    "sdb describe --stats --root lake web.gha",
)


@record
class _Shown(Together):
    """Facts beside the usual ones, and other forms of them."""

    blocks: Annotated[bool, Option("--blocks", help="List every block.")] = False
    timeline: Annotated[
        bool, Option("--timeline", help="Draw which times each block can hold.")
    ] = False
    stats: ShowStats = False
    html: Annotated[
        str | None, Option(metavar="FILE", help="Write a page with all of it as well.")
    ] = None
    classic: Annotated[
        bool, Option("--classic", help="Print the lines of the original, on a terminal as well.")
    ] = False
    force: Replace = False


SHOWN = _Shown()


def command(
    context: TableContext,
    packfiles: PackfilesOrTables,
    as_packfiles: AsPackfiles = False,
    at: At = "",
    shown: _Shown = SHOWN,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show size, blocks and time ranges of packfiles or a table.

    Only the end of each file is read. On a terminal, and for --html and --json, a few chunks of
    local files are read, too, to estimate which fields take most. Of a table the index and the
    lists of older packfiles are read; --blocks, --timeline and --html show its packfiles. --stats
    reads some rows.
    """
    if as_json and shown.timeline:
        raise UsageError("--json and --timeline exclude each other", hint="--json --blocks")
    if verbose:
        output.prepare(verbose=True)
    for_people = sys.stdout.isatty() and not (shown.classic or as_json)
    is_drawn = as_packfiles or shown.blocks or shown.timeline or shown.html is not None
    handle = None if is_drawn else single_table(context, packfiles, at)
    if handle is not None:
        is_newest = not (at or "@" in packfiles[-1] or shown.classic)
        _table(
            handle, is_newest=is_newest, stats=shown.stats, classic=shown.classic, as_json=as_json
        )
        return
    largest = for_people or as_json or shown.html is not None
    with Sources(context) as sources:
        references = sources.resolve(at_version(packfiles, at))
        description = describe(references, largest=largest)
        if shown.html is not None:
            output.check_apart(shown.html, [reference.location for reference in references])
            _write_page(description, shown.html, force=shown.force)
        sharpness = _sharpness(references) if shown.stats else None
    output.tell_likely_times(references)
    if as_json:
        more_facts = {} if sharpness is None else {"sharpness": sharpness.as_dict()}
        output.say_json(as_dict(description, blocks=shown.blocks) | more_facts)
        return
    if for_people:
        from sdb.view.facts import overview

        lines = overview(description, columns=output.columns(), can_draw=output.can_draw())
    else:
        lines = text(description)
    output.say(output.plain(lines.removesuffix("\n")))
    if sharpness is not None:
        show_sharpness(sharpness)
    if shown.blocks or shown.timeline:
        _draw(description, blocks=shown.blocks, timeline=shown.timeline)


def _draw(description: Description, *, blocks: bool, timeline: bool) -> None:
    from sdb.view.facts import block_table
    from sdb.view.timeline import ASCII, UNICODE, draw

    glyphs = UNICODE if output.can_draw() else ASCII
    for file in description.files:
        parts = [block_table(file, columns=output.columns())] if blocks else []
        if timeline:
            parts.append(draw(file, columns=output.drawing_columns(), glyphs=glyphs))
        head = f"\n{file.url}" if len(description.files) > 1 else ""
        output.say(output.plain(head + "".join(f"\n{part}" for part in parts).removesuffix("\n")))


def _table(
    handle: TableHandle, *, is_newest: bool, stats: bool, classic: bool, as_json: bool
) -> None:
    """Describe a table."""
    from sdb.exchange.policies import lags
    from sdb.table.inspect.describe import describe_table
    from sdb.table.inspect.labels import labels
    from sdb.table.sync.retained import retention_of

    description = describe_table(handle)
    mirrors = lags(handle) if is_newest else []
    own = {} if classic else labels(handle.root, handle.keys)
    retained = retention_of(handle) if is_newest else None
    sharpness = None
    if stats:
        from sdb.table.inspect.selectivity import table_sharpness

        sharpness = table_sharpness(handle)
    if as_json:
        more_facts: dict[str, object] = (
            {} if sharpness is None else {"sharpness": sharpness.as_dict()}
        )
        if retained is not None:
            more_facts["retention"] = retained.as_dict()
        if mirrors:
            more_facts["exports"] = [mirror.as_dict() for mirror in mirrors]
        output.say_json(description.as_dict() | own | more_facts)
        return
    for label, value in own.items():
        output.say(output.plain(f"{label}: {' '.join(value.split())}"))
    if sys.stdout.isatty() and not classic:
        from sdb.view.tablelist import overview

        shown = overview(description, columns=output.columns())
    else:
        shown = description.text()
    output.say(output.plain(shown.removesuffix("\n")))
    for line in (*([f"retention: {retained}"] if retained else ()), *(m.text() for m in mirrors)):
        output.say(output.plain(line))
    if sharpness is not None:
        show_sharpness(sharpness)


def _sharpness(references: list[PackfileReference]) -> Sharpness:
    from contextlib import ExitStack

    from sdb.packfile.inspect.selectivity import sharpness

    with ExitStack() as stack:
        return sharpness([stack.enter_context(reference.open()) for reference in references])


def _write_page(description: Description, path: str, *, force: bool) -> None:
    from sdb.store.url import atomic_write
    from sdb.view.html import page

    with atomic_write(path, overwrite=force) as file:
        file.write(page(description).encode())
