"""The sparse index of a packfile: the field `sparse` of its trailer.

It holds what can be known of a file without reading its rows: constants, time indexes, and a
summary that only `sdb` writes. See the section on the sparse index in docs/format.md.

The summary
-----------
The original ignores unknown fields of `sparse`, so the summary is the field `sdb` there, written
after `indices`: a struct with these fields, in this order.

``version``
    Integer, 1. A reader that meets another number ignores the whole struct.
``rows``
    List of integers, one per block: the number of rows of the block, as the difference to the
    block before it (to 0 for the first).
``types``
    List of structs, sorted by path, each with ``path``, a list of symbols as in `indices`, and
    ``mask``, an integer in which bit k is set when a value of Ion type k (the high four bits of
    its type byte: 0 null, 1 bool, 2 and 3 integer, 4 float, 6 timestamp, 7 and 8 text, 11 list, 13
    struct) occurs at that path in any row of the file. A path names fields of structs in structs;
    what lies inside of lists has no path.
``complete``
    Bool: true when `types` has every path that occurs. When false, a path that is not listed may
    have values of any type; one that is listed still tells all of its types.

`types` is bounded: at most 4096 paths, at most 32 components in a path and at most 1 MiB of UTF-8
text in all components together. What goes beyond is left out, the shallowest paths staying, and
`complete` is then false.
"""

from __future__ import annotations

from itertools import accumulate, chain, pairwise

from sdb.errors import CorruptError, UnsupportedError
from sdb.ion import IonSymbol
from sdb.packfile.timeindex import TimeIndex, in_int64, integers
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Self

Path = tuple[str, ...]

MAX_COMPONENTS = 64
MAX_INDEXES = 1 << 16
MAX_SUMMARY_PATHS = 4096
MAX_SUMMARY_COMPONENTS = 32
MAX_SUMMARY_BYTES = 1 << 20
_MOST_BYTES = 4  # of a character
_SUMMARY_VERSION = 1
_TEXTS = {str, IonSymbol}
_MASKS = range(1 << 16)
_TIMESTAMP = 1 << 6


@record
class Summary:
    """Counts of rows and types of values, for queries that need no more.

    Attributes
    ----------
    rows : tuple of int
        Number of rows of each block.
    types : dict
        For each path the Ion types that occur there, as a bit mask.
    complete : bool
        Whether a path that is missing in `types` occurs nowhere.
    """

    rows: tuple[int, ...]
    types: dict[Path, int]
    complete: bool

    @classmethod
    def bounded(cls, rows: Sequence[int], types: Mapping[Path, int], *, complete: bool) -> Self:
        """Make a summary that keeps to the limits of the format.

        Parameters
        ----------
        rows : sequence of int
            Number of rows of each block.
        types : mapping
            For each path the Ion types that occur there, as a bit mask.
        complete : bool
            Whether `types` has every path that occurs.

        Returns
        -------
        Summary
            With the shallowest paths when not all of them fit.
        """
        ordered = sorted(types)
        if (
            len(ordered) <= MAX_SUMMARY_PATHS
            and max(map(len, ordered), default=0) <= MAX_SUMMARY_COMPONENTS
            and _MOST_BYTES * sum(map(len, chain.from_iterable(ordered))) <= MAX_SUMMARY_BYTES
        ):
            return cls(tuple(rows), {path: types[path] for path in ordered}, complete)
        kept: dict[Path, int] = {}
        size_bytes = 0
        for path in sorted(types, key=lambda path: (len(path), path)):
            size_bytes += len("".join(path).encode())
            if (
                len(kept) == MAX_SUMMARY_PATHS
                or len(path) > MAX_SUMMARY_COMPONENTS
                or size_bytes > MAX_SUMMARY_BYTES
            ):
                complete = False
                break
            kept[path] = types[path]
        return cls(tuple(rows), {path: kept[path] for path in sorted(kept)}, complete)

    def encode(self) -> dict[str, object]:
        """Give the struct that is stored."""
        symbols = {name: IonSymbol(name) for name in set(chain.from_iterable(self.types))}
        return {
            "version": _SUMMARY_VERSION,
            "rows": [after - before for before, after in pairwise((0, *self.rows))],
            "types": [
                {"path": [symbols[name] for name in path], "mask": mask}
                for path, mask in self.types.items()
            ],
            "complete": self.complete,
        }

    @classmethod
    def decode(cls, value: object) -> Summary | None:
        """Read the struct that is stored.

        Parameters
        ----------
        value : object
            The value of the field `sdb`.

        Returns
        -------
        Summary or None
            None when it is of another version, or not ours.

        Raises
        ------
        CorruptError
            It is of our version but malformed.
        """
        if not isinstance(value, dict) or value.get("version") != _SUMMARY_VERSION:
            return None
        rows = list(accumulate(integers(value.get("rows"), "the list of row counts")))
        if rows and min(in_int64(rows, "the list of row counts")) < 0:
            raise CorruptError("the summary has a negative number of rows")
        types: dict[Path, int] = {}
        listed = _structs(value.get("types"), "the list of types")
        if len(listed) > MAX_SUMMARY_PATHS:
            raise CorruptError(
                f"a summary of {len(listed):,} paths, the limit is {MAX_SUMMARY_PATHS:,}"
            )
        for entry in listed:
            mask = entry.get("mask")
            if type(mask) is not int or mask not in _MASKS:
                raise CorruptError("the summary has a set of types that is none")
            types[_path(entry.get("path"))] = mask
        return cls(tuple(rows), types, value.get("complete") is True)


