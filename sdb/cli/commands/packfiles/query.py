"""`sdb query`."""

from __future__ import annotations

import sys
import time
from functools import partial

from sdb import bounds, formats
from sdb.cli import output
from sdb.cli.following import Following
from sdb.cli.inputoptions import RAW, RawInput
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Meter
from sdb.cli.options import (
    At,
    Dialect,
    Force,
    Memory,
    NoSafeCsv,
    Params,
    ProgressMode,
    SafeCsv,
    Since,
    Strict,
    Threads,
    Until,
    Verbose,
)
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.render import query
from sdb.cli.render.csvsafety import csv_safety
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.values import period, sql_params, statement_text
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    """sdb query 'SELECT type, COUNT(*) AS n FROM "events.zion" GROUP BY type'""",
    """sdb query --fmt csv "SELECT id, type FROM read_file('*.zion') LIMIT 3\"""",
    """sdb query --explain 'SELECT * FROM "events.zion" WHERE type IS MISSING'""",
)


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
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")
    ] = "-",
    param: Params = None,
    explain: Annotated[
        bool, Option("--explain", help="Show which blocks would be read, and why.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Same as --fmt json; also for --explain.")
    ] = False,
    since: Since = None,
    until: Until = None,
    raw: RawInput = RAW,
    at: At = "",
    no_prune: Annotated[
        bool, Option("--no-prune", help="Read all blocks, to check an answer without indexes.")
    ] = False,
    memory: Memory = None,
    dialect: Dialect = None,
    strict: Strict = False,
    threads: Threads = None,
    force: Force = False,
    safe_csv: SafeCsv = False,
    no_safe_csv: NoSafeCsv = False,
    verbose: Verbose = False,
    progress: ProgressMode = "auto",
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
        refuse_options(explain=explain, no_prune=no_prune, strict=strict, dialect=dialect)
    output.prepare(verbose=verbose)
    query.allow_many_files()
    since, until = period(since, until)
    time_field, reading = raw.reading(since, until)
    options: dict[str, Any] = {"time_field": time_field}
    if reading != USUAL:
        options |= {name: getattr(reading, name) for name in ("format", "times", "on_error")}
        if server is not None:
            refuse_options(input_format=raw.input_format, timezone=raw.timezone, times=True)
    form, compression = query.form("json" if as_json and fmt is None else fmt, target)
    safety = csv_safety(form, target, wanted=safe_csv, refused=no_safe_csv)
    with Interruptible() as signals, Meter("packing", progress) as meter:
        run: Any = partial(run_sql, root=location) if server is None else server.sql
        result = run(
            statement_text(sql, file, "query"),
            params=sql_params(param),
            threads=threads,
            memory_bytes=None if memory is None else bounds.MEMORY.read(memory),
            dialect=dialect,
            prune=not no_prune,
            strict=strict,
            since=since,
            until=until,
            **options,
            at=at,
            typed=form in formats.TYPED,
            progress=meter,
        )
        meter.stop()
        with result:
            signals.arm(result.interrupt)
            if explain:
                query.explain(result, as_json=as_json, root=location)
                return
            output.check_apart(target, [*result.paths, *([file] if file else [])])
            follow = partial(Following, meter=meter)
            query.write(
                result,
                form,
                target,
                force=force,
                compression=compression,
                follow=follow,
                safety=safety,
            )
            spent = time.perf_counter() - started
            query.say_advice(result, spent, location)
            if verbose:
                output.say(summary(result.reading, spent), to=sys.stderr)
