"""Tables made of others: forks below the same root, and pushes to another one."""

from __future__ import annotations

from sdb import notes
from sdb.errors import UsageError
from sdb.serve.conditional import changed
from sdb.serve.described import body_of
from sdb.serve.problems import HttpError
from sdb.serve.tables.opening import check_right, named, opened
from sdb.serve.tables.parameters import ForkBody, PushBody
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import flaw_of_new_name
from sdb.table.history.fork import fork, push

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.history.fork import SentTable

_MOST_BYTES = 1 << 20


class CopyResources:
    """The requests that copy tables; each takes a slot, since packfiles may be copied."""

    def __init__(self, root: TableRoot, engine: Engine, settings: ServerSettings) -> None:
        self._root, self._engine, self._targets = root, engine, dict(settings.push_to)

    async def fork(self, request: Request, _: NoMembers) -> Response:
        """Make a new table of a version."""
        asked = await body_of(request, ForkBody, _MOST_BYTES)
        rights: Rights = request.state.rights
        keys = _new_table(asked.name)

        def forked(running: Running) -> SentTable:
            # A fork that shares leaves a branch in the table whose packfiles it refers to.
            verb = "write" if asked.share else "read"
            source = opened(self._root, request.path_params["name"], rights, verb)
            check_right(keys, rights, "write")
            request.app.state.service.root_check.room()
            return fork(
                source,
                keys.database,
                keys.table,
                share=asked.share,
                author=asked.author or rights.name,
                message=asked.message,
                progress=running.check,
            )

        return await self._sent(request, forked, status=201)

    async def push(self, request: Request, _: NoMembers) -> Response:
        """Make a table below another root the same as a version."""
        asked = await body_of(request, PushBody, _MOST_BYTES)
        rights: Rights = request.state.rights
        check_admin(rights)
        if asked.to not in self._targets:
            raise UsageError(
                f"to: {asked.to[:80]!r} is no root that the server may push to",
                expected=", ".join(self._targets) or "sdb serve --push-to NAME=ROOT names some",
            )
        keys = _new_table(asked.name) if asked.name else None

        def pushed(running: Running) -> SentTable:
            source = opened(self._root, request.path_params["name"], rights)
            return push(
                source,
                table_root(self._targets[asked.to]),
                name="" if keys is None else f"{keys.database}.{keys.table}",
                author=asked.author or rights.name,
                message=asked.message,
                progress=running.check,
            )

        return await self._sent(request, pushed, to=asked.to)

    async def _sent(
        self,
        request: Request,
        send: Callable[[Running], SentTable],
        *,
        to: str | None = None,
        status: int = 200,
    ) -> Response:
        def sent(running: Running) -> tuple[dict[str, object], list[str]]:
            with notes.collected() as warnings:
                members = send(running).as_dict()
            del members["root"]  # where it is, is no concern of the client's
            return members | ({} if to is None else {"to": to}), warnings

        members, warnings = await self._engine.work(request, sent, request.state.rights)
        return changed(request, members, warnings, status=status)


def check_admin(rights: Rights) -> None:
    """Check that a request may do everything. Raises `HttpError` if it may not."""
    if not rights.is_admin:
        what = "this takes the right admin"
        raise HttpError(403, what, code="forbidden", hint="sdb token create NAME --can admin")


def _new_table(name: str) -> TableKeys:
    keys, at = named(name)
    if at:
        raise UsageError(f"as: {name[:200]} is a version, and no new table", expected="db.new")
    if flaw := flaw_of_new_name(keys.database) or flaw_of_new_name(keys.table):
        raise UsageError(f"as: {flaw}", expected="db.new")
    return keys
