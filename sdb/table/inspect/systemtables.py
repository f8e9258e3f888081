"""Rows that tell of tables: their versions, packfiles, blocks, inputs, names and garbage."""

from __future__ import annotations

from sdb import instants
from sdb.errors import CorruptError, UnsupportedError
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.refs import refs
from sdb.table.history.log import log
from sdb.table.inspect.describe import facts
from sdb.table.sync.status import input_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from typing import Any, TypeAlias

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot

    Row: TypeAlias = dict[str, Any]


def system_rows(kind: str, handle: TableHandle) -> Iterator[Row]:
    """Give the rows of a system table about a table.

    Parameters
    ----------
    kind : {"versions", "packfiles", "blocks", "inputs", "refs", "garbage"}
        Which one.
    handle : TableHandle
        The table, or a version of it.

    Yields
    ------
    dict
        A row; times are datetimes.

    Raises
    ------
    CorruptError
        An object that the table leads to is missing or damaged.
    """
    return _KINDS[kind](handle)


def table_rows(root: TableRoot) -> Iterator[Row]:
    """Give a row for each table below a root; of one whose index is damaged, what is wrong."""
    for database in root.databases():
        for table in root.tables(database):
            try:
                handle = find_table(root, database, table)
                if handle is None:
                    continue
                found = facts(handle)
            except (CorruptError, UnsupportedError) as error:
                yield {"database": database, "table": table, "error": error.message}
                continue
            yield {
                "database": database,
                "table": table,
                "version": found.version,
                "rows": found.rows,
                "bytes": found.size_bytes,
                "packfiles": found.packfiles,
                "newest_path": None if found.newest_path is None else ".".join(found.newest_path),
                "newest_at": _time(found.newest_us),
                "changed_at": _time(found.synced_us),
            }


def _versions(handle: TableHandle) -> Iterator[Row]:
    for one in log(handle):
        changes = one.changes.as_dict()
        yield {
            "version": one.version,
            "at": _time(one.at_us),
            "id": one.commit,
            "operation": one.operation,
            "author": one.author,
            "message": one.message,
            "rows": one.rows,
            "bytes": one.size_bytes,
            **{name.replace("-", "_"): value for name, value in changes.items()},
            "parents": list(one.parents),
            "names": list(one.names),
        }


def _packfiles(handle: TableHandle) -> Iterator[Row]:
    indirect = sum(ref.objects for ref in handle.index.indirect.refs)
    for number, one in enumerate(handle.descriptors()):
        trailer = one.trailer
        yield {
            "path": one.key,
            "rows": one.rows,
            "bytes": one.size_bytes,
            "blocks": len(trailer.blocks),
            "algorithm": trailer.algorithm,
            "etag": one.etag,
            "modified_at": _time(one.modified_us),
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
    for one in handle.descriptors():
        trailer = one.checked().trailer
        summary = trailer.sparse.summary
        for number, block in enumerate(trailer.blocks):
            start, stop = trailer.block_range(number)
            yield {
                "packfile": one.key,
                "block": number,
                "offset": start,
                "bytes": stop - start,
                "chunks": block.chunks,
                "decompressed_bytes": block.chunks << trailer.block_shift,
                "rows": None if summary is None else summary.rows[number],
                "times": _times(trailer, number),
            }


def _times(trailer: Trailer, block: int) -> list[Row]:
    """Give the range of times that a block has at each path, as far as it is known."""
    found = []
    for path, index in trailer.sparse.indices.items():
        known = None if index.is_empty else index.known_range(block)
        if known is not None:
            found.append(_range(path, *known))
    return found


def _range(path: tuple[str, ...], first_us: int, last_us: int) -> Row:
    return {"path": ".".join(path), "first": _time(first_us), "last": _time(last_us)}


def _inputs(handle: TableHandle) -> Iterator[Row]:
    for one in input_states(handle):
        yield {
            "path": one.path,
            "etag": one.etag,
            "number": one.number,
            "state": one.state.value,
            "reason": one.reason or None,
        }


def _refs(handle: TableHandle) -> Iterator[Row]:
    keys = handle.keys
    for one in refs(open_table(handle.root, keys.database, keys.table)):
        at = _time(one.at_us)
        yield {"kind": one.kind, "name": one.name, "version": one.version, "at": at}


def _garbage(handle: TableHandle) -> Iterator[Row]:
    from sdb.table.maintenance.gc import collect

    keys = handle.keys
    for one in collect(handle.root, keys.database, keys.table, dry_run=True).garbage:
        at = _time(one.modified_us)
        yield {"key": one.key, "kind": one.kind, "bytes": one.size_bytes, "modified_at": at}


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
