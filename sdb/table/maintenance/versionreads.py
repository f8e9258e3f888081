"""Small objects of a table, read before they are asked for where each takes a request."""

from __future__ import annotations

from sdb.packfile.read.ahead import ReadAhead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sdb.table.catalog.root import TableRoot

_LIKELY_BYTES = 1 << 20


def fetched_ahead(
    root: TableRoot,
    expected: Iterable[tuple[str, str]],
    *,
    may_stop: bool = False,
    ahead: bool = True,
) -> Callable[[str, str], bytes]:
    """Return what fetches objects, as a root does.

    * ``expected``: Keys and ETags of those that will be asked for, in this order.
    * ``may_stop``: Whether a few of them may be enough.
    * ``ahead``: Whether there may be several requests at once.
    """
    if not (ahead and root.store.is_remote):
        return root.fetch
    objects = list(dict.fromkeys(expected))
    positions = {name: position for position, name in enumerate(objects)}
    read = ReadAhead(
        lambda name: root.fetch(*name), objects, lambda _: _LIKELY_BYTES, may_stop=may_stop
    )

    def fetch(key: str, etag: str) -> bytes:
        position = positions.get((key, etag))
        return root.fetch(key, etag) if position is None else read(position)

    return fetch
