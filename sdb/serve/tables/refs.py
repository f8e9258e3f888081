"""Tags and branches as resources, and what makes old or other versions the newest."""

from __future__ import annotations

from starlette.responses import Response

from sdb import notes
from sdb.errors import NotFoundError
from sdb.serve.conditional import answered, changed, check_match, matched
from sdb.serve.described import body_of
from sdb.serve.problems import HttpError
from sdb.serve.tables.opening import absent, check_right, named, opened, version_tag
from sdb.serve.tables.parameters import MergeBody, PromoteBody, RefBody, RestoreBody, UndoBody
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.refs import NamedVersion, refs
from sdb.table.format.versionref import MAIN
from sdb.table.history import setrefs
from sdb.table.history.merge import merge
from sdb.table.history.restore import restore
from sdb.table.history.undo import undo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request

    from sdb.serve.access import Rights
    from sdb.serve.described import NoMembers
    from sdb.serve.metrics import Metrics
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

_MOST_BYTES = 1 << 20


class RefResources:
    """The resources about tags and branches.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any], metrics: Metrics) -> None:
        self._root, self._in_thread, self._metrics = root, in_thread, metrics

    async def tags(self, request: Request, _: NoMembers) -> Response:
        """List the tags of a table."""
        return await self._listed(request, "tag", "tags")

    async def branches(self, request: Request, _: NoMembers) -> Response:
        """List the branches of a table."""
        return await self._listed(request, "branch", "branches")

    async def tag(self, request: Request, _: NoMembers) -> Response:
        """Show a tag."""
        return await self._shown(request, "tag")

    async def branch(self, request: Request, _: NoMembers) -> Response:
        """Show a branch."""
        return await self._shown(request, "branch")

    async def put_tag(self, request: Request, _: NoMembers) -> Response:
        """Name a version: a new tag is made, and one that is there is moved with If-Match."""
        asked = await body_of(request, RefBody, _MOST_BYTES)
        name = request.path_params["ref"]

        def put() -> tuple[NamedVersion, bool]:
            handle, keys = self._table(request)
            now = _named(handle, "tag", name)
            wanted = handle.at(asked.at) if asked.at else handle
            expects = 0
            if now is not None and now.version != _number(wanted):
                tag = _tag_of(now)
                check_match(request, tag, needed=True)
                expects = now.version or 0
            elif now is None and matched(request):
                raise HttpError(412, f"there is no tag {name[:200]!r}", code="changed")
            if now is not None and request.headers.get("if-none-match", "").strip() == "*":
                raise HttpError(412, f"there is a tag {name[:200]!r}", code="changed")
            made = setrefs.tag(
                self._root, keys.database, keys.table, name, asked.at or MAIN,
                overwrite=now is not None, expects=expects if now is not None else None,
            )  # fmt: skip
            return made, now is None

        return await self._put(request, put)

    async def put_branch(self, request: Request, _: NoMembers) -> Response:
        """Begin a branch; one that is there stays as it is."""
        asked = await body_of(request, RefBody, _MOST_BYTES)
        name = request.path_params["ref"]

        def put() -> tuple[NamedVersion, bool]:
            _, keys = self._table(request)
            made = setrefs.branch(self._root, keys.database, keys.table, name, asked.at or MAIN)
            return made, True

        return await self._put(request, put)

    async def delete_tag(self, request: Request, _: NoMembers) -> Response:
        """Delete a tag that the client has seen."""
        return await self._deleted(request, "tag", setrefs.delete_tag)

    async def delete_branch(self, request: Request, _: NoMembers) -> Response:
        """Delete a branch that the client has seen."""
        return await self._deleted(request, "branch", setrefs.delete_branch)

    async def restore(self, request: Request, _: NoMembers) -> Response:
        """Make the content of an old version new."""
        asked = await body_of(request, RestoreBody, _MOST_BYTES)
        return await self._changed(request, self._restoring(request, asked, asked.at))

    async def promote(self, request: Request, _: NoMembers) -> Response:
        """Make the content of a branch, tag or version that of the branch that is named."""
        asked = await body_of(request, PromoteBody, _MOST_BYTES)
        restored = self._restoring(request, asked, asked.source, f"promote {asked.source}")

        def promoted(keys: TableKeys, branch: str, expects: int | None) -> dict[str, object]:
            done = restored(keys, branch, expects)
            # Versions of a branch are numbered one by one.
            before = int(str(done["version"])) - 1 if done["new"] else done["version"]
            return {**done, "promoted": asked.source, "before": before}

        return await self._changed(request, promoted)

    def _restoring(
        self, request: Request, asked: RestoreBody | PromoteBody, at: str, message: str = ""
    ) -> Callable[[TableKeys, str, int | None], dict[str, object]]:
        """Return what makes the content of a version that of a branch.

        * ``message``: That of the version, where the request has none.
        """
        author = asked.author or request.state.rights.name

        def restored(keys: TableKeys, branch: str, expects: int | None) -> dict[str, object]:
            return restore(
                self._root,
                keys,
                at,
                branch=branch,
                author=author,
                message=asked.message or message,
                expects=expects,
            ).as_dict()

        return restored

    async def undo(self, request: Request, _: NoMembers) -> Response:
        """Take the last change of a branch back, by a new version."""
        asked = await body_of(request, UndoBody, _MOST_BYTES)
        rights: Rights = request.state.rights

        def undone(keys: TableKeys, branch: str, expects: int | None) -> dict[str, object]:
            done = undo(
                self._root,
                keys.database,
                keys.table,
                branch=branch,
                author=asked.author or rights.name,
                message=asked.message,
                expects=expects,
            )
            restored = {} if done.restored is None else done.restored.as_dict()
            return {**restored, "undone": done.change.version}

        return await self._changed(request, undone)

    async def merge(self, request: Request, _: NoMembers) -> Response:
        """Merge a branch into the one that the request names."""
        asked = await body_of(request, MergeBody, _MOST_BYTES)
        rights: Rights = request.state.rights

        def merged(keys: TableKeys, branch: str, expects: int | None) -> dict[str, object]:
            return merge(
                self._root,
                keys.database,
                keys.table,
                asked.source,
                into=branch,
                strategy=asked.strategy,
                only=asked.only,
                author=asked.author or rights.name,
                message=asked.message,
                expects=expects,
            ).as_dict()

        return await self._changed(request, merged)

    async def _listed(self, request: Request, kind: str, members: str) -> Response:
        def read() -> dict[str, object]:
            handle, _ = self._table(request, "read")
            listed = [each.as_dict() for each in refs(handle) if each.kind == kind]
            return {"table": handle.name, members: listed}

        return answered(request, await self._in_thread(read))

    async def _shown(self, request: Request, kind: str) -> Response:
        name = request.path_params["ref"]

        def shown() -> NamedVersion:
            handle, _ = self._table(request, "read")
            ref = _named(handle, kind, name)
            if ref is None:
                raise NotFoundError(f"{handle.name} has no {kind} {name[:200]!r}")
            return ref

        ref = await self._in_thread(shown)
        return answered(request, ref.as_dict(), _tag_of(ref))

    async def _put(
        self, request: Request, put: Callable[[], tuple[NamedVersion, bool]]
    ) -> Response:
        def noted() -> tuple[NamedVersion, bool, list[str]]:
            with notes.collected() as warnings:
                return (*put(), warnings)

        made, is_new, warnings = await self._in_thread(noted)
        members = made.as_dict() | {"new": is_new}
        tag, status = {"etag": _tag_of(made)}, 201 if is_new else 200
        return changed(request, members, warnings, status=status, headers=tag)

    async def _deleted(self, request: Request, kind: str, delete: Callable[..., None]) -> Response:
        name = request.path_params["ref"]

        def deleted() -> None:
            handle, keys = self._table(request)
            now = _named(handle, kind, name)
            if now is None and name != MAIN:
                raise NotFoundError(f"{handle.name} has no {kind} {name[:200]!r}")
            is_any = now is None or check_match(request, _tag_of(now), needed=True)
            expects = None if is_any or now is None else now.version
            delete(self._root, keys.database, keys.table, name, expects=expects)

        await self._in_thread(deleted)
        return Response(status_code=204, headers={"cache-control": "no-store"})

    async def _changed(
        self,
        request: Request,
        change: Callable[[TableKeys, str, int | None], dict[str, object]],
    ) -> Response:
        """Make a new version of a branch that the client has seen."""
        keys, at = named(request.path_params["name"])
        branch = at or MAIN

        def done() -> tuple[dict[str, object], list[str]]:
            check_right(keys, request.state.rights, "write")
            head = find_table(self._root, keys.database, keys.table)
            if head is None:
                raise absent(keys.name)
            target = find_table(self._root, keys.database, keys.table, branch=branch)
            if target is None:
                raise NotFoundError(f"{head.name} has no branch {branch[:200]!r}")
            is_any = check_match(request, version_tag(target), needed=True)
            expects = None if is_any else _number(target)
            with notes.collected() as warnings:
                return change(keys, branch, expects), warnings

        members, warnings = await self._in_thread(done)
        if members["new"]:
            self._metrics.commits.inc()
        return changed(request, {"table": request.path_params["name"], **members}, warnings)

    def _table(self, request: Request, verb: str = "write") -> tuple[TableHandle, TableKeys]:
        """Open the table whose names are meant: those of main."""
        name = request.path_params["name"]
        keys, at = named(name)
        handle = opened(self._root, keys.name, request.state.rights, verb)
        if at:
            raise NotFoundError(
                f"{name[:200]} is a version, and only tables have tags and branches",
                hint=f"/v1/tables/{handle.name} has them",
            )
        return handle, keys


def _named(handle: TableHandle, kind: str, name: str) -> NamedVersion | None:
    """Return a tag or branch; None: the table has no such one."""
    return next((each for each in refs(handle) if (each.kind, each.name) == (kind, name)), None)


def _tag_of(ref: NamedVersion) -> str:
    return f'"{ref.version or 0}"'


def _number(handle: TableHandle) -> int:
    return 0 if handle.state is None else handle.state.version
