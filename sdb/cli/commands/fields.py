"""`sdb fields`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Packfiles, ProgressMode, Threads
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = (
    "sdb fields events.zion",
    "sdb fields --match 'payload.*' events.zion",
    "sdb fields --stats events.zion",
)


def command(
    context: Context,
    packfiles: Packfiles,
    match: Annotated[
        str | None,
        Option(metavar="PATTERN", help="Only fields of this name; * is any text: 'items[].*'."),
    ] = None,
    stats: Annotated[
        bool,
        Option(
            "--stats",
            help="Read all rows: distinct and frequent values, least and greatest, nulls, and size:"
            " each field's share of the compressed bytes it is stored with.",
        ),
    ] = False,
    as_json: AsJson = False,
    threads: Threads = None,
    progress: ProgressMode = "auto",
) -> None:
    """List the fields of packfiles: types, and in how many rows they are.

    Only the end of each file is read, unless --stats is given. Several files are taken together.
    """
    if stats:
        _print_stats(context, packfiles, match, threads, progress, as_json=as_json)
        return
    from sdb import notes
    from sdb.packfile.inspect.describe import fields
    from sdb.packfile.read.fields import as_facts

    found = fields(packfiles, match=match, root=context.obj or None)
    for name in found.silent:
        notes.warn(
            f"{name} does not tell its fields; sdb pack -o NEW.zion {name} makes one that does"
        )
    if as_json:
        output.say_json(as_facts(found))
        return
    from sdb.view.fieldlist import draw

    is_nested = match is None
    text = draw(found, columns=output.columns(), is_nested=is_nested, can_draw=output.can_draw())
    output.say(output.plain(text.removesuffix("\n")))


def _print_stats(
    context: Context,
    packfiles: list[str],
    match: str | None,
    threads: int | None,
    progress: str,
    *,
    as_json: bool,
) -> None:
    from sdb.packfile.inspect.fieldreport import as_facts, field_stats

    with Meter("reading", progress) as meter:
        found = field_stats(
            packfiles, match=match, threads=threads, root=context.obj or None, progress=meter
        )
    if as_json:
        output.say_json(as_facts(found))
        return
    from sdb.view.statlist import draw

    width, can_draw = output.columns(), output.can_draw()
    text = draw(found, columns=width, is_nested=match is None, can_draw=can_draw)
    output.say(output.plain(text.removesuffix("\n")))
