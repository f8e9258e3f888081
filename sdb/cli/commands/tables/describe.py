"""`sdb describe`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, Root, ShowStats, TableVersion, table_root
from sdb.cli.parameters import Context, Option
from sdb.cli.render.sharpness import show_sharpness
from sdb.cli.tablenames import version_of
from sdb.typed import Annotated

EXAMPLES = (
    "sdb describe --root lake web.gha",
    "sdb describe --json --root lake web gha",
    "sdb describe --stats --root lake web.gha",
)


def command(
    context: Context,
    name: TableVersion,
    table: NextWord = None,
    at: At = "",
    root: Root = None,
    classic: Annotated[
        bool, Option("--classic", help="Print the lines of the original, on a terminal as well.")
    ] = False,
    stats: ShowStats = False,
    as_json: AsJson = False,
) -> None:
    """Show the packfiles of a table: sizes, blocks, time ranges.

    Reads the index and the lists of older packfiles, and packfiles only with --stats.
    """
    from sdb.exchange.policies import lags
    from sdb.table.catalog.handle import open_table
    from sdb.table.inspect.describe import describe_table
    from sdb.table.inspect.labels import labels
    from sdb.table.sync.retained import retention_of

    database, table, reference = version_of(name, table, at)
    handle = open_table(table_root(context, root), database, table, at=reference)
    description = describe_table(handle)
    mirrors = [] if reference or classic else lags(handle)
    own = {} if classic else labels(handle.root, handle.keys)
    retained = None if reference or classic else retention_of(handle)
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
    for label, text in own.items():
        output.say(output.plain(f"{label}: {' '.join(text.split())}"))
    if sys.stdout.isatty() and not classic:
        from sdb.view.tablelist import overview

        shown = overview(description, columns=output.columns())
    else:
        shown = description.text()
    output.say(output.plain(shown.removesuffix("\n")))
    if retained is not None:
        output.say(output.plain(f"retention: {retained}"))
    for mirror in mirrors:
        output.say(output.plain(mirror.text()))
    if sharpness is not None:
        show_sharpness(sharpness)
