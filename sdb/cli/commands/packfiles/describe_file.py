"""`sdb describe-file`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, PackfilesOrTables, Replace, Root, ShowStats, Verbose
from sdb.cli.parameters import Context, Option
from sdb.cli.render.sharpness import show_sharpness
from sdb.cli.tablenames import Sources
from sdb.errors import UsageError
from sdb.packfile.inspect.describe import as_dict, describe, text
from sdb.packfile.inspect.records import Description
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.selectivity import Sharpness
    from sdb.packfile.read.resolve import PackfileReference

EXAMPLES = (
    "sdb describe-file events.zion",
    "sdb describe-file --timeline events.zion",
    "sdb describe-file --stats events.zion",
    "sdb describe-file --html events.html events.zion",
)


def command(
    context: Context,
    packfiles: PackfilesOrTables,
    blocks: Annotated[bool, Option("--blocks", help="List every block.")] = False,
    timeline: Annotated[
        bool, Option("--timeline", help="Draw which times each block can hold.")
    ] = False,
    stats: ShowStats = False,
    html: Annotated[
        str | None, Option(metavar="FILE", help="Write a page with all of it as well.")
    ] = None,
    classic: Annotated[
        bool, Option("--classic", help="Print the lines of the original, on a terminal as well.")
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
    force: Replace = False,
    verbose: Verbose = False,
) -> None:
    """Show size, blocks and time ranges of packfiles.

    Only the end of each file is read. On a terminal, and for --html and --json, a few chunks of
    local files are read, too, to estimate which fields take most. --stats reads some rows.
    """
    if as_json and timeline:
        raise UsageError("--json and --timeline exclude each other", hint="--json --blocks")
    if verbose:
        output.prepare(verbose=True)
    for_people = sys.stdout.isatty() and not (classic or as_json)
    largest = for_people or as_json or html is not None
    with Sources(context, root) as sources:
        references = sources.resolve(packfiles)
        description = describe(references, largest=largest)
        if html is not None:
            output.check_apart(html, [reference.location for reference in references])
            _write_page(description, html, force=force)
        sharpness = _sharpness(references) if stats else None
    output.tell_likely_times(references)
    if as_json:
        more_facts = {} if sharpness is None else {"sharpness": sharpness.as_dict()}
        output.say_json(as_dict(description, blocks=blocks) | more_facts)
        return
    if for_people:
        from sdb.view.facts import overview

        shown = overview(description, columns=output.columns(), can_draw=output.can_draw())
    else:
        shown = text(description)
    output.say(output.plain(shown.removesuffix("\n")))
    if sharpness is not None:
        show_sharpness(sharpness)
    if blocks or timeline:
        _draw(description, blocks=blocks, timeline=timeline)


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
