"""`sdb unpack`."""

from __future__ import annotations

import sys

from sdb import formats
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import OUTPUT, OutputOptions
from sdb.cli.options import (
    At,
    Fields,
    Limit,
    NoVerify,
    PackfilesOrTables,
    ProgressMode,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    Verbose,
    Where,
)
from sdb.cli.parameters import Option, TableContext, Together
from sdb.cli.render.csvsafety import made_safe
from sdb.cli.settings import terminal_format
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names, period
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    "sdb unpack --fmt json events.zion",
    "sdb unpack --fmt json --fields id,type --limit 3 events.zion",
    "sdb unpack --fmt csv --where \"type = 'ForkEvent'\" events.zion",
    "sdb unpack -o events.parquet events.zion",
    "sdb unpack -o events.csv.gz events.zion",
    "sdb unpack --root lake -o gha.parquet web.gha",
)


@record
class _Chosen(Together):
    """The rows that are written, and their fields."""

    fields: Fields = None
    where: Where = None
    since: Since = None
    until: Until = None
    time_field: TimeField = None
    blocks: Annotated[
        str | None, Option(metavar="N,N-N,...", help="Only these blocks of each file: 0-3,7,9-.")
    ] = None
    limit: Limit = None
    at: At = ""
    strict: Strict = False

    def choice(self) -> dict[str, Any]:
        """Return the arguments of `unpack` and `selected` that they are."""
        since, until = period(self.since, self.until)
        return {
            "fields": names(self.fields),
            "strict": self.strict,
            "since": since,
            "until": until,
            "time_field": self.time_field,
            "limit": self.limit,
        }


@record
class _Report(Together):
    """Reports while rows are written, and in the end."""

    progress: ProgressMode = "auto"
    verbose: Verbose = False


CHOSEN = _Chosen()
REPORT = _Report()


def command(
    context: TableContext,
    packfiles: PackfilesOrTables,
    fmt: Annotated[
        str | None,
        Option(
            metavar=formats.metavar("unpack"),
            help="Format; default: by the suffix of the output, or ion.",
        ),
    ] = None,
    target: OutputOptions = OUTPUT,
    chosen: _Chosen = CHOSEN,
    threads: Threads = None,
    no_verify: NoVerify = False,
    report: _Report = REPORT,
) -> None:
    """Write rows as JSON, CSV, TSV, Ion, Arrow or Parquet.

    Blocks are skipped where the time index or statistics show that no row matches.
    """
    from sdb.packfile.export.unpack import unpack

    if fmt is None and target.target == "-" and sys.stdout.isatty():
        preferred = terminal_format()
        fmt = preferred if preferred in formats.TEXTS else None
    packfiles = at_version(packfiles, chosen.at)
    name = None if target.target == "-" else target.target
    fmt, compression = formats.written(name, fmt, formats.written_by("unpack"), "ion")
    safety = target.safety(fmt)
    output.prepare(verbose=report.verbose, unverified=no_verify)
    choice = chosen.choice() | {"threads": threads}

    def select() -> None:
        options = choice | {"where": chosen.where, "root": context.root}
        _write_selected(packfiles, (fmt, compression, safety), target, report, options)

    if chosen.where is not None:
        if chosen.blocks is not None or no_verify:
            raise UsageError("with --where neither --blocks nor --no-verify is possible")
        select()
        return
    quiet = target.target == "-" and sys.stdout.isatty()
    with Sources(context) as sources:
        references = sources.resolve(packfiles)
        if sources.schemas and chosen.blocks is None:
            select()
            return
        sources.tell_stored("--blocks writes")
        output.check_apart(target.target, [reference.location for reference in references])
        is_text = fmt in formats.TEXTS
        with (
            Meter("unpacking", report.progress, quiet=quiet) as meter,
            output.opened(
                target.target, force=target.force, is_text=is_text, compression=compression
            ) as file,
            made_safe(file, safety) as cells,
        ):
            unpack(
                references,
                cells,
                fmt=fmt,
                **choice,
                blocks=chosen.blocks,
                indent=quiet,
                verify=not no_verify,
                progress=meter,
            )


def _write_selected(
    packfiles: list[str],
    form: tuple[str, str, str],
    target: OutputOptions,
    report: _Report,
    choice: dict[str, Any],
) -> None:
    """Write the rows for which a condition is true: the answer to a query.

    * ``form``: The format, the compression, and what makes cells safe.
    * ``choice``: Arguments of `selected`; without a condition all rows.
    """
    import time
    from functools import partial

    from sdb.cli.interrupts import Interruptible
    from sdb.cli.meter import Following
    from sdb.cli.render import query
    from sdb.query.result.reading import summary
    from sdb.query.rows.selected import selected

    fmt, compression, safety = form
    started = time.perf_counter()
    query.allow_many_files()
    with (
        Interruptible() as signals,
        Meter("unpacking", report.progress) as meter,
        selected(packfiles, typed=fmt in formats.TYPED, **choice) as result,
    ):
        signals.arm(result.interrupt)
        output.check_apart(target.target, result.paths)
        query.write(
            result,
            fmt,
            target.target,
            force=target.force,
            compression=compression,
            follow=partial(Following, meter=meter),
            safety=safety,
        )
        if report.verbose:
            spent = time.perf_counter() - started
            output.say(summary(result.reading, spent), to=sys.stderr)
