"""`sdb query`."""

from __future__ import annotations

import sys
import time
from functools import partial

from sdb import bounds
from sdb.cli import output
from sdb.cli.following import Following
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Meter
from sdb.cli.options import (
    At,
    Force,
    Memory,
    ProgressMode,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    Verbose,
    constants,
    period,
)
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.render import query
from sdb.cli.statementtext import statement_text
from sdb.typed import Annotated

EXAMPLES = (
    """sdb query 'SELECT type, COUNT(*) AS n FROM "events.zion" GROUP BY type'""",
    """sdb query --fmt csv "SELECT id, type FROM read_file('*.zion') LIMIT 3\"""",
    """sdb query --explain 'SELECT * FROM "events.zion" WHERE type IS MISSING'""",
)


def command(
    context: Context,
    sql: Annotated[
        str | None, Argument(metavar="SQL", help="The query; if not given, standard input.")
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE", help="Read the query; - is standard input."),
    ] = None,
    fmt: Annotated[
        str | None,
        Option(
            metavar="json|csv|tsv|markdown|table|vertical|ion|ion-text|arrow|parquet",
            help="Format; if not given, by the output's suffix, a table on a terminal, or json.",
        ),
    ] = None,
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    param: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="Value of $NAME in the query; NAME:str=... too."),
    ] = None,
    root: Annotated[
        str | None, Option(metavar="FOLDER", help="Where paths start, as sdb --root.")
    ] = None,
    explain: Annotated[
        bool, Option("--explain", help="Show which blocks would be read, and why.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="--fmt json; of --explain too.")] = False,
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    at: At = "",
    no_prune: Annotated[
        bool, Option("--no-prune", help="Read all blocks: distrust time indexes.")
    ] = False,
    memory: Memory = None,
    strict: Strict = False,
    threads: Threads = None,
    force: Force = False,
    verbose: Verbose = False,
    progress: ProgressMode = "auto",
) -> None:
    """Query packfiles with SQL.

    Only blocks that can hold rows of interest are read, and of these only the fields that are
    named. See docs/sql.md for the language.
    """
    from sdb.query.api import sql as run
    from sdb.query.result.reading import summary

    started = time.perf_counter()
    output.prepare(verbose=verbose)
    query.allow_many_files()
    since, until = period(since, until)
    form, compression = query.form("json" if as_json and fmt is None else fmt, target)
    with Interruptible() as signals, Meter("packing", progress) as meter:
        result = run(
            statement_text(sql, file, "query"),
            params=constants(param or [], "parameter"),
            root=root or context.obj or "",
            threads=threads,
            memory_bytes=None if memory is None else bounds.MEMORY.read(memory),
            prune=not no_prune,
            strict=strict,
            since=since,
            until=until,
            time_field=time_field,
            at=at,
            typed=form in {"ion", "ion-text", "arrow", "parquet"},
            progress=meter,
        )
        meter.stop()
        with result:
            signals.arm(result.interrupt)
            if explain:
                query.explain(result, as_json=as_json)
                return
            output.check_apart(target, [*result.paths, *([file] if file else [])])
            follow = partial(Following, meter=meter)
            query.write(result, form, target, force=force, compression=compression, follow=follow)
            if verbose:
                spent = time.perf_counter() - started
                output.say(summary(result.reading, spent), to=sys.stderr)
