"""Views as resources: listed, and read with their versions.

The query of a view names tables that its readers need not know: it is shown to those alone who may
change the view, and read these tables.
"""

from __future__ import annotations

from sdb.errors import NotFoundError, QueryError
from sdb.query.syntax import visitor
from sdb.query.syntax.parser import parse
from sdb.serve.conditional import answered
from sdb.serve.tables.opening import named
from sdb.serve.tables.writes import named_tables
from sdb.table.catalog.views import find_view, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.described import NoMembers
    from sdb.serve.tables import parameters
    from sdb.table.catalog.root import TableRoot
    from sdb.table.catalog.views import View
    from sdb.table.format.view import ViewVersion


class ViewResources:
    """The resources about views.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any]) -> None:
        self._root = root
        self._in_thread = in_thread

    async def views(self, request: Request, asked: parameters.ViewsParams) -> Response:
        """List the views that the token may read."""
        rights: Rights = request.state.rights
        wanted = asked.q.lower()

        def listed() -> dict[str, object]:
            shown = [
                {"name": view.name, **_shown(view, view.newest, rights)}
                for view in views(self._root, visible=rights.reads)
                if wanted in view.name.lower()
            ]
            return {"views": shown}

        return answered(request, await self._in_thread(listed))

    async def view(self, request: Request, _asked: NoMembers) -> Response:
        """Describe a view, with its versions."""
        rights: Rights = request.state.rights
        keys, at = named(request.path_params["name"])

        def described() -> dict[str, object]:
            view = find_view(self._root, keys.database, keys.table)
            if view is None or not rights.reads(keys.database, keys.table):
                text = keys.name
                hint = "GET /v1/views lists them"
                raise NotFoundError(f"there is no view {text[:200]}", hint=hint)
            version = view.at(at)[0] if at else view.newest
            older = [_shown(view, each, rights) for each in reversed(view.versions)]
            return {"name": view.name, **_shown(view, version, rights), "versions": older}

        return answered(request, await self._in_thread(described))


def _shown(view: View, version: ViewVersion, rights: Rights) -> dict[str, object]:
    facts = version.as_dict()
    if not (rights.may("write", view.database, view.view) and _reads_all(version, rights)):
        del facts["text"]
    return facts


def _reads_all(version: ViewVersion, rights: Rights) -> bool:
    """Return whether all may be read that the text of a view names."""
    if not version.text:  # of a version that drops the view
        return True
    try:
        nodes = list(visitor.nodes(parse(version.text)))
    except QueryError:
        return rights.is_admin
    named = (name.parts[:2] for name in named_tables(nodes) if len(name.parts) > 1)
    return all(rights.reads(*parts) for parts in named)