@record
class SparseIndex:
    """What is known of the rows of a packfile.

    Attributes
    ----------
    blocks : int
        Number of blocks covered.
    constants : dict
        Fields that have the same value in every row.
    indices : dict
        Time index of each indexed path, in the order of the file.
    summary : Summary or None
        Row counts and types, when the writer was `sdb`.
    distrusted : dict
        Time indexes that an old writer damaged: they are shown, but tell nothing.
    """

    blocks: int
    constants: dict[str, object] = field(default_factory=dict)
    indices: dict[Path, TimeIndex] = field(default_factory=dict)
    summary: Summary | None = None
    distrusted: dict[Path, TimeIndex] = field(default_factory=dict)

    def is_without_times(self, path: Path) -> bool:
        """Tell whether it is certain that no row has a timestamp at a path."""
        if not self.blocks:
            return True
        if self.summary is None or not (self.summary.complete or path in self.summary.types):
            return False
        return not self.summary.types.get(path, 0) & _TIMESTAMP

    def encode(self) -> dict[str, object]:
        """Give the struct that is stored."""
        if len(self.indices) > MAX_INDEXES:
            raise UnsupportedError(
                f"{len(self.indices):,} time indexes in one packfile, the limit is {MAX_INDEXES:,}"
            )
        indices = []
        for path, index in self.indices.items():
            upper, lower = index.encode()
            indices.append(
                {
                    "path": [IonSymbol(name) for name in path],
                    "ranges": {"max": upper, "min": lower},
                }
            )
        value: dict[str, object] = {"blocks": self.blocks}
        if self.constants:
            value["consts"] = self.constants
        value["indices"] = indices
        if self.summary is not None:
            value["sdb"] = self.summary.encode()
        return value

    @classmethod
    def decode(cls, value: object) -> Self:
        """Read the struct that is stored; what needs the rest of the trailer is not checked.

        Parameters
        ----------
        value : object
            The value of the field `sparse`.

        Returns
        -------
        SparseIndex
            The index.

        Raises
        ------
        CorruptError
            A field of a wrong type, an index without a path, or two for the same path.
        """
        if not isinstance(value, dict):
            raise CorruptError("the field sparse is not a struct")
        blocks = value.get("blocks", 0)
        if type(blocks) is not int:
            raise CorruptError("the number of blocks in sparse is not an integer")
        constants = value.get("consts", {})
        if not isinstance(constants, dict):
            raise CorruptError("the constants are not a struct")
        indices: dict[Path, TimeIndex] = {}
        listed = _structs(value.get("indices", []), "the list of time indexes")
        if len(listed) > MAX_INDEXES:
            raise CorruptError(f"{len(listed):,} time indexes, the limit is {MAX_INDEXES:,}")
        for entry in listed:
            path = _path(entry.get("path"))
            if path in indices:
                raise CorruptError(f"two time indexes for {'.'.join(path)}")
            ranges = entry.get("ranges", {})
            if not isinstance(ranges, dict):
                raise CorruptError("the ranges of a time index are not a struct")
            indices[path] = TimeIndex.decode(ranges.get("max", []), ranges.get("min", []))
        return cls(blocks, constants, indices, Summary.decode(value.get("sdb")))

    def check(self, blocks: int) -> SparseIndex:
        """Check the index against the number of blocks of the file.

        Parameters
        ----------
        blocks : int
            Number of entries of the block list.

        Returns
        -------
        SparseIndex
            Without indexes that know nothing; damaged ones are set aside in `distrusted`.

        Raises
        ------
        CorruptError
            A wrong number of blocks, or a time index out of order.
        """
        if self.blocks != blocks:
            raise CorruptError(f"sparse has {self.blocks} blocks, the block list has {blocks}")
        if self.summary is not None and len(self.summary.rows) != blocks:
            raise CorruptError(f"{len(self.summary.rows)} row counts for {blocks} blocks")
        sound: dict[Path, TimeIndex] = {}
        distrusted: dict[Path, TimeIndex] = {}
        for path, index in self.indices.items():
            try:
                trusted = index.check(blocks)
            except CorruptError as error:
                raise error.within(f"the time index of {'.'.join(path)}") from None
            if not index.is_empty:
                (sound if trusted else distrusted)[path] = index
        return SparseIndex(blocks, self.constants, sound, self.summary, distrusted)


