"""`sdb spark pack`."""

from __future__ import annotations

from sdb import bounds, levels
from sdb.cli import spark as sparks
from sdb.cli.inputoptions import INPUT_READING, InputReading
from sdb.cli.optionrecords import FULL_REPORT, FullReport
from sdb.cli.options import Algorithm, BlockSize, Constants, Level, NoVerify, Stats
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Option, Together
from sdb.cli.values import constants
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb spark pack -o packed/ events.json.gz",
    "sdb spark pack -o packed/ events.json.gz --master yarn --print-submit",
)


@record
class _Packing(Together):
    """The packfiles that are made."""

    algorithm: Algorithm = "zion+zstd"
    level: Level = None
    block_size: BlockSize = "50MiB"
    constant: Constants = None
    stats: Stats = "auto"


PACKING = _Packing()


def command(
    inputs: Annotated[
        list[str],
        Argument(
            metavar="INPUT...", help="Files, URLs, patterns, folders that executors can read."
        ),
    ],
    target: Annotated[
        str, Option("--output", "-o", metavar="FOLDER", help="A folder, or s3://bucket/prefix/.")
    ],
    choice: sparks.Choice = sparks.CHOICE,
    reading: InputReading = INPUT_READING,
    packing: _Packing = PACKING,
    force: Annotated[bool, Option("--force", help="Replace the packfiles of the folder.")] = False,
    no_verify: NoVerify = False,
    report: FullReport = FULL_REPORT,
) -> None:
    """Pack on Spark into a folder of packfiles, which appear in one step.

    Each task packs one packfile; formats and compressions are recognised by content.
    """
    options = reading.options() | {
        "algorithm": packing.algorithm,
        "level": None if packing.level is None else levels.read(packing.level),
        "block_bytes": bounds.BLOCK.read(packing.block_size),
        "constants": constants(packing.constant or []),
        "verify": not no_verify,
        "stats": packing.stats,
        "hive": not reading.no_hive,
    }
    prepare(verbose=report.verbose, unverified=no_verify, quiet=report.quiet)
    sparks.run(choice, inputs, target, options, sparks.Form(force, reading, report))
