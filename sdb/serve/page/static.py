"""Style sheets and scripts of the page: files of the package, read once."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.responses import Response

from sdb.records import record
from sdb.serve.conditional import is_known
from sdb.serve.problems import HttpError
from sdb.view.style import CSS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

_PREFIX = "/static/"
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@record
class StaticFile:
    """A file of the page."""

    body: bytes
    etag: str
    media_type: str


def is_static(path: str) -> bool:
    """Return whether a path is that of a file of the page, which anybody may read."""
    return path.startswith(_PREFIX)


@cache
def static_files() -> dict[str, StaticFile]:
    """Return the files by name."""
    bodies = {"base.css": CSS.encode()}
    for each in files("sdb.serve.page").joinpath("static").iterdir():
        if each.name.rpartition(".")[2] in _TYPES:
            bodies[each.name] = each.read_bytes()
    return {name: _file(name, body) for name, body in bodies.items()}


def _file(name: str, body: bytes) -> StaticFile:
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return StaticFile(body, etag, _TYPES[name.rpartition(".")[2]])


async def static(request: Request) -> Response:
    """Send a file of the page."""
    file = static_files().get(request.path_params["name"])
    if file is None:
        raise HttpError(404, "the page has no such file", code="not_found")
    headers = {"etag": file.etag, "cache-control": "no-cache"}
    if is_known(request, file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.body, 200, headers, file.media_type)
