"""Schemas as a whole: set, taken away, or their mode changed."""

from __future__ import annotations

from functools import partial

from sdb.errors import UsageError
from sdb.records import replace
from sdb.statements.altering import largest_integer
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.schemas import OPERATION, ChangedSchema, change_schema
from sdb.table.format.versionref import MAIN, VersionReference
from sdb.table.schema import adopt, evolve
from sdb.table.schema.columns import TableSchema
from sdb.table.schema.merge import merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.index import TableIndex
    from sdb.table.format.keys import TableKeys


def set_schema(
    root: TableRoot,
    keys: TableKeys,
    schema: TableSchema | dict[str, object] | list[object] | str | bytes | None,
    *,
    mode: str = "",
    branch: str = MAIN,
    author: str = "",
    message: str = "",
    expects: int | None = None,
) -> ChangedSchema:
    """Set the schema of a table: columns that it has already stay what they are.

    * ``schema``: The schema, or its JSON; None: the table has none from then on.
    * ``mode``: What becomes of rows that depart; as the schema says if not given.
    * ``author, message``: Recorded in the version.
    * ``expects``: The version that it must follow; None: any.

    Raises `InputError` if it is no schema; the message has all that is wrong; `UsageError` if a
    change is against the rules of :mod:`sdb.table.schema.evolve`; the message has all;
    `SchemaConflictError` if another writer has changed the same columns meanwhile; `NotFoundError`,
    `ConflictError` or `UncertainError` as :func:`sdb.table.commit.schemas.change_schema` does.
    """
    wished = read_schema(schema)
    if wished is not None and mode:
        wished = evolve.with_mode(wished, mode)
    handle = _opened(root, keys, branch)
    base = handle.schema

    def evolved(current: TableSchema | None, index: TableIndex) -> TableSchema | None:
        if wished is None:
            return None
        now = replace(handle, index=index)
        if current is None:
            return adopt.first(wished)
        if base is None or current == base:
            return _adopted(current, wished, now)
        return merged(base, current, _adopted(base, wished, now))

    message = message or ("remove the schema" if wished is None else "set the schema")
    return change_schema(
        root,
        keys.database,
        keys.table,
        evolved,
        change=TableChange(OPERATION, author=author, message=message, expects=expects),
        branch=branch,
    )


def set_mode(
    root: TableRoot,
    keys: TableKeys,
    mode: str,
    *,
    branch: str = MAIN,
    author: str = "",
    message: str = "",
) -> ChangedSchema:
    """Change what becomes of rows that depart from the schema.

    Raises `UsageError` if there is no such mode, or the table has no schema; `NotFoundError`,
    `ConflictError` or `UncertainError` as :func:`sdb.table.commit.schemas.change_schema` does.
    """

    def evolved(current: TableSchema | None, _: TableIndex) -> TableSchema:
        if current is None:
            hint = f"sdb schema infer --set {keys.name} begins one"
            raise UsageError(f"{keys.name} has no schema", hint=hint)
        return evolve.with_mode(current, mode)

    change = TableChange(OPERATION, author=author, message=message or f"mode {mode}")
    return change_schema(root, keys.database, keys.table, evolved, change=change, branch=branch)


def _opened(root: TableRoot, keys: TableKeys, branch: str) -> TableHandle:
    at = VersionReference("branch", name=branch) if branch != MAIN else ""
    return open_table(root, keys.database, keys.table, at=at)


def read_schema(
    schema: TableSchema | dict[str, object] | list[object] | str | bytes | None,
) -> TableSchema | None:
    """Read a schema, or its JSON. Raises `InputError` if it is malformed."""
    if schema is None or isinstance(schema, TableSchema):
        return schema
    if isinstance(schema, str | bytes):
        return TableSchema.loads(schema)
    return TableSchema.of_json(schema)


def _adopted(current: TableSchema, wished: TableSchema, handle: TableHandle) -> TableSchema:
    has_rows = next(handle.descriptors(), None) is not None
    largest = partial(largest_integer, handle)
    return adopt.adopted(current, wished, has_rows=has_rows, largest=largest)
