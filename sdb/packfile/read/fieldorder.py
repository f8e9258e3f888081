"""The order of fields: that of rows is that of symbols, and trailers know that of the inputs."""

from __future__ import annotations

from sdb.errors import CorruptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.trailer import Trailer


def arranged(names: Sequence[str], trailers: Iterable[Trailer]) -> list[str]:
    """Return names of fields at the top of rows in the order in which the inputs first had them.

    * ``trailers``: What is known of the rows; what they do not know comes last, as it is given.
    """
    ranks: dict[str, int] = {}
    for trailer in trailers:
        if all(name in ranks for name in names):
            break
        try:
            presence = trailer.sparse.presence()
        except CorruptError:
            continue  # the rows are as good without
        for name in trailer.sparse.constants:
            ranks.setdefault(name, len(ranks))
        for path in presence.fields if presence is not None else ():
            if len(path) == 1 and path[0] is not None:
                ranks.setdefault(path[0], len(ranks))
    return sorted(names, key=lambda name: ranks.get(name, len(ranks)))
