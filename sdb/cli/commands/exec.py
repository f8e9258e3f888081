"""`sdb exec`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sdb import bounds
from sdb.cli import output
from sdb.cli.following import Following
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    Memory,
    ProgressMode,
    Quiet,
    Root,
    Threads,
    Verbose,
    constants,
    table_root,
)
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.statementtext import statement_text
from sdb.cli.tablenames import author
from sdb.typed import Annotated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.result.result import Result

EXAMPLES = (
    "sdb exec --root lake \"DELETE FROM web.gha WHERE actor.login = 'spam-bot'\"",
    'sdb exec --root lake -n "UPDATE web.gha SET actor.ip = MISSING"',
    "sdb exec --root lake -m 'GDPR 4711' -f statements.sql",
)


def command(
    context: Context,
    sql: Annotated[
        str | None,
        Argument(metavar="STATEMENT", help="One, or several with semicolons; or standard input."),
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE", help="Read them; - is standard input."),
    ] = None,
    message: Annotated[
        str, Option("--message", "-m", metavar="TEXT", help="Why; the versions tell it.")
    ] = "",
    txn_id: Annotated[
        str, Option("--txn-id", metavar="ID", help="The same ID again changes nothing.")
    ] = "",
    dry_run: Annotated[
        bool, Option("--dry-run", "-n", help="Tell what would change, and change nothing.")
    ] = False,
    param: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="Value of $NAME; NAME:str=... too."),
    ] = None,
    root: Root = None,
    memory: Memory = None,
    threads: Threads = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Change tables with SQL.

    INSERT, UPDATE, DELETE, MERGE, CREATE TABLE, DROP TABLE, VACUUM and others. Each statement is a
    version of its table; those between BEGIN and COMMIT are one, of all their tables at once.
    Blocks without a row that changes are copied as they are. See docs/sql.md for the language.
    """
    from sdb.cli.render.exec import lines_of
    from sdb.query.writes.execute import execute

    output.prepare(verbose=verbose, quiet=quiet)
    with Interruptible() as signals, Meter("writing", progress, quiet=quiet) as meter:

        @contextmanager
        def follow(result: Result) -> Iterator[None]:
            signals.arm(result.interrupt)
            with Following(result, meter):
                yield
            meter.turn("writing")

        done = execute(
            statement_text(sql, file, "statement"),
            root=table_root(context, root),
            params=constants(param or [], "parameter"),
            author=author(),
            message=message,
            txn_id=txn_id,
            dry_run=dry_run,
            threads=threads,
            memory_bytes=None if memory is None else bounds.MEMORY.read(memory),
            progress=meter,
            follow=follow,
        )
    if as_json:
        output.say_json([one.as_dict() for one in done])
        return
    if not quiet:
        for one in done:
            for line in lines_of(one, verbose=verbose):
                output.say(output.plain(line), to=sys.stdout)
