"""Fields that take most of a packfile, from a few of its chunks."""

from __future__ import annotations

from sdb import errors, notes
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.packfile.read.blocks import BlockReader

MOST_CHUNKS = 8
"""How many chunks are decoded, of all files together."""

_MOST_BYTES = 8 << 20
_MOST_FIELDS = 10


@record
class LargestFields:
    """The fields at the top of rows that take most of a packfile, the largest first.

    Attributes
    ----------
    fields : tuple of (str, int)
        The name of each as it is written, and its share of the compressed bytes, by its bytes
        before compression: what is compressed together has no sizes of its own.
    compressed_bytes : int
        Size of all blocks.
    blocks_read : int
        Number of blocks of which the first chunk was read.
    is_exact : bool
        Whether these chunks are the whole packfile; else the shares are estimates.
    """

    fields: tuple[tuple[str, int], ...]
    compressed_bytes: int
    blocks_read: int
    is_exact: bool


def largest_fields(pack: BlockReader, *, most_chunks: int = MOST_CHUNKS) -> LargestFields | None:
    """Estimate which fields take most, from the first chunks of blocks all over a local packfile.

    * ``pack``: The packfile. Of its blocks nothing else is read.

    Returns: The fields; None where that cannot be measured: the packfile is not local, has no rows,
    chunks that are too large, or is damaged, which notes say.
    """
    count = len(pack.blocks)
    if pack.reader.descriptor is None or not count or not most_chunks:
        return None
    try:
        return _read(pack, min(count, most_chunks, _MOST_BYTES // pack.trailer.align_bytes))
    except errors.SdbError as error:
        notes.tell(f"the largest fields are left out: {error.message}")
        return None


def _read(pack: BlockReader, number: int) -> LargestFields | None:
    from sdb import _core

    if not number:
        raise errors.UnsupportedError(f"{pack.path} has chunks of more than 8 MiB")
    trailer, count = pack.trailer, len(pack.blocks)
    chunks = [block.chunks for block in pack.blocks]
    profile = _core.FieldProfile()
    read: Any = pack.place_block
    profile.sample(
        (read, chunks, trailer.algorithm, trailer.align_bytes, pack.blame),
        [at * count // number for at in range(number)],
    )
    if not profile.rows:
        return None
    if profile.left_out[0]:
        raise errors.UnsupportedError(f"{pack.path} has rows of too many fields")
    size = sum(stop - start for start, stop in map(trailer.block_range, range(count)))
    scale = size / profile.compressed_bytes
    fields = [
        (field_name(field["path"]), round(field["compressed_bytes"] * scale))
        for field in profile.fields(0)
    ]
    fields.sort(key=lambda named: -named[1])
    is_exact = number == count and max(chunks) == 1
    return LargestFields(tuple(fields[:_MOST_FIELDS]), size, number, is_exact)
