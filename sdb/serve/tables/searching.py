"""Search over the names, fields and descriptions of tables and views."""

from __future__ import annotations

from itertools import islice

from sdb.errors import SdbError
from sdb.packfile.read.fields import inventory
from sdb.query.catalog.storedtable import TableSource
from sdb.serve.conditional import answered
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.views import views
from sdb.table.format.keys import TableKeys
from sdb.table.inspect.labels import labels
from sdb.table.schema.columns import shown, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.tables.parameters import SearchParams
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot


class SearchResources:
    """The search over what may be read."""

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any]) -> None:
        self._root, self._in_thread = root, in_thread

    async def search(self, request: Request, asked: SearchParams) -> Response:
        """Find tables, views and fields by a part of their names or descriptions."""
        rights: Rights = request.state.rights

        def found() -> dict[str, object]:
            unread: list[str] = []
            hits = (
                hit
                for hit in self._all(rights, unread)
                if asked.kind in {"", hit["kind"]} and _has(hit, asked.q)
            )
            first = list(islice(hits, asked.limit + 1))
            members = {"found": first[: asked.limit], "truncated": len(first) > asked.limit}
            return members | ({"unread": unread} if unread else {})

        return answered(request, await self._in_thread(found))

    def _all(self, rights: Rights, unread: list[str]) -> Iterator[dict[str, object]]:
        """Yield all tables with their fields, then all views."""
        for database in self._root.databases():
            for table in self._root.tables(database):
                if rights.reads(database, table):
                    keys = TableKeys(database, table)
                    try:
                        yield from self._of_table(keys)
                    except SdbError:  # the lists of tables and fields say what is wrong
                        unread.append(keys.name)
        for view in views(self._root, visible=rights.reads):
            yield {"kind": "view", "table": view.name}

    def _of_table(self, keys: TableKeys) -> Iterator[dict[str, object]]:
        handle = find_table(self._root, keys.database, keys.table)
        if handle is None or handle.is_dropped:
            return
        yield {"kind": "table", "table": keys.name, **labels(self._root, keys)}
        for field in _fields(handle):
            yield {"kind": "field", "table": keys.name, **field}


def _fields(handle: TableHandle) -> Iterator[dict[str, object]]:
    """Yield the columns of a schema, or else the fields that rows have."""
    if handle.schema is not None:
        for names, _, column in walk(handle.schema.columns):
            more = {"description": column.description} if column.description else {}
            yield {"field": shown(names), "types": [str(column.type)], **more}
        return
    source = TableSource(handle)
    try:
        fields = inventory(source.trailers()).fields
    finally:
        source.close()
    for field in fields:
        yield {"field": field.name, "types": list(field.types)}


def _has(hit: dict[str, object], wanted: str) -> bool:
    """Return whether what was found has a text: a field in its own name, not in its table's."""
    names = (
        ("field", "description") if hit["kind"] == "field" else ("table", "description", "steward")
    )
    return any(wanted.lower() in str(hit[name]).lower() for name in names if name in hit)
