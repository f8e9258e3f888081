"""Describe packfiles by their trailers: the facts, and the text of `describe-file`."""

from __future__ import annotations

import binascii
import math
import os

from sdb import errors, instants, ion, sizes
from sdb.packfile.inventory import inventory
from sdb.packfile.presence import type_names
from sdb.packfile.resolve import resolve
from sdb.packfile.trailer import Trailer, read_trailer
from sdb.records import field, record
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.inventory import Inventory
    from sdb.packfile.resolve import PackfileReference
    from sdb.packfile.sparseindex import Path
    from sdb.store.base import Location


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
    """One block.

    Attributes
    ----------
    number : int
        The block, counted from 0.
    offset : int
        Where it starts in the file, in bytes.
    compressed_bytes, decompressed_bytes : int
        Its size in the file, and decoded with padding.
    chunks : int
        Number of chunks.
    rows : int or None
        Number of rows, when the writer counted them.
    times : dict
        For each trusted index the bounds of the block's times in µs, both included; None when the
        block has no time at that path.
    """

    number: int
    offset: int
    compressed_bytes: int
    decompressed_bytes: int
    chunks: int
    rows: int | None
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
        What tells one version from another; empty for local files.
    size_bytes : int
        Size of the whole file.
    trailer : Trailer
        What the file says of itself.
    indexes : tuple of IndexDescription
        The time indexes, in the order of the file.
    """

    path: str
    url: str
    etag: str
    size_bytes: int
    trailer: Trailer = field(repr=False)
    indexes: tuple[IndexDescription, ...]

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
        """Size of the text that all rows came from, when the packfile tells it."""
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
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None


def describe(paths: Location | Iterable[Location], *, root: str | None = None) -> Description:
    """Read the trailers of packfiles.

    Parameters
    ----------
    paths : path or str, or iterable of these
        The files.
    root : str, optional
        Folder that the paths are relative to.

    Returns
    -------
    Description
        The facts.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        A file cannot be opened.
    CorruptError
        A file is no packfile, or a damaged one.

    Examples
    --------
    >>> print(text(describe([])), end="")
    total blocks:       0
    total compressed:   0
    total decompressed: 0 (NaNx)
    """
    return Description(tuple(map(_describe, resolve(paths, root=root))))


def _describe(reference: PackfileReference) -> FileDescription:
    path = errors.text_of(reference.name)
    reader = url.open_read(reference.location)
    try:
        trailer = read_trailer(reader, path)
    finally:
        reader.close()
    sparse = trailer.sparse
    indexes = tuple(
        IndexDescription(
            path, index.left, index.right, index.first_us, index.last_us, path in sparse.indices
        )
        for path, index in sorted((sparse.indices | sparse.distrusted).items())
    )
    return FileDescription(path, url.shown(path), reader.etag, reader.size_bytes, trailer, indexes)


def fields(
    paths: Location | Iterable[Location], *, match: str | None = None, root: str | None = None
) -> Inventory:
    """List the fields of packfiles: their paths, types, and in how many rows they are.

    Only the ends of the packfiles are read.

    Parameters
    ----------
    paths : path or URL, or iterable of them
        The packfiles. Those of several are joined.
    match : str, optional
        Only fields whose names match this pattern, see :meth:`Inventory.matching`.
    root : str, optional
        Folder that the paths are relative to.

    Returns
    -------
    Inventory
        The fields.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        A packfile cannot be opened.
    CorruptError
        One is no packfile, or a damaged one.

    Examples
    --------
    >>> [field.name for field in sdb.fields("events.zion").fields]      # doctest: +SKIP
    ['id', 'type', 'actor', 'actor.login']
    """
    places = [paths] if isinstance(paths, str | os.PathLike) else paths
    trailers = []
    for reference in resolve(places, root=root):
        name = errors.text_of(reference.name)
        reader = url.open_read(reference.location)
        try:
            trailers.append((name, read_trailer(reader, name)))
        finally:
            reader.close()
    found = inventory(trailers)
    return found if match is None else found.matching(match)


def text(description: Description) -> str:
    """Write the text of `describe-file`, the same as that of the original.

    Parameters
    ----------
    description : Description
        The facts.

    Returns
    -------
    str
        Lines, each with its end.
    """
    lines = []
    for file in description.files:
        trailer = file.trailer
        ratio = sizes.ratio(file.decompressed_bytes, file.size_bytes)
        lines.append(f"{file.url} {file.etag} {sizes.human(file.size_bytes)}")
        lines.append(
            f"\ttrailer: {len(trailer.blocks)} blocks, {file.decompressed_bytes} bytes "
            f"decompressed ({ratio}x compression, {trailer.algorithm})"
        )
        lines.extend(_index_lines(file.indexes))
    ratio = sizes.ratio(description.decompressed_bytes, description.size_bytes)
    lines.append(f"total blocks:       {description.block_count}")
    lines.append(f"total compressed:   {sizes.human(description.size_bytes)}")
    lines.append(f"total decompressed: {sizes.human(description.decompressed_bytes)} ({ratio}x)")
    return "".join(f"{line}\n" for line in lines)


def _index_lines(indexes: tuple[IndexDescription, ...]) -> Iterable[str]:
    by_path = {index.path: index for index in indexes}
    for index in indexes:
        # The original looks a path up by its dotted name; one with a dot inside gets lost.
        found = by_path.get(tuple(index.name.split(".")))
        if found is not None:
            first, last = (
                instants.text(us, fraction=False) for us in (found.first_us, found.last_us)
            )
            yield (
                f"\tindex {index.name} {found.left} left {found.right} right [{first} to {last}]"
            )


def as_dict(description: Description, *, blocks: bool = False) -> dict[str, object]:
    """Give the facts as plain values with stable names, for JSON.

    Parameters
    ----------
    description : Description
        The facts.
    blocks : bool
        Whether to list every block.

    Returns
    -------
    dict
        Only dicts, lists, text, numbers, truth values and None. Sizes are in bytes, times in
        RFC 3339.
    """
    return {
        "files": [_file_dict(file, blocks=blocks) for file in description.files],
        "total": {
            "files": len(description.files),
            "blocks": description.block_count,
            "rows": description.rows,
            "size_bytes": description.size_bytes,
            "decompressed_bytes": description.decompressed_bytes,
        },
    }


def _file_dict(file: FileDescription, *, blocks: bool) -> dict[str, object]:
    trailer = file.trailer
    summary = trailer.sparse.summary
    facts: dict[str, object] = {
        "path": file.path,
        "url": file.url,
        "etag": file.etag,
        "size_bytes": file.size_bytes,
        "version": trailer.version,
        "algorithm": trailer.algorithm,
        "align_bytes": trailer.align_bytes,
        "trailer_offset": trailer.offset,
        "blocks": len(trailer.blocks),
        "chunks": trailer.chunks,
        "rows": file.rows,
        "decompressed_bytes": file.decompressed_bytes,
        "text_bytes": file.text_bytes,
        "constants": {name: plain(value) for name, value in trailer.sparse.constants.items()},
        "indexes": [
            {
                "path": list(index.path),
                "left": index.left,
                "right": index.right,
                "first_at": instants.text(index.first_us),
                "last_at": instants.text(index.last_us),
                "trusted": index.trusted,
            }
            for index in file.indexes
        ],
        "fields": None
        if summary is None
        else {
            "complete": summary.complete,
            "paths": [
                {"path": list(path), "types": type_names(mask)}
                for path, mask in summary.types.items()
            ],
        },
    }
    if blocks:
        facts["block_list"] = [_block_dict(block) for block in file.blocks()]
    return facts


def _block_dict(block: BlockDescription) -> dict[str, object]:
    return {
        "number": block.number,
        "offset": block.offset,
        "compressed_bytes": block.compressed_bytes,
        "decompressed_bytes": block.decompressed_bytes,
        "chunks": block.chunks,
        "rows": block.rows,
        "times": [
            {
                "path": list(path),
                "from": span and instants.text(span[0]),
                "to": span and instants.text(span[1]),
            }
            for path, span in block.times.items()
        ],
    }


def plain(value: object) -> object:
    """Give an Ion value as JSON can write it."""
    us = ion.instant_to_us(value)
    if us is not None:
        return instants.text(us)
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return binascii.b2a_base64(value, newline=False).decode()
        case list():
            return [plain(item) for item in value]
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
    return value
