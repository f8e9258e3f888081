"""Facts of the blocks of small packfiles, which have no statistics: they are counted from the rows.

Nobody asks a small packfile for them. They are needed once it has become a part of another one, and
are what a packer says of the same rows.
"""

from __future__ import annotations

from sdb import _core
from sdb.errors import CorruptError
from sdb.packfile.build.newstats import (
    NOTHING,
    facts_of,
    is_small,
    join_facts,
    packed_facts,
)
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.write.pack import Feeder, packer_like
from sdb.progress import silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer

_MOST_TEXT_BYTES = 64 << 20
_QUICK = 1


def all_facts(pack: Packfile) -> list[BlockFacts]:
    """Return the facts of each block of a packfile that becomes a part of another one."""
    if not lacks_statistics(pack.trailer):
        return facts_of(pack.trailer.sparse)
    return [counted(pack, number) for number in range(len(pack.trailer.blocks))]


def lacks_statistics(trailer: Trailer) -> bool:
    """Check whether a packfile has no statistics because it is too small for them."""
    return trailer.sparse.stored_statistics is None and is_small(
        len(trailer.blocks), trailer.offset
    )


def counted(pack: Packfile, number: int) -> BlockFacts:
    """Count the facts of a block; nothing where it is damaged, which others find."""
    trailer = pack.trailer
    chunks = trailer.blocks[number].chunks
    if chunks * trailer.align_bytes > _MOST_TEXT_BYTES:
        return NOTHING
    packer = packer_like(trailer, level=_QUICK, threads=1)
    try:
        block = pack.read_block(number)
        source = Input(pack.path, "ion", source=lambda: ion_text(trailer, [(block, chunks)]))
        with packer:
            Feeder(packer, lambda _: None, None).feed_all([source], silent)
            return join_facts([run.facts for run in packed_facts(packer)])
    except CorruptError:
        return NOTHING


def ion_text(trailer: Trailer, blocks: Iterable[tuple[bytes, int]]) -> Generator[bytes]:
    """Return the rows of blocks, each with its number of chunks, as a stream of Ion."""
    unpacker = _core.Unpacker(trailer.algorithm, trailer.align_bytes, threads=1, format="ion")
    for block, chunks in blocks:
        unpacker.feed(block, chunks)
        yield from unpacker.take()
    while text := unpacker.take(wait=True):
        yield from text
