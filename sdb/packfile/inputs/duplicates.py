"""Inputs that a packfile has taken before: the same name, size and content."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.inputs.rowvalues import ROWS
from sdb.packfile.inputs.streams import content_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.trailer.trailer import Trailer


def repeated(sources: Sequence[Input], trailer: Trailer) -> list[Input]:
    """Find the inputs that a packfile has the rows of.

    * ``sources``: The inputs. Only those of a known name and size are read.
    """
    try:
        provenance = trailer.sparse.provenance()
    except CorruptError:
        return []
    if provenance is None:
        return []
    identities = {
        (origin.name, origin.size_bytes, origin.digest)
        for origin in provenance.origins
        if origin.digest
    }
    sizes: dict[str, set[int]] = {}
    for name, size, _ in identities:
        sizes.setdefault(name, set()).add(size)
    return [
        source
        for source in sources
        if source.name in sizes and source.name != ROWS
        if _identity(source, sizes[source.name]) in identities
    ]


def _identity(source: Input, sizes: set[int]) -> tuple[str, int, bytes]:
    """Return name, size and digest; no digest where the size decides already."""
    if source.stored is not None:
        return (source.name, *source.stored())
    if source.size_bytes is not None and source.size_bytes not in sizes:
        return source.name, source.size_bytes, b""
    size, digest = content_digest(source.pieces())
    return source.name, size, digest
