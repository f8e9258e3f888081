"""Packfiles and blocks of tables as resources: the plan of a query as data, and rows by time."""

from __future__ import annotations

from itertools import islice

from sdb import instants
from sdb.errors import UsageError
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.catalog.period import period
from sdb.query.run.api import planned, warnings_of
from sdb.query.syntax.parser import parse
from sdb.serve.conditional import answered, with_warnings
from sdb.serve.hiding import Hiding
from sdb.serve.tables.catalog import of_table
from sdb.serve.tables.conditions import condition, table_text
from sdb.serve.tables.opening import index_tag, named, opened, version_text
from sdb.serve.tables.paging import cursor_of, next_link, pinned, start_of
from sdb.table.inspect.timeline import named_path, timeline
from sdb.table.packfiles.lazy import TablePackfile
from sdb.table.upkeep.status import table_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.query.run.api import QueryPlan
    from sdb.serve.access import Rights
    from sdb.serve.described import NoMembers
    from sdb.serve.tables import parameters
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor


class LayoutResources:
    """The resources about packfiles and times of tables: metadata alone is read."""

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any]) -> None:
        self._root, self._in_thread = root, in_thread

    async def packfiles(self, request: Request, asked: parameters.PackfilesParams) -> Response:
        """List the packfiles that can have rows, with the blocks that a query would read."""
        cursor = cursor_of(asked.page)
        start = start_of(cursor)
        rights: Rights = request.state.rights
        warnings: list[str] = []

        def listed(handle: TableHandle) -> dict[str, object]:
            handle = pinned(handle, cursor)
            path = named_path(handle, asked.time_field)
            if asked.where or asked.since or asked.until:
                plan = self._planned(handle, asked, path, rights)
                warnings.extend(
                    Hiding(self._root.location, knows=rights.knows).texts(warnings_of(plan))
                )
                described = _read(plan, path)
            else:
                described = (_described(each, path) for each in handle.descriptors())
            shown = list(islice(described, start, start + asked.limit + 1))
            more = start + asked.limit
            return {
                "table": handle.name,
                "time": None if path is None else list(path),
                "packfiles": shown[: asked.limit],
                "warnings": warnings,
                **({"next": next_link(request, more, handle)} if len(shown) > asked.limit else {}),
            }

        # What relative times and conditions mean changes without the index.
        is_fixed = not asked.where and not any(
            instants.relative(text) is not None for text in (asked.since, asked.until) if text
        )
        tag: Callable[[TableHandle], str] = index_tag if is_fixed else _no_tag
        response = await of_table(self._root, self._in_thread, request, listed, tag)
        return with_warnings(request, response, warnings, self._root.location)

    def _planned(
        self,
        handle: TableHandle,
        asked: parameters.PackfilesParams,
        path: Path | None,
        rights: Rights,
    ) -> QueryPlan:
        """Plan a query that counts the rows."""
        text = f"SELECT COUNT(*) AS n FROM {table_text(handle)}"  # noqa: S608 - quoted
        if asked.where:
            text += f" WHERE {condition(asked.where)}"
        has_times = bool(asked.since or asked.until)
        return planned(
            QueryRequest(
                parse(text),
                root=self._root.location,
                period=period(
                    asked.since or None, asked.until or None, path if has_times else None
                ),
                at=version_text(handle),
                now_us=instants.parse("now"),
                visible=rights.reads,
            ),
            with_notes=True,
        )

    async def table_status(self, request: Request, _: NoMembers) -> Response:
        """Report what a table needs, which command does it, and what is kept."""
        name, rights = request.path_params["name"], request.state.rights
        hiding = Hiding(self._root.location, knows=rights.knows)

        def made() -> dict[str, object]:
            if named(name)[1]:
                raise UsageError(f"{name} is a version, and a table as a whole has a state")
            keys = opened(self._root, name, rights).keys
            status = table_status(self._root, keys)
            return status.as_dict() | {"notes": hiding.texts(list(status.notes))}

        return answered(request, await self._in_thread(made))

    async def timeline(self, request: Request, asked: parameters.TimelineParams) -> Response:
        """Report when the rows of a table are, from metadata: no row is read."""
        since = instants.parse(asked.since) if asked.since else None
        until = instants.parse(asked.until) if asked.until else None

        def made(handle: TableHandle) -> dict[str, object]:
            drawn = timeline(
                handle, since, until, time_field=asked.time_field, buckets=asked.buckets
            )
            return {"table": handle.name, **drawn.as_dict()}

        is_fixed = not any(
            instants.relative(text) is not None for text in (asked.since, asked.until) if text
        )
        tag: Callable[[TableHandle], str] = index_tag if is_fixed else _no_tag
        return await of_table(self._root, self._in_thread, request, made, tag)


def _no_tag(_: TableHandle) -> str:
    return ""


def _described(descriptor: Descriptor, path: Path | None) -> dict[str, object]:
    first, last = _span(descriptor, path)
    return {
        "key": descriptor.key,
        "etag": descriptor.etag,
        "bytes": descriptor.size_bytes,
        "rows": descriptor.rows,
        "blocks": len(descriptor.trailer.blocks),
        "first": None if first is None else instants.text(first),
        "last": None if last is None else instants.text(last),
    }


def _span(descriptor: Descriptor, path: Path | None) -> tuple[int | None, int | None]:
    index = None if path is None else descriptor.trailer.sparse.indices.get(path)
    if index is None or index.is_empty:
        return None, None
    return index.first_us, index.last_us


def _read(plan: QueryPlan, path: Path | None) -> Iterator[dict[str, object]]:
    """Iterate over the packfiles with blocks that the plan of a query leaves."""
    for table in plan.tables[:1]:
        for part in table.parts:
            pack = part.pack
            if not part.intervals or not isinstance(pack, TablePackfile):
                continue
            yield _described(pack.descriptor, path) | {
                "blocks_to_read": part.block_count,
                "block_ranges": [list(each) for each in part.intervals],
                "scan_bytes": part.decompressed_bytes,
            }
