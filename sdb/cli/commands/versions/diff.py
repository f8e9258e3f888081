"""`sdb diff`."""

from __future__ import annotations

from sdb import notes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import REPORT, ReportOptions
from sdb.cli.options import At, NextWord, TableVersion
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.tablenames import joined_table, named_table, opened_table, referring
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb diff --root lake web.gha@1 web.gha@2",
    "sdb diff --rows --root lake web.gha -1",
)


@record
class _Rows(Together):
    """The comparison of rows."""

    rows: Annotated[
        bool, Option("--rows", help="Print rows that differ as JSON, with +, - and ~.")
    ] = False
    key: Annotated[
        str | None,
        Option(
            "--key",
            metavar="FIELDS",
            help="Fields that tell one row from all others (id, or a.id,b), for --rows.",
        ),
    ] = None


ROWS = _Rows()


def command(
    context: TableContext,
    name: TableVersion,
    other: Annotated[
        str | None,
        Argument(
            metavar="[REF] [REF]",
            help="Both versions; of one that is no number the later one. Default: the newest.",
        ),
    ] = None,
    last: NextWord = None,
    end: NextWord = None,
    compared: _Rows = ROWS,
    at: At = "",
    report: ReportOptions = REPORT,
) -> None:
    """Compare two versions of a table.

    Shows the packfiles, rows and bytes that came and went, and how many rows were inserted,
    updated and deleted. --rows reads the packfiles that differ; a row that was only moved, as by a
    compaction, is no difference, and one that was changed is shown once, with the old and new
    values of its fields.
    """
    from sdb.table.history.diff import compare

    name, words = joined_table(name, other, last, end, at=at)
    database, table, reference = named_table(name)
    # Two words are the two versions; the number of one is that of the earlier version.
    is_earlier = not reference and bool(words) and _is_number(words[0])
    if is_earlier or len(words) > 1:
        name = referring(name, words.pop(0))
    later = words[0] if words else ""
    if "." not in later.partition("@")[0]:  # a version of the same table
        later = f"{database}.{table}{later and '@'}{later.removeprefix('@')}"
    difference = compare(opened_table(context, name), opened_table(context, later))
    if compared.key and not compared.rows:
        raise UsageError("--key pairs rows, which --rows prints", expected="--rows --key FIELDS")
    if compared.rows:
        from sdb.table.history.rowdiff import changed_rows

        if difference.row_counts is None and not compared.key:
            notes.warn(
                "rows without a key: a changed row appears as - and +; --key FIELDS pairs them"
            )
        with Meter("comparing", report.progress) as meter:
            stream = output.binary()
            paths = compared.key.split(",") if compared.key else ()
            for changed_row in changed_rows(difference, key=paths, progress=meter):
                stream.write(changed_row.encode())
            stream.flush()
        return
    if report.as_json:
        output.say_json(difference.as_dict())
        return
    from sdb.view.versionlist import differences

    text = differences(difference, columns=output.columns())
    output.say(output.plain(text.removesuffix("\n")))


def _is_number(word: str) -> bool:
    """Return whether a word is the number of a version, or how many versions or days ago it was."""
    return word.isdecimal() or word.startswith("@-")
