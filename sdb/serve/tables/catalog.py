"""Tables, versions, fields and inputs as resources."""

from __future__ import annotations

from itertools import islice

import msgspec

from sdb import durations
from sdb.errors import SdbError
from sdb.serve.conditional import answered, unchanged
from sdb.serve.forms import valid
from sdb.serve.tables.opening import fields_of, index_tag, named, opened, version_tag
from sdb.serve.tables.paging import cursor_of, name_of, next_link, pinned, start_of
from sdb.table.catalog.handle import find_table, open_table, time_path
from sdb.table.format.keys import joined, split_name
from sdb.table.history.diff import compare
from sdb.table.history.log import log, show
from sdb.table.inspect.describe import facts
from sdb.table.inspect.labels import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tables import parameters
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot


class TableResources:
    """The resources about tables.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(
        self,
        root: TableRoot,
        in_thread: Callable[..., Any],
        engine: Engine,
        settings: ServerSettings,
    ) -> None:
        self._root = root
        self._in_thread = in_thread
        self._engine, self._settings = engine, settings

    async def tables(self, request: Request, asked: parameters.TablesParams) -> Response:
        """List the tables that the token may read."""
        rights: Rights = request.state.rights
        wanted, after = asked.q.lower(), name_of(cursor_of(asked.page))

        def listed() -> dict[str, object]:
            names = [
                (database, table)
                for database in self._root.databases()
                for table in self._root.tables(database)
                if rights.reads(database, table) and wanted in joined(database, table).lower()
            ]
            left = (name for name in names if name > split_name(after))
            summaries: list[dict[str, object]] = []
            for database, table in left:
                if len(summaries) == asked.limit:
                    return {
                        "tables": summaries,
                        "next": next_link(request, str(summaries[-1]["name"])),
                    }
                if summary := self._summary(database, table):
                    summaries.append(summary)
            return {"tables": summaries}

        return answered(request, await self._in_thread(listed))

    def _summary(self, database: str, table: str) -> dict[str, object]:
        try:
            handle = find_table(self._root, database, table)
            if handle is None or handle.is_dropped:
                return {}
            own = labels(self._root, handle.keys)
            return {"name": handle.name, **facts(handle).as_dict(), **own}
        except SdbError as error:
            return {"name": joined(database, table), "error": error.message}

    async def table(self, request: Request, _: NoMembers) -> Response:
        """Describe a table; what is in the answer changes with its version only."""

        def described(handle: TableHandle) -> dict[str, object]:
            path = time_path(handle)
            return {
                "name": handle.name,
                **facts(handle).as_dict(),
                "time": None if path is None else list(path),
                "links": {
                    kind: f"/v1/tables/{handle.name}/{kind}" for kind in ("branches", "tags")
                },
            }

        return await self._of_table(request, described, tag=version_tag)

    async def versions(self, request: Request, asked: parameters.VersionsParams) -> Response:
        """List the versions of a table, the newest first."""
        cursor = cursor_of(asked.page)
        before = start_of(cursor) or asked.before

        def listed(handle: TableHandle) -> dict[str, object]:
            older = (
                entry
                for entry in log(handle)
                if not before or (entry.version is not None and entry.version < before)
            )
            entries = list(islice(older, asked.limit + 1))
            members: dict[str, object] = {
                "table": handle.name,
                "versions": [entry.as_dict() for entry in entries[: asked.limit]],
            }
            last = entries[asked.limit - 1].version if len(entries) > asked.limit else None
            if last is not None:
                members["next"] = next_link(request, last)
            return members

        return await self._of_table(request, listed)

    async def version(self, request: Request, _: NoMembers) -> Response:
        """Report what a version has changed."""
        wanted = request.path_params["version"]
        return await self._of_table(request, lambda handle: show(handle.at(wanted)).as_dict())

    async def diff(self, request: Request, asked: parameters.DiffParams) -> Response:
        """Compare two versions; their rows take a slot, since packfiles are read."""
        name, rights = request.path_params["name"], request.state.rights

        def compared(running: Running | None = None) -> dict[str, object]:
            handle = opened(self._root, name, rights)
            keys, at = named(name)
            head = open_table(self._root, keys.database, keys.table) if at else handle
            later = head.at(asked.to) if asked.to else handle
            difference = compare(head.at(asked.from_), later)
            members = difference.as_dict()
            if running is not None:
                from sdb.table.history.rowdiff import changed_rows

                key = [part for part in asked.by.split(",") if part]
                rows = changed_rows(difference, key=key, progress=running.check)
                lines = [msgspec.Raw(valid(row.encode())) for row in islice(rows, asked.limit + 1)]
                members["differing"] = lines[: asked.limit]
                members["truncated"] = len(lines) > asked.limit
            return members

        if not asked.rows:
            return answered(request, await self._in_thread(compared))
        return answered(request, await self._engine.work(request, compared, rights))

    async def fields(self, request: Request, asked: parameters.FieldsParams) -> Response:
        """List the fields of a table."""
        cursor = cursor_of(asked.page)
        start = start_of(cursor)

        def listed(handle: TableHandle) -> dict[str, object]:
            handle = pinned(handle, cursor)
            inventoried, every = fields_of(handle)
            fields = [
                {"path": list(field.path), "types": list(field.types), "rows": field.rows}
                for field in every[start : start + asked.limit]
            ]
            more = start + asked.limit
            return {
                "table": handle.name,
                "rows": inventoried.rows,
                "complete": inventoried.complete,
                "fields": fields,
                **({"next": next_link(request, more, handle)} if len(every) > more else {}),
            }

        return await self._of_table(request, listed)

    async def inputs(self, request: Request, asked: parameters.InputsParams) -> Response:
        """List the inputs that a table has taken."""
        cursor = cursor_of(asked.page)
        seek = name_of(cursor) or asked.after

        def listed(handle: TableHandle) -> dict[str, object]:
            from sdb.table.sync.status import input_states

            handle = pinned(handle, cursor)
            states = list(islice(input_states(handle, seek=seek), asked.limit + 1))
            members: dict[str, object] = {
                "table": handle.name,
                "inputs": [state.as_dict() for state in states[: asked.limit]],
            }
            if len(states) > asked.limit:
                members["next"] = next_link(request, states[-1].path, handle)
            return members

        return await self._of_table(request, listed)

    async def _of_table(
        self,
        request: Request,
        make: Callable[[TableHandle], dict[str, object]],
        tag: Callable[[TableHandle], str] = index_tag,
    ) -> Response:
        """Answer with what is made of a table; nothing is made of one that the client knows."""
        return await of_table(self._root, self._in_thread, request, make, tag)


async def of_table(
    root: TableRoot,
    in_thread: Callable[..., Any],
    request: Request,
    make: Callable[[TableHandle], dict[str, object]],
    tag: Callable[[TableHandle], str] = index_tag,
) -> Response:
    """Answer with what is made of a table.

    * ``tag``: Returns the tag of the answer, of what the index says.
    """
    name, rights = request.path_params["name"], request.state.rights

    def made() -> Response:
        handle = opened(root, name, rights)
        text = tag(handle)
        return unchanged(request, text) or answered(request, make(handle), text)

    response: Response = await in_thread(made)
    return response


def seconds_of(text: str, most: float) -> float:
    """Return for how long a request waits."""
    return min(max(durations.seconds(text, bare=True), 0.0), most)
