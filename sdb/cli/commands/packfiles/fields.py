"""`sdb fields`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, PackfilesOrTables, ProgressMode, Root, Threads
from sdb.cli.parameters import Context, Option
from sdb.cli.tablenames import Sources
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.read.resolve import PackfileReference

EXAMPLES = (
    "sdb fields events.zion",
    "sdb fields --root lake web.gha",
    "sdb fields --match 'payload.*' events.zion",
    "sdb fields --stats events.zion",
)


def command(
    context: Context,
    packfiles: PackfilesOrTables,
    match: Annotated[
        str | None,
        Option(
            metavar="PATTERN", help="Only fields whose name matches; * is any text: 'items[].*'."
        ),
    ] = None,
    stats: Annotated[
        bool,
        Option(
            "--stats",
            help="Read all rows: distinct, frequent, smallest and largest values, nulls, and the"
            " compressed size of each field.",
        ),
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
    threads: Threads = None,
    progress: ProgressMode = "auto",
) -> None:
    """List the fields of packfiles and tables, with types and rows.

    Only the end of each file is read, unless --stats is given. Several files are taken together.
    """
    with Sources(context, root) as sources:
        references = sources.resolve(packfiles)
        if stats:
            _print_stats(references, match, threads, progress, as_json=as_json)
        else:
            _print_fields(references, match, as_json=as_json)


def _print_fields(references: list[PackfileReference], match: str | None, *, as_json: bool) -> None:
    from sdb import notes
    from sdb.packfile.inspect.describe import fields
    from sdb.packfile.read.fields import as_facts

    inventory = fields(references, match=match)
    for name in inventory.silent:
        notes.warn(
            f"{name} does not tell its fields; sdb pack -o NEW.zion {name} makes one that does"
        )
    if as_json:
        output.say_json(as_facts(inventory))
        return
    from sdb.view.fieldlist import draw

    is_nested = match is None
    text = draw(
        inventory, columns=output.columns(), is_nested=is_nested, can_draw=output.can_draw()
    )
    output.say(output.plain(text.removesuffix("\n")))


def _print_stats(
    references: list[PackfileReference],
    match: str | None,
    threads: int | None,
    progress: str,
    *,
    as_json: bool,
) -> None:
    from sdb.packfile.inspect.fieldreport import as_facts, field_stats

    with Meter("reading", progress) as meter:
        stats = field_stats(references, match=match, threads=threads, progress=meter)
    if as_json:
        output.say_json(as_facts(stats))
        return
    from sdb.view.statlist import draw

    width, can_draw = output.columns(), output.can_draw()
    text = draw(stats, columns=width, is_nested=match is None, can_draw=can_draw)
    output.say(output.plain(text.removesuffix("\n")))
