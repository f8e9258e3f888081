"""Identities of rows of a table, by names that packfiles have in copies and forks, too."""

from __future__ import annotations

from sdb.packfile.trailer.identities import RowIdentities, joined
from sdb.records import replace
from sdb.table.format.keys import folder_of, original_key, own_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.packfile.trailer.trailer import Trailer


def name_of(key: str) -> str:
    """Return the name by which rows tell the packfile that they came in with.

    Copies of a packfile have it, too.

    >>> name_of("db/web/gha/data/2026/X.zion")
    'data/2026/X.zion'
    """
    key = original_key(own_key(key))
    return key.removeprefix(f"{folder_of(key)}/")


def identities_of(key: str, trailer: Trailer) -> RowIdentities | None:
    """Return the identities of the rows of a packfile; None: it does not say how many it has.

    Raises `CorruptError` if they are malformed.
    """
    own = trailer.sparse.identities()
    rows = trailer.rows
    if own is not None or rows is None:
        return own
    return RowIdentities.whole(name_of(key), rows)


def with_edited(
    trailer: Trailer, key: str, old: Trailer, changes: RowChanges, mark: str
) -> Trailer:
    """Return the trailer of a packfile that was rewritten, with the identities of its rows.

    * ``key, old``: The packfile as it was.
    * ``mark``: The name of the change.
    """
    known = identities_of(key, old)
    if known is None:
        return trailer
    return _with(trailer, known.edited(changes.dropped, changes.changed, mark))


def with_joined(trailer: Trailer, parts: Iterable[tuple[str, Trailer]]) -> Trailer:
    """Return the trailer of a packfile that was joined, with the identities of its rows.

    * ``parts``: The packfiles that it was made of, in their order.
    """
    known = [identities_of(key, part) for key, part in parts if part.blocks]
    if not known or any(identity is None for identity in known):
        return trailer
    return _with(trailer, joined([identity for identity in known if identity is not None]))


def _with(trailer: Trailer, identities: RowIdentities) -> Trailer:
    if trailer.rows != identities.rows:
        return trailer
    sparse = replace(trailer.sparse, stored_identities=identities.encode())
    return replace(trailer, sparse=sparse)
