"""Upkeep of a table at once, for admins: merging small packfiles, or all that its rules say."""

from __future__ import annotations

from threading import Event

from sdb import notes
from sdb.errors import UsageError
from sdb.serve.conditional import changed
from sdb.serve.described import body_of
from sdb.serve.tables.copies import check_admin
from sdb.serve.tables.opening import absent, named, opened
from sdb.serve.tables.parameters import CompactBody, MaintainBody
from sdb.table.maintenance.compact import compact_table
from sdb.table.upkeep.maintain import TableChoice, maintain_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

_MOST_BYTES = 1 << 20


class UpkeepResources:
    """The requests that keep a table small; each takes a slot, and ends with its time."""

    def __init__(self, root: TableRoot, engine: Engine, settings: ServerSettings) -> None:
        self._root, self._engine, self._settings = root, engine, settings

    async def compact(self, request: Request, _: NoMembers) -> Response:
        """Merge small packfiles of a table."""
        asked = await body_of(request, CompactBody, _MOST_BYTES)
        rights: Rights = request.state.rights
        keys = self._keys(request)

        def compacted(running: Running) -> tuple[dict[str, object], list[str]]:
            self._check(request, keys)
            with notes.collected() as warnings:
                done = compact_table(
                    self._root,
                    keys.database,
                    keys.table,
                    dry_run=asked.dry_run,
                    author=asked.author or rights.name,
                    message=asked.message,
                    most_bytes=asked.most_bytes or None,
                    progress=running.check,
                )
            return {"table": keys.name, **done.as_dict()}, warnings

        return changed(request, *await self._engine.work(request, compacted, rights))

    async def maintain(self, request: Request, _: NoMembers) -> Response:
        """Do for a table what there is to do now, as its definition says."""
        from sdb.exchange.policies import Exporter
        from sdb.query.rows.mirrorcolumns import packfile_columns

        asked = await body_of(request, MaintainBody, _MOST_BYTES)
        rights: Rights = request.state.rights
        keys = self._keys(request)

        def maintained(running: Running) -> tuple[dict[str, object], list[str]]:
            self._check(request, keys)
            stop = Event()
            with notes.collected() as warnings, running.cancellation.interrupting(stop.set):
                done = maintain_tables(
                    self._root,
                    TableChoice(keys.database, keys.table),
                    stop=stop,
                    dry_run=asked.dry_run,
                    min_free_bytes=self._settings.min_free_bytes,
                    author=asked.author or rights.name,
                    export=Exporter(stop, packfile_columns),
                )
            running.check()
            return {"table": keys.name, **done.as_dict()}, warnings

        return changed(request, *await self._engine.work(request, maintained, rights))

    def _keys(self, request: Request) -> TableKeys:
        check_admin(request.state.rights)
        keys, at = named(request.path_params["name"])
        if at:
            raise UsageError(f"{keys.name}: upkeep is of a table, and of no version")
        return keys

    def _check(self, request: Request, keys: TableKeys) -> None:
        """Check that the table is there, and no pattern."""
        if set(keys.table) & set("*?["):
            raise absent(keys.name)
        opened(self._root, keys.name, request.state.rights, "write")
        request.app.state.service.root_check.room()
