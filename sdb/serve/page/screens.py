"""The HTML of screens: frames with names and rights, which scripts fill; the log-in; refusals."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from urllib.parse import quote

from starlette.responses import Response

from sdb.records import record
from sdb.serve.conditional import is_known
from sdb.view.document import document, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from sdb.serve.problems import HttpError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_TABLES = "/tables/"
_LINKS = (("tables", "/", "Tables"), ("sql", "/sql", "SQL"), ("docs", "/docs", "API"))
_SCREENS = frozenset(path for _, path, _ in _LINKS)
_STYLES = "".join(
    f'<link rel="stylesheet" href="/static/{name}">\n' for name in ("base.css", "page.css")
)
_ICON = '<link rel="icon" href="/static/icon.svg">\n'
_SCRIPT = '<script type="module" src="/static/main.js"></script>\n'
_TIMEZONE = "Times are in your time zone, with UTC beside."


@record
class Shown:
    """A screen of the page."""

    name: str  # by which scripts know it
    title: str
    table: str = ""  # that it is about, as URLs name it
    body: str = ""  # what the server has made of it


def is_asked(request: Request) -> bool:
    """Return whether a request is that of a browser for a screen."""
    path = request.url.path
    is_screen = path in _SCREENS or path.startswith(_TABLES)
    wanted = request.headers.get("accept", "")
    return is_screen and request.method in {"GET", "HEAD"} and "text/html" in wanted


def sent(request: Request, html: str, status: int = 200) -> Response:
    """Send a page, or say that the browser has it."""
    body = html.encode("utf-8", "replace")
    headers = {
        "content-security-policy": POLICY,
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "vary": "accept, authorization, cookie",
    }
    if status != HTTPStatus.OK:
        return Response(body, status, headers | {"cache-control": "no-store"}, "text/html")
    headers |= {
        "cache-control": "private, no-cache",
        "etag": f'W/"{hashlib.sha256(body).hexdigest()[:32]}"',
    }
    if is_known(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, "text/html")


def frame(screen: Shown, *, token: str, facts: Mapping[str, object], has_tokens: bool) -> str:
    """Write a screen.

    * ``token``: The name of its reader's token.
    * ``facts``: What scripts have to know.
    """
    own = "tables" if screen.table else screen.name
    items = "".join(
        f'<li><a href="{path}"{_current(name == own)}>{title}</a></li>'
        for name, path, title in _LINKS
    )
    leave = (
        f'<form method="post" action="/logout"><span>{text(token)}</span> '
        "<button>Log out</button></form>"
        if has_tokens
        else ""
    )
    content = screen.body or "<noscript><p>This page needs JavaScript.</p></noscript>\n"
    body = (
        '<a class="skip" href="#content">Skip to the content</a>\n'
        '<header><a class="brand" href="/">sdb</a>\n'
        f'<nav aria-label="Screens"><ul>{items}</ul></nav>\n'
        '<button type="button" id="help" aria-label="Keys" title="Keys: ?">?</button>\n'
        f"{leave}</header>\n"
        f'<main id="content" tabindex="-1">\n<h1>{text(screen.title)}</h1>\n{content}</main>\n'
        f"<footer>{_TIMEZONE}</footer>\n"
    )
    said = {"screen": screen.name, "table": screen.table, **facts}
    attributes = f' data-page="{text(json.dumps(said))}"'
    return document(screen.title, body, head=_STYLES + _ICON + _SCRIPT, attributes=attributes)


def _current(is_it: bool) -> str:  # noqa: FBT001
    return ' aria-current="page"' if is_it else ""


def login(after: str, flaw: str = "", *, again: bool = False) -> str:
    """Write the log-in.

    * ``after``: The path that it leads to.
    * ``flaw``: Why it has to be done once more.
    * ``again``: Whether the browser shall ask once more by itself: it sends no cookie when a page
      of somebody else leads here.
    """
    alert = f'<p role="alert" class="problem">{text(flaw)}</p>\n' if flaw else ""
    body = (
        '<main class="login">\n<h1>Log in to sdb</h1>\n'
        f'{alert}<form method="post" action="/login">\n'
        f'<input type="hidden" name="next" value="{text(after)}">\n'
        '<label for="token">Token</label>\n'
        '<input id="token" name="token" type="password" autocomplete="current-password" required '
        "autofocus>\n<button>Log in</button>\n</form>\n"
        '<p class="note">Who runs this server makes tokens: <code>sdb token create</code>. '
        "The browser keeps yours until it is closed, or you log out. "
        "Programs send it as <code>Authorization: Bearer TOKEN</code>.</p>\n</main>\n"
    )
    refresh = '<meta http-equiv="refresh" content="0">\n' if again else ""
    return document("Log in", body, head=refresh + _STYLES + _ICON)


def refusal(request: Request, error: HttpError) -> Response:
    """Answer a browser whose request for a screen does not get in."""
    if error.status == HTTPStatus.UNAUTHORIZED:
        query = request.url.query
        after = quote(request.url.path) + (f"?{query}" if query else "")
        is_led_here = request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}
        is_first = error.message == "a token is needed"
        html = login(after, "" if is_first else error.message, again=is_led_here)
    else:
        hint = f'<p class="note">{text(error.hint)}</p>\n' if error.hint else ""
        body = f'<main class="login">\n<h1>sdb</h1>\n<p class="problem">{text(error.message)}</p>\n'
        html = document("Not there", f"{body}{hint}</main>\n", head=_STYLES + _ICON)
    response = sent(request, html, error.status)
    for name, value in error.headers.items():
        if name.lower() != "cache-control":
            response.headers[name] = value
    return response
