"""Transactions that last for several requests: begun, filled, committed or aborted."""

from __future__ import annotations

from sdb import durations, instants, notes
from sdb.errors import AccessError, NotFoundError
from sdb.progress import silent
from sdb.records import replace
from sdb.serve.bodies import bounded
from sdb.serve.conditional import answered, changed
from sdb.serve.described import body_of
from sdb.serve.tables.copies import check_admin
from sdb.serve.tables.opening import absent, check_right, named
from sdb.serve.tables.parameters import CommitBody, StagedFilesBody, TransactionBody
from sdb.serve.tables.replays import digest, key_of
from sdb.serve.tables.writes import MOST_BYTES, form_of_rows, rows_of
from sdb.store.base import child
from sdb.table.catalog.handle import find_table
from sdb.table.format.versionref import MAIN
from sdb.table.inputs.places import InputBounds
from sdb.table.insert import staging
from sdb.times import of_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.progress import Progress
    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.metrics import Metrics
    from sdb.serve.running import Running
    from sdb.serve.tables.parameters import StagedRowsParams
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.insert.staging import StagedTransaction

_MOST_JSON_BYTES = 1 << 20


class StagingResources:
    """The requests of transactions; a transaction is that of the token that has begun it.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(
        self, root: TableRoot, in_thread: Callable[..., Any], engine: Engine, metrics: Metrics
    ) -> None:
        self._root, self._in_thread, self._engine = root, in_thread, engine
        self._metrics = metrics

    async def begin(self, request: Request, _: NoMembers) -> Response:
        """Begin a transaction."""
        asked = await body_of(request, TransactionBody, _MOST_JSON_BYTES)
        rights: Rights = request.state.rights
        if not rights.may_write_some:
            raise AccessError("the token may not change tables")

        def begun() -> StagedTransaction:
            request.app.state.service.root_check.room()
            seconds = durations.seconds(asked.expires)
            return staging.begin(
                self._root, seconds=seconds, owner=rights.name, message=asked.message
            )

        staged = await self._in_thread(begun)
        headers = {"location": f"/v1/transactions/{staged.uid}"}
        return changed(request, _shown(staged), [], status=201, headers=headers)

    async def transaction(self, request: Request, _: NoMembers) -> Response:
        """Show what a transaction has staged."""
        return answered(request, await self._in_thread(lambda: _shown(self._own(request))))

    async def stage_rows(self, request: Request, asked: StagedRowsParams) -> Response:
        """Stage the rows of a body."""
        rights: Rights = request.state.rights
        form = form_of_rows(request)
        encoding = request.headers.get("content-encoding", "")
        reading = of_fields(asked.times, asked.timezone, asked.time_field)
        target = await self._in_thread(self._target, request, asked.table)
        data = await bounded(request, MOST_BYTES)

        def staged(_: Running) -> dict[str, object]:
            inputs = replace(rows_of(data, form, encoding), times=reading)
            key = key_of(request, rights.name, asked.table, form, digest([data]), *reading.texts())
            return self._staged(request, target, inputs, key.fingerprint)

        return await self._in_slot(request, staged)

    async def stage_files(self, request: Request, _: NoMembers) -> Response:
        """Stage the rows of files below the root, for admins."""
        asked = await body_of(request, StagedFilesBody, _MOST_JSON_BYTES)
        check_admin(request.state.rights)
        target = await self._in_thread(self._target, request, asked.table)

        def staged(running: Running) -> dict[str, object]:
            files = [self._place(file) for file in asked.files]
            return self._staged(request, target, files, "", running.check)

        return await self._in_slot(request, staged)

    async def commit(self, request: Request, _: NoMembers) -> Response:
        """Commit a transaction: a version of each table that gets rows, all at once."""
        asked = await body_of(request, CommitBody, _MOST_JSON_BYTES)
        rights: Rights = request.state.rights

        def committed(_: Running) -> tuple[dict[str, object], list[str]]:
            own = self._own(request)
            for keys, _branch in own.targets.values():
                check_right(keys, rights, "ingest")  # it may have been taken away since
            request.app.state.service.root_check.room()
            with notes.collected() as warnings:
                versions, is_new = staging.finish(
                    self._root,
                    own.uid,
                    reads=asked.reads,
                    author=rights.name,
                    message=asked.message,
                )
            return {"id": own.uid, "versions": versions, "new": is_new}, warnings

        members, warnings = await self._engine.work(request, committed, rights)
        self._metrics.commits.inc(len(members["versions"]) if members["new"] else 0)
        return changed(request, members, warnings)

    async def abort(self, request: Request, _: NoMembers) -> Response:
        """Abort a transaction: nothing of it comes into a table."""

        def aborted() -> dict[str, object]:
            return _shown(staging.abort(self._root, self._own(request).uid))

        return changed(request, await self._in_thread(aborted), [])

    def _own(self, request: Request) -> StagedTransaction:
        """Return the transaction of a request; that of another token is not there."""
        rights: Rights = request.state.rights
        staged = staging.find(self._root, request.path_params["id"])
        if staged.owner != rights.name and not rights.is_admin:
            raise NotFoundError(f"there is no transaction {staged.uid!r}")
        return staged

    def _target(self, request: Request, name: str) -> tuple[TableKeys, str]:
        """Return the table and the branch that rows are for, before the rows come in."""
        keys, at = named(name)
        check_right(keys, request.state.rights, "ingest")
        staging.check_open(self._own(request))
        request.app.state.service.root_check.room()
        handle = find_table(self._root, keys.database, keys.table)
        if handle is not None and handle.is_dropped:
            raise absent(keys.name)
        return keys, at or MAIN

    def _place(self, file: str) -> str:
        """Return the place of a file that inputs may be read from."""
        location = (
            file if "://" in file or file.startswith("/") else child(self._root.location, file)
        )
        bounds = InputBounds(self._root)
        if not bounds.has(location):
            raise bounds.refusal(f"the file {file[:200]!r}", location)
        return location

    def _staged(
        self,
        request: Request,
        target: tuple[TableKeys, str],
        inputs: Inputs,
        key: str,
        progress: Progress = silent,
    ) -> dict[str, object]:
        uid = self._own(request).uid
        staged, packed = staging.stage(self._root, uid, target, inputs, key=key, progress=progress)
        keys, branch = target
        return {
            "id": staged.uid,
            "table": keys.name + (f"@{branch}" if branch != MAIN else ""),
            "rows": packed.rows,
            "text_bytes": packed.text_bytes,
            **({"quarantined": packed.departed} if packed.departed else {}),
            "staged": sum(each.descriptor.rows or 0 for each in staged.rows),
        }

    async def _in_slot(
        self, request: Request, stage: Callable[[Running], dict[str, object]]
    ) -> Response:
        def staged(running: Running) -> tuple[dict[str, object], list[str]]:
            with notes.collected() as warnings:
                return stage(running), warnings

        members, warnings = await self._engine.work(request, staged, request.state.rights)
        return changed(request, members, warnings, status=201)


def _shown(staged: StagedTransaction) -> dict[str, object]:
    """Return the facts of a transaction."""
    tables: dict[str, int] = dict.fromkeys(staged.targets, 0)
    for each in staged.rows:
        tables[each.name] += each.descriptor.rows or 0
    return {
        "id": staged.uid,
        "step": staged.step,
        "expires_at": instants.text(staged.expires_us),
        "message": staged.message or None,
        "tables": [{"table": name, "rows": rows} for name, rows in tables.items()],
    }
