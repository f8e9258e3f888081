"""`sdb exec`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sdb import bounds, sizes
from sdb.cli import output
from sdb.cli.options import AsJson, Memory, Quiet, Root, Threads, Verbose, constants, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.statementtext import statement_text
from sdb.typed import Annotated

if TYPE_CHECKING:
    from sdb.query.writes.effects import Effect
    from sdb.query.writes.transaction import Executed

EXAMPLES = (
    "sdb exec --root lake \"DELETE FROM web.gha WHERE actor.login = 'spam-bot'\"",
    'sdb exec --root lake -n "UPDATE web.gha SET actor.ip = MISSING"',
    "sdb exec --root lake -m 'GDPR 4711' -f statements.sql",
)

_DONE = {
    "insert": ("rows_inserted", "inserted {} into {}"),
    "create": ("rows_inserted", "made {1} with {0}"),
    "update": ("rows_updated", "updated {} of {}"),
    "delete": ("rows_deleted", "deleted {} of {}"),
    "truncate": ("rows_deleted", "deleted {}, all of {}"),
    "drop": ("rows_deleted", "dropped {1} with {0}"),
    "undrop": ("rows_inserted", "brought {1} back"),
}


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
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Change tables with SQL.

    INSERT, UPDATE, DELETE, MERGE, CREATE TABLE, DROP TABLE and others. Each statement is a version
    of its table; those between BEGIN and COMMIT are one. Blocks without a row that changes are
    copied as they are. See docs/sql.md for the language.
    """
    from sdb.query.writes.execute import execute

    output.prepare(verbose=verbose, quiet=quiet)
    done = execute(
        statement_text(sql, file, "statement"),
        root=table_root(context, root),
        params=constants(param or [], "parameter"),
        message=message,
        txn_id=txn_id,
        dry_run=dry_run,
        threads=threads,
        memory_bytes=None if memory is None else bounds.MEMORY.read(memory),
    )
    if as_json:
        output.say_json([one.as_dict() for one in done])
        return
    if not quiet:
        for one in done:
            for line in _lines(one, verbose=verbose):
                output.say(output.plain(line), to=sys.stdout)


def _lines(done: Executed, *, verbose: bool) -> list[str]:
    """Tell what a transaction did, a line for each statement."""
    if not done.effects and done.commit:
        return [f"{done.commit} is version {done.version} of {done.table} already: nothing changed"]
    if not done.effects:
        return [f"{done.table} is there already"]
    texts = [_text(effect) for effect in done.effects]
    if done.is_dry:
        return [
            f"would have {one}{_blocks(two)}" for one, two in zip(texts, done.effects, strict=True)
        ]
    if not done.is_new:
        return [f"{one}: nothing changed" for one in texts]
    if verbose:
        texts = [f"{one}{_blocks(two)}" for one, two in zip(texts, done.effects, strict=True)]
    texts[-1] += f": version {done.version}"
    return texts


def _text(effect: Effect) -> str:
    if effect.operation == "merge":
        return (
            f"merged into {effect.table}: {effect.rows_updated:,} updated, "
            f"{effect.rows_deleted:,} deleted, {effect.rows_inserted:,} inserted"
        )
    name, text = _DONE[effect.operation]
    rows = int(getattr(effect, name))
    return text.format(f"{rows:,} row{'' if rows == 1 else 's'}", effect.table)


def _blocks(effect: Effect) -> str:
    """Tell what becomes of packfiles and blocks."""
    if not effect.packfiles_removed:
        return ""
    text = (
        f" ({effect.packfiles_removed:,} of its packfiles; of their blocks "
        f"{effect.blocks_rewritten:,} rewritten, {effect.blocks_kept:,} copied"
    )
    if effect.written_bytes or effect.copied_bytes:
        written, copied = map(sizes.human, (effect.written_bytes, effect.copied_bytes))
        text += f"; {written} written, {copied} copied"
    return text + ")"
