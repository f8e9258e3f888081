"""Descriptors: what an index says of a packfile, so that plans need not open it."""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer import declared
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
from sdb.packfile.trailer.trailer import Trailer
from sdb.records import record, replace
from sdb.table.format import etags, ionstruct, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from sdb.packfile.trailer.sparseindex import Path

FORMAT = "blockfmt/compressed/v2"
MAX_EXTENSION_BYTES = 1 << 10
MAX_COLUMNS_BYTES = 4 << 10
_FIELDS = {"path", "etag", "last-modified", "format", "size", "trailer", "original"}
_NO_TRAILER = Trailer(0, 0, "", 0, (), SparseIndex(0))


@record
class Descriptor:
    """Facts of a packfile of a table."""

    key: str  # its key below the root
    etag: str
    size_bytes: int
    trailer: Trailer  # a copy of its trailer, maybe with less in the extension
    modified_us: int | None = None  # when it was written, by the store; for people only
    format: str = FORMAT  # name of the format of packfiles

    @property
    def name(self) -> str:
        """Its name, without what is above."""
        return self.key.rpartition("/")[2]

    @property
    def rows(self) -> int | None:
        """Number of rows, when the index knows it."""
        return self.trailer.rows

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored, its fields in the order of the original."""
        value: dict[str, object] = {"path": self.key, "etag": self.etag}
        if self.modified_us is not None:
            value["last-modified"] = ion.instant_from_us(self.modified_us)
        value["format"] = self.format
        value["size"] = self.size_bytes
        value["trailer"] = self.trailer.struct()
        return value

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored.

        Returns: The descriptor. Fields may be missing, and the trailer is only checked by itself:
        before the packfile is opened, call :meth:`checked`.
        Raises `CorruptError` for a field of a wrong type, an unknown one, or a key that leads out
        of the root.
        """
        members = ionstruct.known(value, _FIELDS, "a descriptor")
        key = keys.check_key(ionstruct.text(members, "path"))
        try:
            return cls(
                key,
                etags.check(ionstruct.text(members, "etag", "")),
                ionstruct.count(members, "size", 0),
                Trailer.from_struct(members["trailer"]) if "trailer" in members else _NO_TRAILER,
                ionstruct.instant(members, "last-modified"),
                ionstruct.text(members, "format", ""),
            )
        except (CorruptError, UnsupportedError) as error:
            raise error.within(f"the descriptor of {key}") from None

    def checked(self) -> Self:
        """Check what it says about the packfile, before the packfile is opened.

        Returns: The same, with indexes that must not be trusted set aside.
        Raises `CorruptError` if the trailer cannot be one of a file of this size and
        `UnsupportedError` if the packfile has another format.
        """
        if self.format != FORMAT:
            raise UnsupportedError(
                f"{self.key}: don't know how to convert format {self.format!r} into a blob"
            )
        try:
            if self.trailer.offset >= self.size_bytes:
                raise CorruptError(  # noqa: TRY301
                    f"invalid trailer offset {self.trailer.offset:,}: "
                    f"the file has {self.size_bytes:,} bytes"
                )
            return replace(self, trailer=self.trailer.check(self.trailer.offset))
        except CorruptError as error:
            raise error.within(f"the descriptor of {self.key}") from None


def joined_ranges(descriptors: tuple[Descriptor, ...]) -> dict[Path, tuple[int, int]]:
    """Return the first and last time of each indexed path over packfiles.

    Returns: For each path the first and last time in µs. A path at which a packfile may have times
    that its index does not know is left out.
    """
    ranges: dict[Path, tuple[int, int]] = {}
    for descriptor in descriptors:
        for path, index in descriptor.trailer.sparse.indices.items():
            if not index.is_empty:
                lo_us, hi_us = ranges.get(path, (index.first_us, index.last_us))
                ranges[path] = (min(lo_us, index.first_us), max(hi_us, index.last_us))
    return {
        path: span
        for path, span in ranges.items()
        if all(has_all_times(descriptor, path) for descriptor in descriptors)
    }


def has_all_times(descriptor: Descriptor, path: Path) -> bool:
    """Return whether the index of a path knows of all times that a packfile has there.

    `sdb` does not index a path that few rows have a time at. The original indexes all: its
    packfiles are known by their names, and by what only `sdb` writes.
    """
    sparse = descriptor.trailer.sparse
    index = sparse.indices.get(path)
    if index is not None and not index.is_empty:
        return True
    is_foreign = keys.is_packed(descriptor.key) or descriptor.name.startswith(keys.ADOPTED)
    if sparse.summary is None and is_foreign:
        return True
    return sparse.is_without_times(path)


def slim(trailer: Trailer) -> Trailer:
    """Make the copy of a trailer that an index has.

    Returns: With at most 1 KiB of row counts, and types as far as they fit, what rows are sorted
    by, and at most 4 KiB of the columns of their writer. Where these are more, the trailer itself
    has the types as well.
    """
    sparse = trailer.sparse
    summary = sparse.summary
    if summary is not None and _encoded_bytes(summary) > MAX_EXTENSION_BYTES:
        summary = Summary(summary.rows, {}, complete=False)
        if _encoded_bytes(summary) > MAX_EXTENSION_BYTES:
            summary = None
    columns = sparse.columns
    if columns and len(ion.dumps(declared.encode(columns))) > MAX_COLUMNS_BYTES:
        columns = ()
        summary = None if summary is None else Summary(summary.rows, {}, complete=False)
    slimmed = SparseIndex(
        sparse.blocks,
        sparse.constants,
        sparse.indices,
        summary,
        clustered=sparse.clustered,
        columns=columns,
    )
    return replace(trailer, sparse=slimmed)


def _encoded_bytes(summary: Summary) -> int:
    return len(ion.dumps(summary.encode()))
