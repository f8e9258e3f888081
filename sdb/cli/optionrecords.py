"""Options that commands have together, as one parameter of each."""

from __future__ import annotations

from sdb import bounds, levels
from sdb.cli.options import (
    AsJson,
    BlockSize,
    Dialect,
    DryRun,
    Force,
    Level,
    MaxRow,
    Memory,
    Message,
    NoSafeCsv,
    Params,
    ProgressMode,
    SafeCsv,
    Threads,
    Verbose,
    Yes,
)
from sdb.cli.parameters import Option, Quiet, Together
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@record
class ReportOptions(Together):
    """Reports of a command while it works, and in the end."""

    progress: ProgressMode = "auto"
    as_json: AsJson = False


@record
class FullReport(Together):
    """The same of a command that also tells more, or nothing."""

    progress: ProgressMode = "auto"
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False


@record
class Change(Together):
    """The reason of a change of a table, and whether it is only tried."""

    dry_run: DryRun = False
    message: Message = ""


@record
class ConfirmedChange(Together):
    """The same of a change that asks on a terminal."""

    dry_run: DryRun = False
    yes: Yes = False
    message: Message = ""


@record
class Resources(Together):
    """Limits of the memory and threads of a statement."""

    memory: Memory = None
    threads: Threads = None

    def memory_bytes(self) -> int | None:
        """Return the limit of memory in bytes."""
        return None if self.memory is None else bounds.MEMORY.read(self.memory)


@record
class StatementOptions(Together):
    """The way a statement runs: its parameters, what it means, and what it may use."""

    param: Params = None
    dialect: Dialect = None
    resources: Resources = Resources()


@record
class OutputOptions(Together):
    """The file that rows are written to."""

    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")
    ] = "-"
    force: Force = False
    safe_csv: SafeCsv = False
    no_safe_csv: NoSafeCsv = False

    def safety(self, fmt: str) -> str:
        """Return whether cells of CSV are made safe, see `csv_safety`."""
        from sdb.cli.render.csvsafety import csv_safety

        return csv_safety(fmt, self.target, wanted=self.safe_csv, refused=self.no_safe_csv)


@record
class BlockOptions(Together):
    """The blocks of packfiles, and how they are made."""

    level: Level = None
    block_size: BlockSize = "50MiB"
    max_row: MaxRow = None
    threads: Threads = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of :func:`sdb.pack` that they are; one that is not given is not."""
        largest = None if self.max_row is None else bounds.MAX_ROW.read(self.max_row)
        return {
            "level": None if self.level is None else levels.read(self.level),
            "block_bytes": bounds.BLOCK.read(self.block_size),
            "threads": self.threads,
            **({} if largest is None else {"max_row_bytes": largest}),
        }


REPORT = ReportOptions()
FULL_REPORT = FullReport()
CHANGE = Change()
CONFIRMED_CHANGE = ConfirmedChange()
RESOURCES = Resources()
RUNNING = StatementOptions()
OUTPUT = OutputOptions()
LAYOUT = BlockOptions()
