"""`sdb export parquet`."""

from __future__ import annotations

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import REPORT, ReportOptions
from sdb.cli.options import At, NextWord, Replace, TableVersion, Threads
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.tablenames import joined_table, opened_table
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb export parquet --root lake web.gha gha/",
    "sdb export parquet --root lake web.gha d --partition-by 'day(created_at)'",
)


@record
class _Writing(Together):
    """The way the folder is written."""

    partition_by: Annotated[
        str,
        Option(
            "--partition-by",
            metavar="KEY,...",
            help="Folders by these: fields, or year, month, day or hour of a time.",
        ),
    ] = ""
    force: Replace = False
    threads: Threads = None


WRITING = _Writing()


def command(
    context: TableContext,
    name: TableVersion,
    target: Annotated[str, Argument(metavar="FOLDER", help="The folder; it must not exist.")],
    last: NextWord = None,
    writing: _Writing = WRITING,
    at: At = "",
    report: ReportOptions = REPORT,
) -> None:
    """Write a table, or a version of it, as a folder of Parquet files.

    The folder appears when it is complete. Folders within it, such as type=PushEvent, are those
    that Hive makes.
    """
    from sdb.exchange.dataset import FolderKey, write_dataset

    name, words = joined_table(name, target, last, at=at)
    if not words:
        raise UsageError(f"{name} is the table: no folder to write to", expected="DB.TABLE FOLDER")
    keys = (
        [FolderKey.parse(text) for text in writing.partition_by.split(",")]
        if writing.partition_by
        else []
    )
    handle = opened_table(context, name)
    with Meter("exporting", report.progress) as meter:
        written = write_dataset(
            handle, words[0], keys, overwrite=writing.force, threads=writing.threads, progress=meter
        )
    if report.as_json:
        output.say_json(written.as_dict())
    else:
        files = f"{written.files:,} file{'' if written.files == 1 else 's'}"
        text = (
            f"{written.location}: {files}, {written.rows:,} rows, {sizes.human(written.size_bytes)}"
        )
        output.note(text)
