"""Inputs that a packfile has taken before: the same name, size and content."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.inputs.arguments import ROWS
from sdb.packfile.inputs.streams import content_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.trailer.trailer import Trailer


def repeated(sources: Sequence[Input], trailer: Trailer) -> list[Input]:
    """Find the inputs that a packfile has the rows of.

    Parameters
    ----------
    sources : sequence of Input
        The inputs. Only those of a known name and size are read.
    trailer : Trailer
        The trailer of the packfile.

    Returns
    -------
    list of Input
        Those whose name, size and digest are in the trailer.
    """
    try:
        provenance = trailer.sparse.provenance()
    except CorruptError:
        return []
    if provenance is None:
        return []
    known = {(one.name, one.size_bytes, one.digest) for one in provenance.origins if one.digest}
    sizes: dict[str, set[int]] = {}
    for name, size, _ in known:
        sizes.setdefault(name, set()).add(size)
    return [
        source
        for source in sources
        if source.name in sizes and source.name != ROWS
        if _identity(source, sizes[source.name]) in known
    ]


def _identity(source: Input, sizes: set[int]) -> tuple[str, int, bytes]:
    """Give name, size and digest; no digest where the size tells already."""
    if source.stored is not None:
        return (source.name, *source.stored())
    if source.size_bytes is not None and source.size_bytes not in sizes:
        return source.name, source.size_bytes, b""
    size, digest = content_digest(source.pieces())
    return source.name, size, digest
