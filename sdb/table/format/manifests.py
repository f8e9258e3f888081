"""The indirect tree: lists of older descriptors, in separate objects.

The index has a reference to each list, and the times that its packfiles span. A list whose object
is still small is written again, with more descriptors, under another name.
"""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer.sparseindex import SparseIndex, build_indices
from sdb.packfile.trailer.trailer import old_ranges
from sdb.records import field, record, replace
from sdb.table.format import codec, etags, ionstruct, keys
from sdb.table.format.descriptor import Descriptor, has_all_times, joined_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.timeindex import TimeIndex

TARGET_BYTES = 256 << 10
"""A list whose compressed object is smaller takes more descriptors."""

SYMBOLS = (
    "path",
    "etag",
    "last-modified",
    "size",
    "objects",
    "orig-objects",
    "refs",
    "sparse",
)
"""Symbols that the original enters before it writes the tree, whether it has references or not."""

_FIELDS = {"path", "etag", "last-modified", "size", "objects", "orig-objects", "ranges"}


@record
class IndirectRef:
    """A reference to a list of descriptors."""

    # The object with the list
    key: str
    etag: str
    size_bytes: int  # size of the object, compressed
    objects: int  # number of descriptors in it
    # How many descriptors were moved into it, before compaction made fewer of them
    original_objects: int
    modified_us: int | None = None  # when the object was written

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored."""
        value: dict[str, object] = {"path": self.key, "etag": self.etag}
        if self.modified_us is not None:
            value["last-modified"] = ion.instant_from_us(self.modified_us)
        value["size"] = self.size_bytes
        value["objects"] = self.objects
        value["orig-objects"] = self.original_objects
        return value

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        members = ionstruct.known(value, _FIELDS, "a reference of the indirect tree")
        key = keys.check_key(ionstruct.text(members, "path"))
        objects = ionstruct.count(members, "objects")
        return cls(
            key,
            etags.check(ionstruct.text(members, "etag")),
            ionstruct.count(members, "size"),
            objects,
            ionstruct.count(members, "orig-objects", 0) or objects,
            ionstruct.instant(members, "last-modified"),
        )


@record
class IndirectTree:
    """The references to lists of older descriptors, the oldest first."""

    refs: tuple[IndirectRef, ...] = ()  # the references
    # For each path the time index in which a reference is what a block is in a packfile
    indices: dict[Path, TimeIndex] = field(default_factory=dict)

    @property
    def original_objects(self) -> int:
        """Number of the first descriptor that is in the index itself."""
        return sum(ref.original_objects for ref in self.refs)

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored."""
        sparse = SparseIndex(len(self.refs), indices=self.indices)
        return {"refs": [ref.struct() for ref in self.refs], "sparse": sparse.encode()}

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored.

        Returns: The tree. Indexes that must not be trusted are left out: then nothing is skipped.
        Raises `CorruptError` if it is malformed.
        """
        members = ionstruct.known(value, {"refs", "sparse"}, "the indirect tree")
        stored = ionstruct.listed(members.get("refs", []), "the list of references")
        refs = tuple(map(IndirectRef.from_struct, stored))
        old = any("ranges" in ref for ref in stored)
        if old and "sparse" in members:
            raise CorruptError("the indirect tree has both ranges and a sparse index")
        if "sparse" not in members:
            ranges = (old_ranges(ref.get("ranges", [])) for ref in stored)
            return cls(refs, build_indices(ranges))
        sparse = SparseIndex.decode(members["sparse"])
        return cls(refs, sparse.check(len(refs)).indices)

    def spans(self, path: Path, start_us: int | None, stop_us: int | None) -> range:
        """Return the references that may have packfiles with times of a half-open range.

        * ``start_us, stop_us``: The range, in microseconds since 1970; None: without end.
        """
        index = self.indices.get(path)
        if index is None:
            return range(len(self.refs))
        first = 0 if start_us is None else index.start(start_us)
        last = len(self.refs) if stop_us is None else index.end(stop_us - 1)
        return range(first, max(first, min(last, len(self.refs))))

    def appended(
        self, moved: tuple[Descriptor, ...], count: int, writer: Writer
    ) -> tuple[Self, tuple[str, ...]]:
        """Move descriptors into the tree.

        Returns: The tree, and the keys of the objects that it does not need any more.
        """
        if not moved:
            return self, ()
        sure = {
            path: index
            for path, index in self.indices.items()
            if all(has_all_times(descriptor, path) for descriptor in moved)
        }
        ranges = joined_ranges(moved)
        if self.refs:  # of what is in their lists nothing else is known
            ranges = {path: span for path, span in ranges.items() if path in sure}
        if self.refs and self.refs[-1].size_bytes < TARGET_BYTES:
            last = self.refs[-1]
            ref = writer.write((*writer.read(last), *moved))
            ref = replace(ref, original_objects=last.original_objects + count)
            indices = _widened(sure, ranges)
            return replace(self, refs=(*self.refs[:-1], ref), indices=indices), (last.key,)
        ref = replace(writer.write(moved), original_objects=count)
        indices = build_indices([ranges], sure, len(self.refs))
        return replace(self, refs=(*self.refs, ref), indices=indices), ()

    def narrowed(self, writer: Writer) -> Self:
        """Return the tree with time indexes of what its lists have now, and no more."""
        ranges_of_refs = [joined_ranges(writer.read(ref)) for ref in self.refs]
        paths = [path for path in self.indices if all(path in ranges for ranges in ranges_of_refs)]
        narrowed = [{path: ranges[path] for path in paths} for ranges in ranges_of_refs]
        return replace(self, indices=build_indices(narrowed))


@record
class Writer:
    """Reads and writes the objects of an indirect tree."""

    fetch: Callable[[str, str], bytes]  # returns the content of an object by key and ETag
    # Writes an object under a unique name; returns key, ETag and when it was written
    put: Callable[[bytes], tuple[str, str, int | None]]

    def read(self, ref: IndirectRef) -> tuple[Descriptor, ...]:
        """Read the list that a reference is to."""
        return read_list(self.fetch(ref.key, ref.etag), ref)

    def write(self, descriptors: tuple[Descriptor, ...]) -> IndirectRef:
        """Write a list."""
        data = write_list(descriptors)
        key, etag, modified_us = self.put(data)
        number = len(descriptors)
        return IndirectRef(key, etag, len(data), number, number, modified_us)


def write_list(descriptors: tuple[Descriptor, ...]) -> bytes:
    """Return the object of a list of descriptors."""
    return codec.dumps({"contents": [descriptor.struct() for descriptor in descriptors]}, ())


def read_list(data: bytes, ref: IndirectRef) -> tuple[Descriptor, ...]:
    """Read the object of a list of descriptors.

    Raises `CorruptError` if it is damaged, or is not the list of the reference.
    """
    try:
        return tuple(map(Descriptor.from_struct, _read_values(data, ref)))
    except (CorruptError, UnsupportedError) as error:
        raise error if error.path else error.within(f"reading {ref.key}", path=ref.key) from None


def _read_values(data: bytes, ref: IndirectRef) -> list[Any]:
    try:
        if len(data) != ref.size_bytes:
            raise CorruptError(f"expected {ref.size_bytes:,} bytes, got {len(data):,}")  # noqa: TRY301
        members = ionstruct.known(codec.loads(data), {"contents"}, "a list of descriptors")
        listed: list[Any] = ionstruct.listed(members.get("contents"), "contents")
        if len(listed) != ref.objects:
            raise CorruptError(f"expected {ref.objects:,} descriptors, got {len(listed):,}")  # noqa: TRY301
    except (CorruptError, UnsupportedError) as error:
        raise error.within(f"reading {ref.key}", path=ref.key) from None
    return listed


def _widened(
    indices: dict[Path, TimeIndex], ranges: dict[Path, tuple[int, int]]
) -> dict[Path, TimeIndex]:
    """Widen the last reference of each time index by more times."""
    widened = {path: index.copy() for path, index in indices.items()}
    for path, (lo_us, hi_us) in ranges.items():
        widened[path].extend_last(lo_us, hi_us)
    return widened
