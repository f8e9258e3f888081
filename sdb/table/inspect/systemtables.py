"""Rows of facts about tables: their versions, packfiles, blocks, inputs, names and garbage."""

from __future__ import annotations

from sdb import instants
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.read.fields import inventory
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.refs import refs
from sdb.table.catalog.views import views
from sdb.table.history.log import log
from sdb.table.inspect.describe import facts
from sdb.table.inspect.labels import labels
from sdb.table.sync.status import input_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from typing import Any, TypeAlias

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot, Visible

    Row: TypeAlias = dict[str, Any]


def system_rows(kind: str, handle: TableHandle) -> Iterator[Row]:
    """Return the rows of a system table about a table.

    Raises `CorruptError` if an object that the table leads to is missing or damaged.
    """
    return _KINDS[kind](handle)


def rows_of_all(kind: str, root: TableRoot, visible: Visible | None = None) -> Iterator[Row]:
    """Yield the rows of a system table about all tables; of a damaged one, what is wrong.

    * ``visible``: The tables that it may tell of, no other is opened; all if not given.
    """
    make = ABOUT_ALL[kind]
    for database in root.databases():
        for table in root.tables(database):
            if visible is not None and not visible(database, table):
                continue
            names: Row = {"database": database, "table": table}
            if kind == TABLES:
                names["kind"] = "table"
            try:
                handle = find_table(root, database, table)
                if handle is not None and not handle.is_dropped:
                    yield from [names | row for row in make(handle)]
            except (CorruptError, UnsupportedError) as error:
                yield names | {"error": error.message}
    if kind == TABLES:
        # The query of a view names tables that may be of no concern.
        for row in _views(root, visible):
            yield row if visible is None else row | {"query": None}


def _table(handle: TableHandle) -> Iterator[Row]:
    table = facts(handle)
    path = table.newest_path
    yield {
        "version": table.version,
        "rows": table.rows,
        "bytes": table.size_bytes,
        "packfiles": table.packfiles,
        "newest_path": None if path is None else ".".join(path),
        "newest_at": _time(table.newest_us),
        "changed_at": _time(table.synced_us),
        "description": labels(handle.root, handle.keys).get("description"),
        "query": None,
    }


def _views(root: TableRoot, visible: Visible | None) -> Iterator[Row]:
    for view in views(root, visible=visible):
        yield {
            "database": view.database,
            "table": view.view,
            "kind": "view",
            "version": view.newest.version,
            "changed_at": _time(view.newest.at_us),
            "query": view.newest.text,
            "dialect": view.newest.dialect or "standard",
        }


def _columns(handle: TableHandle) -> Iterator[Row]:
    """Yield a row for each column of the schema, or for each field at the top of rows."""
    if handle.schema is None:
        listed = [(descriptor.key, descriptor.trailer) for descriptor in handle.descriptors()]
        fields = [field for field in inventory(listed).fields if len(field.path) == 1]
        rows = [_column(str(field.path[0]), ", ".join(field.types)) for field in fields]
    else:
        rows = [
            _column(column.name, str(column.type), default=column.default)
            | {"required": column.required, "description": column.description or None}
            for column in handle.schema.columns
        ]
    for number, row in enumerate(rows, 1):
        yield {"position": number, **row}


def _column(name: str, kind: str, *, default: object = None) -> Row:
    return {
        "column": name,
        "type": kind,
        "required": False,
        "default": None if default is None else str(default),
        "description": None,
    }


def _packfiles_of_version(handle: TableHandle) -> Iterator[Row]:
    state = handle.state
    version, commit = (None, None) if state is None else (state.version, state.commit)
    return ({"version": version, "id": commit, **row} for row in _packfiles(handle))


