"""`sdb purge`: rows leave a table, all its versions and branches, and the disk.

1. Every packfile below the table, and below those that share packfiles with it, is looked into.
2. The rows are deleted from the newest version of each branch that has some, as DELETE does it.
3. Versions that lead to packfiles with such rows leave the history; their tags go with them.
4. These packfiles, and all objects that describe them, are deleted without a grace period.
5. All packfiles that are left are looked into again.

Each step can be done again, so that a purge which was broken off goes on where it was.
"""

from __future__ import annotations

import re

from sdb.errors import UsageError
from sdb.query.analyze.folding import fold
from sdb.query.syntax import ast, visitor, writes
from sdb.records import replace
from sdb.statements.erasure import Erasure
from sdb.statements.execute import bound_statements
from sdb.statements.transaction import Transaction
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit.commit import check_writable
from sdb.table.commit.environment import REAL, Environment
from sdb.table.format.keys import TableKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sdb.statements.purged import Purged
    from sdb.store.base import Location
    from sdb.table.schema.columns import TableSchema

_NAME = re.compile(r"[A-Za-z_]\w*")


def purge(
    root: TableRoot | Location,
    database: str,
    table: str,
    where: str,
    *,
    params: Mapping[str, object] | None = None,
    dry_run: bool = False,
    env: Environment = REAL,
    **options: Any,  # noqa: ANN401 - others of a transaction
) -> Purged:
    """Erase rows from a table, from all its versions, branches and tags, and from the disk.

    Tables that share packfiles with it lose the rows, too. Versions that had such rows leave the
    history. Done again it goes on where it was broken off.

    * ``where``: Rows for which this SQL is true go. It reads no tables.
    * ``params``: Values of the parameters ``$name``.
    * ``author, message``: Who does it, and why; the versions tell it, so that it should not name
      what is erased.
    * ``threads, memory_bytes``: See :func:`sdb.sql`.
    * ``progress``: Told how many bytes of packfiles were rewritten, and how many objects were
      deleted.
    * ``follow``: Gives a context manager for each query that finds rows, which lasts while it runs.

    Returns: What went, and what the last scan has found; `ok` tells whether nothing is left.
    Raises `NotFoundError` if there is no such table. Raises `QueryError` or `UsageError` if the
    condition makes no sense, reads tables, or names a field that no row of any version has. Raises
    `CorruptError` if an object that the table leads to is missing or damaged. Run it again when
    that is mended. Raises `ConflictError` or `UncertainError` if other writers were faster each
    time. Run it again.
    """
    tables_root = root if isinstance(root, TableRoot) else table_root(root)
    keys = TableKeys(database, table)
    handle = open_table(tables_root, database, table)
    if not dry_run:
        check_writable(tables_root)
    delete = _delete(keys, where, params or {}, env.now_us())
    if handle.schema is not None:
        _check_fields(handle.schema, delete, handle.name)
    # Versions have several schemas, and rows one set of fields.
    base = Transaction((), tables_root, env=env, is_raw=True, **options)
    erasure = Erasure(base, keys, delete)
    return erasure.planned() if dry_run else erasure.run()


def _check_fields(schema: TableSchema, delete: writes.WriteStatement, name: str) -> None:
    """Refuse a condition that names a column of which rows have the values in another field.

    Raises `UsageError` if it does.
    """
    from sdb import notes
    from sdb.query.catalog.schemarows import steps_of
    from sdb.table.schema.columns import shown, walk

    write = delete.write
    assert isinstance(write, writes.Delete)  # noqa: S101 - the caller has made it
    stored = {names: path for names, path, _ in walk(schema.columns) if names != path}
    for node in () if write.where is None else visitor.nodes(write.where):
        steps = steps_of(node)
        path = None if steps is None else stored.get(steps)  # type: ignore[arg-type]  # of names
        if steps is not None and path is not None:
            raise UsageError(
                f"the column {shown(steps)} of {name} is stored as {shown(path)}",  # type: ignore[arg-type]
                hint="the condition of a purge names fields of rows, which all versions share",
            )
    notes.warn(f"{name} has a schema: the condition of a purge names fields as rows have them")


def _delete(
    keys: TableKeys, where: str, params: Mapping[str, object], now_us: int
) -> writes.WriteStatement:
    """Return the statement that deletes the rows, its condition decided as far as that goes."""
    if not where.strip():
        raise UsageError("no rows to purge given", expected="--where CONDITION")
    name = f"{keys.database}.{keys.table}"
    if not all(_NAME.fullmatch(part) for part in (keys.database, keys.table)):
        name = "the.table"
    statements = bound_statements(f"DELETE FROM {name} WHERE {where}", params)  # noqa: S608
    statement, write = statements[0], statements[0].write
    if len(statements) != 1 or not isinstance(write, writes.Delete) or write.where is None:
        raise UsageError(f"{where!r} is no condition", expected="--where \"user = 'ann'\"")
    if any(isinstance(node, ast.Select) for node in visitor.nodes(write.where)):
        raise UsageError(
            "the condition of a purge reads tables: it would be another one for each version",
            hint="ask for the values first, and write them into the condition",
        )
    folded = fold(write.where, ast.Instant(now_us))
    return replace(statement, write=replace(write, where=folded))
