"""Describe packfiles by their trailers: the facts, as text of `describe-file` and for JSON."""

from __future__ import annotations

import binascii
import math
import os

from sdb import errors, instants, ion, sizes
from sdb.packfile.inspect.records import (
    BlockDescription,
    Description,
    FileDescription,
    IndexDescription,
)
from sdb.packfile.read.ahead import of_each
from sdb.packfile.read.fields import inventory
from sdb.packfile.read.resolve import PackfileReference, resolve
from sdb.packfile.trailer import declared
from sdb.packfile.trailer.fieldcounts import field_name, type_names
from sdb.packfile.trailer.read import read_trailer
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.inspect.largestfields import LargestFields
    from sdb.packfile.read.fields import Inventory
    from sdb.packfile.read.resolve import Located
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader


def describe(
    paths: Located | Iterable[Located], *, root: str | None = None, largest: bool = False
) -> Description:
    """Read the trailers of packfiles.

    Parameters
    ----------
    paths : path or str, or iterable of these
        The files.
    root : str, optional
        Folder that the paths are relative to.
    largest : bool
        Whether to read a few chunks of local files, to find the fields that take most bytes.

    Returns
    -------
    Description
        The facts.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        A file cannot be opened.
    CorruptError
        A file is no packfile, or is damaged.

    Examples
    --------
    >>> file = sdb.describe("events.zion").files[0]
    >>> file.rows, file.indexes[0].name
    (1000, 'created_at')
    """
    references = list(resolve(paths, root=root))
    most_chunks = 0
    if largest and references:
        from sdb.packfile.inspect.largestfields import MOST_CHUNKS

        most_chunks = MOST_CHUNKS // len(references)
    described = of_each(lambda reference: _describe(reference, most_chunks), references)
    return Description(tuple(described))


def _describe(reference: PackfileReference, most_chunks: int) -> FileDescription:
    if reference.is_of_table:
        return _describe_opened(reference, most_chunks)
    path = errors.text_of(reference.name)
    reader = url.open_read(reference.location)
    try:
        trailer = read_trailer(reader, path)
        largest = _largest(path, reader, trailer, most_chunks) if most_chunks else None
    finally:
        reader.close()
    indexes = index_descriptions(trailer)
    return FileDescription(
        path, url.shown(path), reader.etag, reader.size_bytes, trailer, indexes, largest
    )


def _describe_opened(reference: PackfileReference, most_chunks: int) -> FileDescription:
    """Describe a packfile of a table, whose name is that of the table."""
    path = reference.location
    with reference.open() as pack:
        trailer = pack.whole_trailer()
        largest = _largest(path, pack.reader, trailer, most_chunks) if most_chunks else None
        etag, size_bytes = pack.etag, pack.size_bytes
    indexes = index_descriptions(trailer)
    return FileDescription(path, url.shown(path), etag, size_bytes, trailer, indexes, largest)


def index_descriptions(trailer: Trailer) -> tuple[IndexDescription, ...]:
    """Describe the time indexes of a packfile, those that are not trusted too."""
    sparse = trailer.sparse
    return tuple(
        IndexDescription(
            path, index.left, index.right, index.first_us, index.last_us, path in sparse.indices
        )
        for path, index in sorted((sparse.indices | sparse.distrusted).items())
    )


def _largest(path: str, reader: Reader, trailer: Trailer, most_chunks: int) -> LargestFields | None:
    from sdb.packfile.inspect.largestfields import largest_fields
    from sdb.packfile.read.blocks import BlockReader

    return largest_fields(BlockReader(path, reader, trailer), most_chunks=most_chunks)


