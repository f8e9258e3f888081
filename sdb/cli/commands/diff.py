"""`sdb diff`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, ProgressMode, Root, TableVersion
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import named_table, opened_table
from sdb.typed import Annotated

EXAMPLES = (
    "sdb diff --root lake web.gha@1 web.gha@2",
    "sdb diff --rows --root lake web.gha@-1",
)


def command(
    context: Context,
    name: TableVersion,
    other: Annotated[
        str | None,
        Argument(
            metavar="[DB.TABLE@REF]", help="The later one, or 12 alone; the newest if not given."
        ),
    ] = None,
    rows: Annotated[
        bool, Option("--rows", help="Rows that came and went: JSON with their signs.")
    ] = False,
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
) -> None:
    """Compare two versions of a table.

    Packfiles, rows and bytes that came and went.

    With --rows only packfiles that differ are read. A row that was moved, by a compaction as an
    example, did not change.
    """
    from sdb.table.history.diff import compare, different_rows

    database, table, _ = named_table(name)
    later = other or ""
    if "." not in later.partition("@")[0]:  # a version of the same table
        later = f"{database}.{table}{later and '@'}{later.removeprefix('@')}"
    difference = compare(opened_table(context, root, name), opened_table(context, root, later))
    if rows:
        with Meter("comparing", progress) as meter:
            stream = output.binary()
            for sign, row in different_rows(difference, progress=meter):
                stream.write(b'{"sign": "%s", "row": %s}\n' % (sign.encode(), row))
            stream.flush()
        return
    if as_json:
        output.say_json(difference.as_dict())
        return
    from sdb.view.versionlist import differences

    text = differences(difference, columns=output.columns())
    output.say(output.plain(text.removesuffix("\n")))
