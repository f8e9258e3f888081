"""Descriptions of packfiles: what their trailers say, as records with totals."""

from __future__ import annotations

from sdb import errors, sizes
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.largestfields import LargestFields
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.trailer import Trailer


@record
class IndexDescription:
    """One time index.

    Attributes
    ----------
    path : tuple of str
        Components of the indexed path.
    left, right : int
        Number of intervals from the left and from the right.
    first_us, last_us : int
        Earliest and latest time, in µs since 1970.
    trusted : bool
        False when an old writer damaged the index, so that it is not used.
    """

    path: Path
    left: int
    right: int
    first_us: int
    last_us: int
    trusted: bool

    @property
    def name(self) -> str:
        """The components, joined with dots."""
        return ".".join(self.path)


@record
class BlockDescription:
    """One block."""

    number: int  # the block, counted from 0
    offset: int  # where it starts in the file, in bytes
    # Its size in the file, and decoded with padding.
    compressed_bytes: int
    decompressed_bytes: int
    chunks: int
    rows: int | None  # number of rows, when the writer counted them
    # For each trusted index the bounds of the block's times in µs, both included; None when the
    # block has no time at that path.
    times: dict[Path, tuple[int, int] | None]


@record
class FileDescription:
    """One packfile.

    Attributes
    ----------
    path : str
        The path as it was given.
    url : str
        The same as it is shown: with ``file://`` in front of local paths.
    etag : str
        What identifies its version; empty for local files.
    size_bytes : int
        Size of the whole file.
    trailer : Trailer
        What the file says of itself.
    indexes : tuple of IndexDescription
        The time indexes, in the order of the file.
    largest : LargestFields or None
        The fields that take most of it, when that was asked for and can be measured.
    """

    path: str
    url: str
    etag: str
    size_bytes: int
    trailer: Trailer = field(repr=False)
    indexes: tuple[IndexDescription, ...]
    largest: LargestFields | None = None

    @property
    def decompressed_bytes(self) -> int:
        """Size of all chunks when decompressed, padding included."""
        return self.trailer.decompressed_bytes

    @property
    def rows(self) -> int | None:
        """Number of rows, when the writer counted them."""
        return self.trailer.rows

    @property
    def text_bytes(self) -> int | None:
        """Size of the text that all rows came from, if the packfile has it."""
        try:
            provenance = self.trailer.sparse.provenance()
        except errors.CorruptError:
            return None
        if provenance is None or not provenance.complete:
            return None
        counts = [origin.text_bytes for origin in provenance.origins]
        return sum(counts) if all(counts) else None

    def blocks(self) -> list[BlockDescription]:
        """Describe each block."""
        return [self._block(number) for number in range(len(self.trailer.blocks))]

    def _block(self, number: int) -> BlockDescription:
        trailer, sparse = self.trailer, self.trailer.sparse
        start, stop = trailer.block_range(number)
        chunks = trailer.blocks[number].chunks
        rows = sparse.summary.rows[number] if sparse.summary else None
        times = {path: index.known_range(number) for path, index in sparse.indices.items()}
        size = chunks << trailer.block_shift
        return BlockDescription(number, start, stop - start, size, chunks, rows, times)


@record
class Description:
    """Several packfiles and their totals.

    Attributes
    ----------
    files : tuple of FileDescription
        The files, in the order in which they were given.
    """

    files: tuple[FileDescription, ...]

    def __repr__(self) -> str:
        """Show the totals."""
        rows = "rows not counted" if self.rows is None else f"{self.rows:,} rows"
        size = sizes.human(self.size_bytes)
        return f"<Description: {rows} in {len(self.files):,} packfiles, {size}>"

    @property
    def block_count(self) -> int:
        """Number of blocks of all files."""
        return sum(len(file.trailer.blocks) for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def decompressed_bytes(self) -> int:
        """Size of all chunks of all files when decompressed."""
        return sum(file.decompressed_bytes for file in self.files)

    @property
    def rows(self) -> int | None:
        """Number of rows of all files, when all writers counted them."""
        counts = [file.rows for file in self.files]
        counted = [count for count in counts if count is not None]
        return sum(counted) if len(counted) == len(counts) else None