def fields(
    paths: Located | Iterable[Located], *, match: str | None = None, root: str | None = None
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
        One of them is no packfile, or is damaged.

    Examples
    --------
    >>> [field.name for field in sdb.fields("events.zion", match="actor.*").fields][:3]
    ['actor.id', 'actor.login', 'actor.gravatar_id']
    """
    places = [paths] if isinstance(paths, str | os.PathLike | PackfileReference) else paths
    report = inventory(list(of_each(_named_trailer, resolve(places, root=root))))
    return report if match is None else report.matching(match)


def _named_trailer(reference: PackfileReference) -> tuple[str, Trailer]:
    name = errors.text_of(reference.name)
    if reference.opener is not None:
        return reference.location if reference.is_of_table else name, reference.trailer()
    reader = url.open_read(reference.location)
    try:
        return name, read_trailer(reader, name)
    finally:
        reader.close()


def text(description: Description) -> str:
    """Write the text of `describe-file`, the same as that of the original."""
    lines = [line for file in description.files for line in file_lines(file)]
    lines += total_lines(description)
    return "".join(f"{line}\n" for line in lines)


def file_lines(file: FileDescription, *, remark: str = "") -> Iterable[str]:
    """Yield the lines about one packfile; a remark is one of its own below its name."""
    trailer = file.trailer
    ratio = sizes.ratio(file.decompressed_bytes, file.size_bytes)
    yield f"{file.url} {file.etag} {sizes.human(file.size_bytes)}"
    if remark:
        yield f"\t{remark}"
    yield (
        f"\ttrailer: {len(trailer.blocks)} blocks, {file.decompressed_bytes} bytes "
        f"decompressed ({ratio}x compression, {trailer.packed_as})"
    )
    yield from _index_lines(file.indexes)


def total_lines(description: Description) -> Iterable[str]:
    """Yield the lines about all packfiles together."""
    ratio = sizes.ratio(description.decompressed_bytes, description.size_bytes)
    yield f"total blocks:       {description.block_count}"
    yield f"total compressed:   {sizes.human(description.size_bytes)}"
    yield f"total decompressed: {sizes.human(description.decompressed_bytes)} ({ratio}x)"


def _index_lines(indexes: tuple[IndexDescription, ...]) -> Iterable[str]:
    by_path = {index.path: index for index in indexes}
    for index in indexes:
        # The original looks a path up by its dotted name; one with a dot inside gets lost.
        times = by_path.get(tuple(index.name.split(".")))
        if times is not None:
            first, last = (
                instants.text(us, fraction=False) for us in (times.first_us, times.last_us)
            )
            yield (
                f"\tindex {index.name} {times.left} left {times.right} right [{first} to {last}]"
            )


def as_dict(description: Description, *, blocks: bool = False) -> dict[str, object]:
    """Return the facts as plain values with stable names, for JSON.

    Returns: Only dicts, lists, text, numbers, truth values and None. Sizes are in bytes, times in
    RFC 3339.
    """
    return {
        "files": [
            file_dict(file, blocks=blocks) | {"largest_fields": _largest_dict(file.largest)}
            for file in description.files
        ],
        "total": {
            "files": len(description.files),
            "blocks": description.block_count,
            "rows": description.rows,
            "size_bytes": description.size_bytes,
            "decompressed_bytes": description.decompressed_bytes,
        },
    }


def statistics_dict(trailer: Trailer) -> dict[str, int] | None:
    """Count the paths with statistics of blocks; None where there are none that can be read."""
    from sdb.packfile.trailer.blockstats import JOINTS, PREFIXES, WORDS, ZONES

    stored = trailer.sparse.stored_statistics
    try:
        statistics = trailer.sparse.statistics()
    except errors.CorruptError:
        statistics = None
    if statistics is None or stored is None:
        return None
    zones = sum(kind == ZONES for _, kind in statistics.sizes)
    return {
        "fields": sum(bool(path) for path in statistics.paths),
        "zones": zones,
        "filters": len(statistics.sizes) - zones,
        "words_bytes": statistics.bytes_of(WORDS, JOINTS),
        "prefixes_bytes": statistics.bytes_of(PREFIXES),
        "size_bytes": stored.size_bytes,
    }


def file_dict(file: FileDescription, *, blocks: bool = False) -> dict[str, object]:
    """Return the facts of one packfile as plain values; see :func:`as_dict`."""
    trailer = file.trailer
    summary = trailer.sparse.summary
    facts: dict[str, object] = {
        "path": file.path,
        "url": file.url,
        "etag": file.etag,
        "size_bytes": file.size_bytes,
        "version": trailer.version,
        "algorithm": trailer.algorithm,
        "level": trailer.sparse.level,
        "align_bytes": trailer.align_bytes,
        "trailer_offset": trailer.offset,
        "blocks": len(trailer.blocks),
        "chunks": trailer.chunks,
        "rows": file.rows,
        "decompressed_bytes": file.decompressed_bytes,
        "text_bytes": file.text_bytes,
        "constants": {name: plain(value) for name, value in trailer.sparse.constants.items()},
        "statistics": statistics_dict(trailer),
        "clustered_by": [field_name(path) for path in trailer.sparse.clustered],
        "columns": [
            {"name": name, "type": declared.text(kind)} for name, kind in trailer.sparse.columns
        ],
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


def _largest_dict(largest: LargestFields | None) -> dict[str, object] | None:
    if largest is None:
        return None
    return {
        "exact": largest.is_exact,
        "compressed_bytes": largest.compressed_bytes,
        "fields": [{"name": name, "compressed_bytes": size} for name, size in largest.fields],
    }


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
    """Return an Ion value as JSON can write it."""
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
