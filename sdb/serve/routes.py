"""Routes from the descriptions of operations: each path is one route, with all of its methods."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response
from starlette.routing import Route

from sdb.serve.described import params_of
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.requests import Request

    from sdb.serve.described import Operation

    Handler = Callable[..., Awaitable[Response]]


def routes(operations: Iterable[Operation], *owners: object) -> list[Route]:
    """Return the routes of operations.

    * ``owners``: Objects whose methods, by the names of operations, handle them. A handler takes
      the request, and the members of its URL if the operation describes them.
    """
    by_path: dict[str, dict[str, tuple[Operation, Handler]]] = {}
    for operation in operations:
        methods = by_path.setdefault(operation.path, {})
        methods[operation.method] = operation, _handler(operation.name, owners)
    return [_route(path, methods) for path, methods in by_path.items()]


def _handler(name: str, owners: tuple[object, ...]) -> Handler:
    for owner in owners:
        handler = getattr(owner, name, None)
        if handler is not None:
            return cast("Handler", handler)
    raise LookupError(name)


def _route(path: str, methods: dict[str, tuple[Operation, Handler]]) -> Route:
    allowed = sorted({*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set()))
    headers = {"allow": ", ".join(allowed)}

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return Response(status_code=204, headers=headers)
        if method not in methods:
            raise HttpError(
                405,
                f"{request.url.path[:200]} has no method {request.method[:20]}",
                code="method_not_allowed",
                hint=f"there are {headers['allow']}",
                headers=headers,
            )
        operation, handler = methods[method]
        if operation.params is None:
            return await handler(request)
        return await handler(request, params_of(request, operation.params))

    # A query may have slashes.
    route = Route(path.replace("{query}", "{query:path}"), endpoint, name=path)
    route.methods = None  # all of them: the endpoint says which there are
    return route