def _versions(handle: TableHandle) -> Iterator[Row]:
    for version in log(handle):
        changes = version.changes.as_dict()
        yield {
            "version": version.version,
            "at": _time(version.at_us),
            "id": version.commit,
            "operation": version.operation,
            "author": version.author,
            "message": version.message,
            "rows": version.rows,
            "bytes": version.size_bytes,
            **{name.replace("-", "_"): value for name, value in changes.items()},
            "parents": list(version.parents),
            "names": list(version.names),
        }


def _packfiles(handle: TableHandle) -> Iterator[Row]:
    indirect = sum(ref.objects for ref in handle.index.indirect.refs)
    for number, descriptor in enumerate(handle.descriptors()):
        trailer = descriptor.trailer
        yield {
            "path": descriptor.key,
            "rows": descriptor.rows,
            "bytes": descriptor.size_bytes,
            "blocks": len(trailer.blocks),
            "algorithm": trailer.algorithm,
            "etag": descriptor.etag,
            "modified_at": _time(descriptor.modified_us),
            "indirect": number < indirect,
            "constants": dict(trailer.sparse.constants),
            "times": [
                {
                    "path": ".".join(path),
                    "first": _time(index.first_us),
                    "last": _time(index.last_us),
                }
                for path, index in trailer.sparse.indices.items()
                if not index.is_empty
            ],
        }


def _blocks(handle: TableHandle) -> Iterator[Row]:
    for descriptor in handle.descriptors():
        trailer = descriptor.checked().trailer
        summary = trailer.sparse.summary
        for number, block in enumerate(trailer.blocks):
            start, stop = trailer.block_range(number)
            yield {
                "packfile": descriptor.key,
                "block": number,
                "offset": start,
                "bytes": stop - start,
                "chunks": block.chunks,
                "decompressed_bytes": block.chunks << trailer.block_shift,
                "rows": None if summary is None else summary.rows[number],
                "times": _times(trailer, number),
            }


def _times(trailer: Trailer, block: int) -> list[Row]:
    """Return the range of times that a block has at each path, as far as it is known."""
    ranges = []
    for path, index in trailer.sparse.indices.items():
        bounds = None if index.is_empty else index.known_range(block)
        if bounds is not None:
            ranges.append(_range(path, *bounds))
    return ranges


def _range(path: tuple[str, ...], first_us: int, last_us: int) -> Row:
    return {"path": ".".join(path), "first": _time(first_us), "last": _time(last_us)}


def _inputs(handle: TableHandle) -> Iterator[Row]:
    for status in input_states(handle):
        yield {
            "path": status.path,
            "etag": status.etag,
            "number": status.number,
            "state": status.state.value,
            "reason": status.reason or None,
        }


def _refs(handle: TableHandle) -> Iterator[Row]:
    keys = handle.keys
    for ref in refs(open_table(handle.root, keys.database, keys.table)):
        at = _time(ref.at_us)
        yield {"kind": ref.kind, "name": ref.name, "version": ref.version, "at": at}


def _garbage(handle: TableHandle) -> Iterator[Row]:
    from sdb.table.maintenance.gc import collect

    keys = handle.keys
    for garbage in collect(handle.root, keys, dry_run=True).garbage:
        at = _time(garbage.modified_us)
        yield {
            "key": garbage.key,
            "kind": garbage.kind,
            "bytes": garbage.size_bytes,
            "modified_at": at,
        }


def _time(us: int | None) -> datetime | None:
    if us is None or not instants.FIRST_US <= us <= instants.LAST_US:
        return None
    return instants.from_us(us)


_KINDS: dict[str, Callable[[TableHandle], Iterator[Row]]] = {
    "versions": _versions,
    "packfiles": _packfiles,
    "blocks": _blocks,
    "inputs": _inputs,
    "refs": _refs,
    "garbage": _garbage,
}
TABLES = "tables"
ABOUT_ALL: dict[str, Callable[[TableHandle], Iterator[Row]]] = {
    TABLES: _table,
    "columns": _columns,
    "table_versions": _versions,
    "table_packfiles": _packfiles_of_version,
}
"""System tables about all tables: what each tells of one."""
