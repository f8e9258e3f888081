"""Changes of tables: requests that wait for the next version."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import deque

import msgspec
from starlette.responses import Response

from sdb.errors import UsageError
from sdb.serve.access import is_meant
from sdb.serve.tables.catalog import seconds_of
from sdb.serve.tables.opening import absent, check_right, named, opened
from sdb.serve.tables.watching import unless_gone
from sdb.table.catalog.handle import find_table
from sdb.table.format.keys import joined, split_name
from sdb.table.history.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from starlette.requests import Request

    from sdb.serve.access import Rights
    from sdb.serve.tables import parameters
    from sdb.serve.tables.watching import IndexWatch
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot

_MOST = 10_000
_MOST_TABLES = 1_000
_MOST_WAIT_SECONDS = 60.0
_LIST_SECONDS = 5.0
_MOST_CURSOR_BYTES = 1 << 20
_NO_STORE = {"cache-control": "no-store"}
_GONE = Response(status_code=204)  # which nobody reads: the client has gone


def watched(handle: TableHandle, branch: str = "main") -> dict[str, str | None]:
    """Return what shows that a table has another version: objects, and the versions read."""
    known: dict[str, str | None] = {handle.keys.branch(branch): handle.reader.version}
    if handle.joint is not None and handle.joint.is_pending:
        # Its transaction decides, and the index stays the same then.
        known[handle.joint.state.transaction] = handle.joint.seen or None
    return known


def version_of(handle: TableHandle) -> int:
    """Return the number of a version; 0: it has none."""
    return 0 if handle.state is None else handle.state.version


def changes_after(handle: TableHandle, after: int) -> tuple[list[dict[str, object]], bool]:
    """Return the versions after one, the oldest first, and whether none of them is missing."""
    newer: deque[dict[str, object]] = deque(maxlen=_MOST)
    first = version_of(handle) + 1
    for entry in log(handle):
        if entry.version is None:
            continue
        if entry.version <= after:
            break
        first = entry.version
        newer.append(entry.as_dict())
    return list(newer)[::-1], first <= after + 1


class ChangeResources:
    """The resources that wait for versions."""

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any], watch: IndexWatch) -> None:
        self._root, self._in_thread, self._watch = root, in_thread, watch

    async def table_changes(
        self, request: Request, asked: parameters.TableChangesParams
    ) -> Response:
        """Wait for a version after one that is known, and list the versions since."""
        name, rights = request.path_params["name"], request.state.rights
        deadline = _Deadline(seconds_of(asked.wait, _MOST_WAIT_SECONDS))
        _, at = named(name)
        while True:
            handle = await self._in_thread(opened, self._root, name, rights)
            is_over = deadline.rest <= 0 or self._watch.is_ending
            if version_of(handle) > asked.after or is_over:
                break
            # An index may change without a version: tags do, and transactions that are pending.
            known = watched(handle, at or "main")
            if await unless_gone(request, self._watch.wait(known, deadline.rest)) is None:
                return _GONE

        def listed() -> dict[str, object]:
            changes, is_complete = changes_after(handle, asked.after)
            last = changes[-1]["version"] if changes else max(asked.after, version_of(handle))
            return {
                "table": handle.name,
                "version": last,
                "changes": changes,
                "complete": is_complete,
            }

        return _json(await self._in_thread(listed))

    async def changes(self, request: Request, asked: parameters.ChangesParams) -> Response:
        """Wait for versions of several tables, and list them."""
        rights: Rights = request.state.rights
        deadline = _Deadline(seconds_of(asked.wait, _MOST_WAIT_SECONDS))
        if asked.after.isdigit() and len(asked.after) < 19:  # noqa: PLR2004 - digits
            if len(asked.table) != 1 or set("*?[") & set(asked.table[0]):
                raise UsageError("after: the number of a version is of one table", hint="table=")
            keys, at = named(asked.table[0])
            if at:
                raise UsageError("table: changes are those of main, without @")
            known: dict[str, int] | None = {keys.name: int(asked.after)}
        else:
            known = _known(asked.after) if asked.after else None
        while True:
            handles = await self._in_thread(self._handles, asked.table, known or {}, rights)
            versions = {name: version_of(handle) for name, handle in handles.items()}
            if known is None:  # the client begins now
                known = versions
            if any(versions[name] > known.get(name, 0) for name in versions):
                response: Response = await self._in_thread(self._listed, request, handles, known)
                return response
            if deadline.rest <= 0 or self._watch.is_ending:
                return self._answer(request, [], known | versions, is_complete=True)
            objects: dict[str, str | None] = {}
            for handle in handles.values():
                objects |= watched(handle)
            # Tables that are new meanwhile are looked for now and then.
            seconds = min(deadline.rest, _LIST_SECONDS)
            if await unless_gone(request, self._watch.wait(objects, seconds)) is None:
                return _GONE

    def _handles(
        self, patterns: tuple[str, ...], known: Mapping[str, int], rights: Rights
    ) -> dict[str, TableHandle]:
        """Open the tables that patterns mean, and that the token may read."""
        handles = {}
        for name in self._names(patterns, rights):
            handle = find_table(self._root, *split_name(name))
            if handle is not None and (name in known or not handle.is_dropped):
                handles[name] = handle
        if len(handles) > _MOST_TABLES:
            raise UsageError(
                f"{len(handles):,} tables are more than {_MOST_TABLES:,}", hint="table=web.*"
            )
        return handles

    def _names(self, patterns: tuple[str, ...], rights: Rights) -> list[str]:
        plain = []
        for name in patterns:
            if set("*?[") & set(name):
                continue
            keys, at = named(name)
            if at:
                raise UsageError("table: changes are those of main, without @")
            check_right(keys, rights, "read")
            if not self._root.has(keys.index):
                raise absent(name)
            plain.append(keys.name)
        if patterns and len(plain) == len(patterns):
            return plain
        meant = [each if "." in each else f"{each}.*" for each in patterns]
        return [
            joined(database, table)
            for database in self._root.databases()
            for table in self._root.tables(database)
            if rights.reads(database, table)
            and (not patterns or any(is_meant(each, database, table) for each in meant))
        ]

    def _listed(
        self, request: Request, handles: Mapping[str, TableHandle], known: Mapping[str, int]
    ) -> Response:
        listed: list[dict[str, object]] = []
        versions, is_complete = dict(known), True
        for name, handle in handles.items():
            changes, is_whole = changes_after(handle, known.get(name, 0))
            is_complete &= is_whole
            listed += [{"table": name, **each} for each in changes]
            versions[name] = changes[-1]["version"] if changes else version_of(handle)  # type: ignore[assignment]
        listed.sort(key=lambda each: str(each["at"]))
        return self._answer(request, listed, versions, is_complete=is_complete)

    def _answer(
        self,
        request: Request,
        changes: list[dict[str, object]],
        versions: Mapping[str, int],
        *,
        is_complete: bool,
    ) -> Response:
        after = _text(versions)
        link = request.url.include_query_params(after=after)
        return _json(
            {
                "changes": changes,
                "after": after,
                "complete": is_complete,
                "next": f"{link.path}?{link.query}",
            }
        )


class _Deadline:
    """The moment until which a request waits."""

    def __init__(self, seconds: float) -> None:
        import time

        self._now = time.monotonic
        self._until = self._now() + seconds

    @property
    def rest(self) -> float:
        """Seconds that are left."""
        return self._until - self._now()


def _text(versions: Mapping[str, int]) -> str:
    data = zlib.compress(msgspec.json.encode(dict(versions)), 9)
    return "~" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def _known(text: str) -> dict[str, int]:
    """Read the member `after` of an answer."""
    flaw = UsageError(f"after: {text[:40]!r} is of no answer", hint="`after` of the answer before")
    try:
        packed = base64.urlsafe_b64decode(text[1:] + "=" * (-len(text[1:]) % 4))
        inflater = zlib.decompressobj()
        data = inflater.decompress(packed, _MOST_CURSOR_BYTES)
        if text[:1] != "~" or not inflater.eof:
            raise flaw
        return msgspec.json.decode(data, type=dict[str, int])
    except (binascii.Error, ValueError, zlib.error, msgspec.DecodeError):
        raise flaw from None


def _json(members: dict[str, object]) -> Response:
    return Response(msgspec.json.encode(members), 200, _NO_STORE, "application/json")
