"""Pages of long lists: an answer has a link to the next one, of the same version."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import quote, urlencode

import msgspec

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from sdb.table.catalog.handle import TableHandle


class PageCursor(msgspec.Struct, array_like=True):
    """Where a page begins."""

    after: str | int  # what the page before ended with
    version: int | None = None  # that the pages are of; None: the list has none


def cursor_of(page: str) -> PageCursor | None:
    """Read the member `page` of a URL; None: it is the first page.

    Raises `UsageError` if no answer has had it.
    """
    if not page:
        return None
    try:
        data = base64.urlsafe_b64decode(page + "=" * (-len(page) % 4))
        return msgspec.json.decode(data, type=PageCursor)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        hint = "`next` of an answer is the whole link"
        raise UsageError(f"page: {page[:40]!r} is of no answer", hint=hint) from None


def start_of(cursor: PageCursor | None) -> int:
    """Return the number of the first item of a page.

    Raises `UsageError` if the cursor is that of another list.
    """
    if cursor is None:
        return 0
    if not isinstance(cursor.after, int) or cursor.after < 0:
        raise UsageError("page: it is of another list")
    return cursor.after


def name_of(cursor: PageCursor | None) -> str:
    """Return the name behind which a page begins; empty: with the first.

    Raises `UsageError` if the cursor is that of another list.
    """
    if cursor is None:
        return ""
    if not isinstance(cursor.after, str):
        raise UsageError("page: it is of another list")
    return cursor.after


def pinned(handle: TableHandle, cursor: PageCursor | None) -> TableHandle:
    """Return the version that the first page was of."""
    if cursor is None or cursor.version is None:
        return handle
    return handle.at(cursor.version)


def next_link(request: Request, after: str | int, handle: TableHandle | None = None) -> str:
    """Return the link to the next page.

    * ``handle``: The version that the pages are of, if the list is of one.
    """
    state = None if handle is None else handle.state
    data = msgspec.json.encode(PageCursor(after, None if state is None else state.version))
    members = [each for each in request.query_params.multi_items() if each[0] != "page"]
    members.append(("page", base64.urlsafe_b64encode(data).decode().rstrip("=")))
    return f"{quote(request.url.path, safe='/@')}?{urlencode(members)}"
