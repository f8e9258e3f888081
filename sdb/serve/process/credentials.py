"""Tokens that requests bring: in the header Authorization, or in the cookie of the page."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

COOKIE = "sdb-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})
_OWN_SITES = frozenset({None, "same-origin", "none"})  # none: the reader has typed the address


def credentials_of(request: Request) -> tuple[str, bool]:
    """Return the token of a request, and whether it is that of the cookie.

    Returns: An empty text if it has none that counts.
    """
    header = request.headers.get("authorization")
    if header is not None:
        return secret_of(header), False
    secret = request.cookies.get(COOKIE, "") if _is_of_the_page(request) else ""
    return secret, bool(secret)


def secret_of(header: str) -> str:
    """Return the token of a header Authorization: Bearer, or the password of Basic."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def is_own(request: Request, origin: str) -> bool:
    """Return whether an origin is that of this server, as the client names it."""
    return urlsplit(origin).netloc == request.headers.get("host")


def _is_of_the_page(request: Request) -> bool:
    """Return whether a request is made by the page itself, or typed by its reader.

    Browsers send the cookie with requests of pages on other ports of the same machine, too.
    """
    if request.headers.get("sec-fetch-site") not in _OWN_SITES:
        return False
    origin = request.headers.get("origin")
    return request.method in SAFE_METHODS if origin is None else is_own(request, origin)


def keep(response: Response, request: Request, secret: str) -> None:
    """Hand the token to the browser, which keeps it until it is closed."""
    # A server behind a proxy does not see TLS, but the browser names the scheme.
    is_secure = request.headers.get("origin", "").startswith("https:")
    response.set_cookie(COOKIE, secret, secure=is_secure, httponly=True, samesite="strict")


def forget(response: Response) -> None:
    """Take the token from the browser, and what it has kept of answers."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    response.headers["clear-site-data"] = '"cache"'
