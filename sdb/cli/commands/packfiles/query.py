"""`sdb query`."""

from __future__ import annotations

import sys
import time
from functools import partial

from sdb import formats
from sdb.cli import output
from sdb.cli.inputoptions import RAW_ROWS, RawRows
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Following, Meter
from sdb.cli.optionrecords import OUTPUT, RUNNING, OutputOptions, StatementOptions
from sdb.cli.options import (
    At,
    ProgressMode,
    Strict,
    Verbose,
)
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.render import query
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.values import sql_params, statement_text
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    """sdb query 'SELECT type, COUNT(*) AS n FROM "events.zion" GROUP BY type'""",
    """sdb query --fmt csv "SELECT id, type FROM read_file('*.zion') LIMIT 3\"""",
    """sdb query --explain 'SELECT * FROM "events.zion" WHERE type IS MISSING'""",
)


@record
class _Reading(Together):
    """The rows that are read, and the plan of that."""

    rows: RawRows = RAW_ROWS
    at: At = ""
    strict: Strict = False
    explain: Annotated[
        bool, Option("--explain", help="Show which blocks would be read, and why.")
    ] = False
    no_prune: Annotated[
        bool, Option("--no-prune", help="Read all blocks, to check an answer without indexes.")
    ] = False


@record
class _Report(Together):
    """Reports while a query runs, and in the end."""

    as_json: Annotated[bool, Option("--json", help="Same as --fmt json; also for --explain.")] = (
        False
    )
    progress: ProgressMode = "auto"
    verbose: Verbose = False


READING = _Reading()
REPORT = _Report()


def command(
    context: TableContext,
    sql: Annotated[
        str | None, Argument(metavar="SQL", help="The query; default: standard input.")
    ] = None,
    file: Annotated[
        str | None,
        Option(
            metavar="FILE", hidden=("-f",), help="Read the query from a file; - is standard input."
        ),
    ] = None,
    fmt: Annotated[
        str | None,
        Option(
            metavar=formats.metavar("shown"),
            help="Format; default: by the suffix of the output, a table on a terminal, else json.",
        ),
    ] = None,
    target: OutputOptions = OUTPUT,
    running: StatementOptions = RUNNING,
    reading: _Reading = READING,
    report: _Report = REPORT,
) -> None:
    """Query packfiles and tables with SQL.

    Only blocks that can hold matching rows are read, and only the fields that the query names. The
    language: `sdb help sql`, and docs/sql.md for all of it.
    """
    from sdb.packfile.inputs.rawreading import USUAL
    from sdb.query.result.reading import summary
    from sdb.query.run.api import sql as run_sql

    started, location = time.perf_counter(), context.root
    server = server_of(context)
    if server is not None:
        refuse_options(explain=reading.explain, no_prune=reading.no_prune)
        refuse_options(strict=reading.strict, dialect=running.dialect)
    output.prepare(verbose=report.verbose)
    query.allow_many_files()
    options, files = reading.rows.choice()
    if files != USUAL:
        options |= {name: getattr(files, name) for name in ("format", "times", "on_error")}
        if server is not None:
            raw = reading.rows.raw
            refuse_options(input_format=raw.input_format, timezone=raw.timezone, times=True)
    fmt = "json" if report.as_json and fmt is None else fmt
    form, compression = query.form(fmt, target.target)
    safety = target.safety(form)
    with Interruptible() as signals, Meter("packing", report.progress) as meter:
        run: Any = partial(run_sql, root=location) if server is None else server.sql
        result = run(
            statement_text(sql, file, "query"),
            params=sql_params(running.param),
            threads=running.resources.threads,
            memory_bytes=running.resources.memory_bytes(),
            dialect=running.dialect,
            prune=not reading.no_prune,
            strict=reading.strict,
            **options,
            at=reading.at,
            typed=form in formats.TYPED,
            progress=meter,
        )
        meter.stop()
        with result:
            signals.arm(result.interrupt)
            if reading.explain:
                query.explain(result, as_json=report.as_json, root=location)
                return
            output.check_apart(target.target, [*result.paths, *([file] if file else [])])
            follow = partial(Following, meter=meter)
            query.write(
                result,
                form,
                target.target,
                force=target.force,
                compression=compression,
                follow=follow,
                safety=safety,
            )
            spent = time.perf_counter() - started
            query.say_advice(result, spent, location)
            if report.verbose:
                output.say(summary(result.reading, spent), to=sys.stderr)
