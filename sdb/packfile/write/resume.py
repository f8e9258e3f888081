"""Continue a packfile: decide which part of it stays, and make the trailer of both together."""

from __future__ import annotations

from functools import partial

from sdb import levels
from sdb.errors import CorruptError, UnsupportedError, UsageError, text_of
from sdb.packfile.build.choose import with_statistics
from sdb.packfile.build.indexbuilder import PackedParts, build_index, typed
from sdb.packfile.build.retained import RetainedPrefix
from sdb.packfile.read.blocks import check
from sdb.packfile.read.reader import Packfile
from sdb.packfile.trailer.trailer import Trailer
from sdb.packfile.write.countstats import all_facts
from sdb.packfile.write.pack import packer_like, provenance_of, shift_of, sizes_of_chunks
from sdb.records import record, replace
from sdb.store.base import CLOSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from sdb._core import Packer, RejectedBatch
    from sdb.packfile.build.options import StatisticsChoice
    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.store.base import Location, Reader


VERSION = 1


class RejectedOnce:
    """Passes each malformed record on once, however often the inputs are read."""

    def __init__(self, take: Callable[[RejectedBatch], None]) -> None:
        self._taker = take
        self._told = 0
        self._seen = 0

    def restart(self) -> Callable[[RejectedBatch], None]:
        """Return what takes the records, from the first one on."""
        self._seen = 0
        return self._take

    def _take(self, batch: RejectedBatch) -> None:
        self._seen += len(batch)
        if self._seen > self._told:
            new = self._seen - self._told
            self._told = self._seen
            self._taker(batch if new == len(batch) else batch.last(new))


@record
class AppendRequest:
    """The request to append, the same for every attempt."""

    packfile: Location
    output: Location | None
    sources: Sequence[Input]
    level: int | None
    block_bytes: int
    threads: int
    constants: Mapping[str, object] | None
    max_row_bytes: int | None
    time_fields: Sequence[Path]
    rejected_once: RejectedOnce | None
    overwrite: bool
    single_writer: bool
    skip_known: bool
    verify: bool
    stats: StatisticsChoice
    progress: Progress

    @property
    def target(self) -> Location:
        """Where to write."""
        return self.packfile if self.output is None else self.output


class Counted:
    """An open object, and how many bytes of it were read."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.size_bytes = reader.size_bytes
        self.etag = reader.etag
        self.version = reader.version
        self.path = reader.path
        self.read_bytes = 0

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range."""
        self.read_bytes += stop - start
        return self._reader.read(start, stop)

    @property
    def descriptor(self) -> int | None:
        """Return whether it was closed; the descriptor itself would let reads go uncounted."""
        return CLOSED if self._reader.descriptor == CLOSED else None

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece."""
        self.read_bytes += stop - start
        return self._reader.pieces(start, stop)

    def reopen(self) -> Reader:
        """Open the object once more; what is read then does not count."""
        return self._reader.reopen()

    def close(self) -> None:
        """Release the object."""
        self._reader.close()


def start(request: AppendRequest, old: Trailer) -> Packer:
    """Make a packer that packs as the packfile was packed."""
    return packer_like(
        old,
        level=_level(request, old),
        constants=_constants(request, old),
        time_fields={*old.sparse.indices, *request.time_fields},
        block_bytes=request.block_bytes,
        threads=request.threads,
        stats=request.stats,
        max_row_bytes=sizes_of_chunks(old.algorithm, old.filled_bytes, request.max_row_bytes)[1],
    )


def _level(request: AppendRequest, old: Trailer) -> int:
    """Return the level of new rows: what is asked for, else that of the packfile."""
    if request.level is not None:
        return request.level
    return levels.DEFAULT if old.sparse.level is None else old.sparse.level


def _constants(request: AppendRequest, old: Trailer) -> dict[str, object]:
    """Return the constants of the packfile, which new rows get too."""
    own = old.sparse.constants
    if request.constants is None:
        return own
    asked = dict(request.constants)
    if not old.blocks:
        return asked
    if typed(asked) != typed(own):
        names = ", ".join(f"{name}={value}" for name, value in own.items()) or "none"
        raise UsageError(
            f"{text_of(request.packfile)} has other constants: {names}",
            path=text_of(request.packfile),
            hint="leave out --constant: new rows get those of the packfile",
        )
    return own


def check_version(trailer: Trailer, path: str) -> None:
    """Require a trailer that can be written again without losing what is not known of it.

    Raises `UnsupportedError` if it is of a later version of the format.
    """
    if trailer.version > VERSION:
        raise UnsupportedError(
            f"{path} is a packfile of version {trailer.version}, which can only be read", path=path
        )


def retain(request: AppendRequest, source: Counted, old: Trailer, packer: Packer) -> RetainedPrefix:
    """Decide what stays, and let the packer go on from there.

    A block at the end that is half full stays as it is: the next one begins with the new rows, and
    is the one that grows from then on.
    """
    check_version(old, source.path)
    facts = partial(all_facts, Packfile(source.path, source, old))
    prefix = RetainedPrefix(old, len(old.blocks), facts, size_bytes=old.offset)
    least = max(2, request.block_bytes // (2 * old.filled_bytes))
    if old.blocks and old.blocks[-1].chunks < least:
        number = len(old.blocks) - 1
        start, stop = old.block_range(number)
        try:
            block = source.read(start, stop)
            if request.verify:
                check(block, old.sparse.digest(number))
            resumed = packer.resume(
                block,
                old.blocks[-1].chunks,
                verify=request.verify,
                is_counted=number > 0 or old.blocks[-1].chunks > 1,
            )
        except CorruptError as error:
            raise Packfile(source.path, source, old).blame(error, number) from None
        chunks, size, rows, hashes = resumed
        prefix = RetainedPrefix(old, number, facts, chunks, start + size, rows, hashes)
    for path in request.time_fields:
        if not prefix.admits(path):
            raise UsageError(
                f"{'.'.join(path)} cannot be indexed: rows that are there may have it unindexed",
                path=source.path,
                hint="sdb pack --time-field makes a new packfile out of this one",
            )
    return prefix


def finish(
    request: AppendRequest, sources: Sequence[Input], prefix: RetainedPrefix, packer: Packer
) -> Trailer:
    """Make the trailer of what stays and what was packed of the sources."""
    old = prefix.trailer
    blocks, sparse = build_index(
        PackedParts.of(packer, prefix.size_bytes),
        align_bytes=old.filled_bytes,
        block_bytes=request.block_bytes,
        time_fields=request.time_fields,
        constants=_constants(request, old),
        prefix=prefix,
        provenance=provenance_of(sources, packer),
    )
    sparse = with_statistics(sparse, packer, blocks, request.stats, prefix)
    sparse = replace(sparse, level=levels.kept(_level(request, old), old.algorithm))
    shift = shift_of(packer, old.align_bytes)
    return Trailer(
        VERSION, prefix.size_bytes + packer.position, old.algorithm, shift, blocks, sparse
    )
