"""`sdb exec`."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from sdb import bounds
from sdb.cli import output
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Meter, followed
from sdb.cli.optionrecords import (
    CONFIRMED_CHANGE,
    REPORT,
    RUNNING,
    ConfirmedChange,
    ReportOptions,
    StatementOptions,
)
from sdb.cli.options import (
    TxnId,
    Verbose,
)
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.servers import server_of
from sdb.cli.tablenames import author
from sdb.cli.values import sql_params, statement_text, table_root
from sdb.typed import Annotated

EXAMPLES = (
    "sdb exec --root lake \"DELETE FROM web.gha WHERE actor.login = 'spam-bot'\"",
    'sdb exec --root lake --dry-run "UPDATE web.gha SET actor.login = MISSING"',
    "sdb exec --root lake -m 'GDPR 4711' --file statements.sql",
)


def command(
    context: TableContext,
    sql: Annotated[
        str | None,
        Argument(metavar="STATEMENT", help="One, or several with semicolons; default: a pipe."),
    ] = None,
    file: Annotated[
        str | None,
        Option(
            metavar="FILE", hidden=("-f",), help="Read the statements from a file; - is a pipe."
        ),
    ] = None,
    txn_id: TxnId = "",
    change: ConfirmedChange = CONFIRMED_CHANGE,
    running: StatementOptions = RUNNING,
    report: ReportOptions = REPORT,
    verbose: Verbose = False,
) -> int:
    """Change tables with SQL: INSERT, UPDATE, DELETE and more.

    Each statement makes a version of its table; those between BEGIN and COMMIT make one version of
    each table that they change, all at once. Blocks without changed rows are copied. The language:
    docs/sql.md.
    """
    from sdb.cli.render.exec import is_meant, lines_of
    from sdb.statements.execute import execute

    output.prepare(verbose=verbose)
    server = server_of(context)
    text = statement_text(sql, file, "statement")
    tables = table_root(context) if server is None else None
    params = sql_params(running.param)
    memory_bytes = running.resources.memory_bytes()
    bounds.THREADS.check(running.resources.threads)
    bounds.MEMORY.check(memory_bytes)
    if not (change.dry_run or is_meant(text, params, tables, yes=change.yes)):
        return 1
    with Interruptible() as signals, Meter("writing", report.progress) as meter:
        run: Any = None if server is None else server.execute
        if tables is not None:
            run = partial(execute, root=tables, follow=followed(signals, meter, "writing"))
        done = run(
            text,
            params=params,
            author=author(),
            message=change.message,
            txn_id=txn_id,
            dry_run=change.dry_run,
            threads=running.resources.threads,
            memory_bytes=memory_bytes,
            dialect=running.dialect,
            progress=meter,
        )
    if report.as_json:
        output.say_json([effect.as_dict() for effect in done])
    elif not output.is_quiet():
        for effect in done:
            for line in lines_of(effect, verbose=verbose):
                output.say(output.plain(line), to=sys.stdout)
    return 0
