"""Databases as resources: their tables, and whose they are."""

from __future__ import annotations

import hashlib
import json

from sdb.errors import NotFoundError, SdbError
from sdb.serve.conditional import answered, changed, check_match
from sdb.serve.described import body_of
from sdb.serve.problems import HttpError
from sdb.serve.tables.parameters import DatabaseBody
from sdb.table.catalog.databases import DatabaseFacts, put_facts, read_facts
from sdb.table.format.keys import flaw_of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.described import NoMembers
    from sdb.table.catalog.root import TableRoot

_MOST_BYTES = 1 << 20
_ANY = "*"
"""A table of any name: a right to it is one to the database."""


class DatabaseResources:
    """The resources about databases.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any]) -> None:
        self._root, self._in_thread = root, in_thread

    async def databases(self, request: Request, _: NoMembers) -> Response:
        """List the databases with tables that the token may read."""
        rights: Rights = request.state.rights

        def listed() -> dict[str, object]:
            shown = [self._shown(database, rights) for database in self._root.databases()]
            return {"databases": [members for members in shown if members]}

        return answered(request, await self._in_thread(listed))

    async def database(self, request: Request, _: NoMembers) -> Response:
        """Show a database."""
        name, rights = request.path_params["database"], request.state.rights

        def shown() -> tuple[dict[str, object], str]:
            members = {} if flaw_of_name(name) else self._shown(name, rights)
            if not members:
                raise _absent(name)
            return members, _tag(read_facts(self._root, name)[0])

        return answered(request, *await self._in_thread(shown))

    async def put_database(self, request: Request, _: NoMembers) -> Response:
        """Say whose a database is; it comes with that, if it was not there."""
        asked = await body_of(request, DatabaseBody, _MOST_BYTES)
        name, rights = request.path_params["database"], request.state.rights

        def put() -> tuple[dict[str, object], bool, str]:
            if flaw_of_name(name) or not rights.may("write", name, _ANY):
                may_know = not flaw_of_name(name) and self._shown(name, rights)
                what = f"the token may not change the database {name[:200]}"
                raise HttpError(403, what, code="forbidden") if may_know else _absent(name)
            request.app.state.service.root_check.room()
            before, reader = read_facts(self._root, name)
            # What nobody has said yet needs no condition.
            check_match(request, _tag(before), needed=reader is not None)
            facts = DatabaseFacts(asked.owner, asked.steward, asked.description)
            if reader is None or facts != before:
                put_facts(self._root, name, facts, reader)
            members = {"name": name, **facts.as_dict(), "new": reader is None or facts != before}
            return members, reader is None, _tag(facts)

        members, is_new, tag = await self._in_thread(put)
        status = 201 if is_new else 200
        return changed(request, members, [], status=status, headers={"etag": tag})

    def _shown(self, database: str, rights: Rights) -> dict[str, object]:
        """Return what a token may know of a database; nothing of one that it may not know."""
        tables = [table for table in self._root.tables(database) if rights.reads(database, table)]
        if not tables and not rights.reads(database, _ANY):
            return {}
        try:
            facts, reader = read_facts(self._root, database)
        except SdbError as error:
            return {"name": database, "tables": len(tables), "error": error.message}
        if not tables and reader is None:
            return {}
        return {"name": database, "tables": len(tables), **facts.as_dict()}


def _tag(facts: DatabaseFacts) -> str:
    text = json.dumps(facts.as_dict(), sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'


def _absent(name: str) -> NotFoundError:
    hint = "GET /v1/databases lists them"
    return NotFoundError(f"there is no database {name[:200]}", hint=hint)
