"""Paths of the page: screens, files, log-in and log-out."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sdb.errors import NotFoundError, SdbError
from sdb.serve.bodies import bounded
from sdb.serve.page.screens import Shown, frame, is_asked, login, sent
from sdb.serve.page.static import static
from sdb.serve.problems import HttpError
from sdb.serve.process.credentials import forget, keep
from sdb.serve.tables.opening import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from sdb.serve.access import Rights
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tokens import TokenRights

_MOST_BYTES = 64 << 10
_STRANGE = ("//", "/\\")


def page_routes(settings: ServerSettings, rights: TokenRights) -> list[Route]:
    """Return the routes of the page."""
    page = Page(settings, rights)
    return [
        Route("/", page.tables, methods=["GET"]),
        Route("/tables/{name}", page.table, methods=["GET"]),
        Route("/tables/{name}/versions", page.versions, methods=["GET"]),
        Route("/tables/{name}/layout", page.layout, methods=["GET"]),
        Route("/sql", page.sql, methods=["GET"]),
        Route("/docs", page.docs, methods=["GET"]),
        Route("/login", page.asked_to_log_in, methods=["GET"]),
        Route("/login", page.log_in, methods=["POST"]),
        Route("/logout", page.log_out, methods=["POST"]),
        Route("/static/{name}", static, methods=["GET"]),
    ]


class Page:
    """The screens."""

    def __init__(self, settings: ServerSettings, rights: TokenRights) -> None:
        self._settings, self._rights = settings, rights

    async def tables(self, request: Request) -> Response:
        """Show the tables."""
        return self._screen(request, Shown("tables", "Tables"))

    async def table(self, request: Request) -> Response:
        """Show a table."""
        name = request.path_params["name"]
        return self._screen(request, Shown("table", name, name))

    async def versions(self, request: Request) -> Response:
        """Show the versions of a table."""
        name = request.path_params["name"]
        return self._screen(request, Shown("versions", name, name))

    async def layout(self, request: Request) -> Response:
        """Show the packfiles of a table."""
        name = request.path_params["name"]
        return self._screen(request, Shown("layout", name, name))

    async def sql(self, request: Request) -> Response:
        """Show the editor of queries."""
        return self._screen(request, Shown("sql", "SQL"))

    async def docs(self, request: Request) -> Response:
        """Show what may be asked of the service."""
        from sdb.serve.page.reference import reference

        return self._screen(request, Shown("docs", "Requests", body=reference()))

    def _screen(self, request: Request, screen: Shown) -> Response:
        if not is_asked(request):  # a program: it has nothing to look at
            raise HttpError(404, "Not Found", code="not_found")
        rights: Rights = request.state.rights
        may_write = False
        if screen.table:
            with suppress(NotFoundError):  # no table can have the name: the script hears of it
                keys, _ = named(screen.table)
                may_write = rights.may("write", keys.database, keys.table)
        facts = {"may_write": may_write}
        has_tokens = self._settings.tokens is not None
        return sent(request, frame(screen, token=rights.name, facts=facts, has_tokens=has_tokens))

    async def asked_to_log_in(self, request: Request) -> Response:
        """Show the log-in, where there are tokens."""
        after = _path(request.query_params.get("next", "/"))
        if self._settings.tokens is None:
            return RedirectResponse(after, 303)
        return sent(request, login(after))

    async def log_in(self, request: Request) -> Response:
        """Give the browser a cookie with the token that its reader has."""
        fields = parse_qs((await bounded(request, _MOST_BYTES)).decode("utf-8", "replace"))
        secret = fields.get("token", [""])[0].strip()
        after = _path(fields.get("next", ["/"])[0])
        try:
            is_known = secret.isascii() and self._rights.of(secret) is not None
        except SdbError:
            raise HttpError(503, "the tokens cannot be read", code="tokens") from None
        if not is_known:
            return sent(request, login(after, "the token is unknown, or was revoked"), 401)
        response = RedirectResponse(after, 303, {"cache-control": "no-store"})
        if self._settings.tokens is not None:
            keep(response, request, secret)
        return response

    async def log_out(self, _request: Request) -> Response:
        """Take the cookie back."""
        response = RedirectResponse("/login", 303, {"cache-control": "no-store"})
        forget(response)
        return response


def _path(text: str) -> str:
    """Return a path of this server; the start for any other text."""
    return text if text.startswith("/") and not text.startswith(_STRANGE) else "/"