def join_types(parts: Iterable[tuple[Mapping[Path, int], bool]]) -> tuple[dict[Path, int], bool]:
    """Join what is known of the types in parts of a file.

    Parameters
    ----------
    parts : iterable of tuple
        For each part the types by path, and whether a path that is missing does not occur.

    Returns
    -------
    tuple
        The same for the whole. Where a part may have left out a path, the path is left out.
    """
    known = list(parts)
    partial = [types for types, complete in known if not complete]
    joined: dict[Path, int] = {}
    for types, _ in known:
        for path, mask in types.items():
            if all(path in listed for listed in partial):
                joined[path] = joined.get(path, 0) | mask
    return joined, not partial


def build_indices(
    blocks: Iterable[Mapping[Path, tuple[int, int]]],
    kept: Mapping[Path, TimeIndex] | None = None,
    kept_blocks: int = 0,
) -> dict[Path, TimeIndex]:
    """Make the time indexes of a file.

    Parameters
    ----------
    blocks : iterable of mapping
        For each block, in order, the first and last time in µs of each path that has any.
    kept : mapping, optional
        Time indexes of the blocks before them. A path that is missing has no times there.
    kept_blocks : int
        How many blocks these are.

    Returns
    -------
    dict
        The indexes, sorted by path, all of them covering all blocks.
    """
    indices = {path: index.copy() for path, index in (kept or {}).items()}
    count = kept_blocks
    for count, ranges in enumerate(blocks, kept_blocks + 1):
        for path, (lo_us, hi_us) in ranges.items():
            index = indices.setdefault(path, TimeIndex())
            index.push_empty(count - 1 - index.blocks)
            index.push(lo_us, hi_us)
            index.push_empty(count - index.blocks)
    for index in indices.values():
        index.push_empty(count - index.blocks)
    return {path: indices[path] for path in sorted(indices) if not indices[path].is_empty}


def _structs(values: object, what: str) -> list[dict[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise CorruptError(f"{what} is not a list of structs")
    return values


def _path(value: object) -> Path:
    if not isinstance(value, list) or not _TEXTS.issuperset(map(type, value)):
        raise CorruptError("a path is not a list of names")
    if not 0 < len(value) <= MAX_COMPONENTS:
        raise CorruptError(f"a path has {len(value)} components, not 1 to {MAX_COMPONENTS}")
    return tuple([str(name) for name in value])
