"""Block statistics: for each block and path what its values are between, and which there are.

They leave out blocks in which a value cannot be. They are a member of the extension of the
trailer, and of a path as much is decoded as is asked for. See the section on statistics in
docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate, chain, pairwise
from operator import lt

from sdb import ion, notes
from sdb.errors import CorruptError
from sdb.ion import IonSymbol
from sdb.packfile.trailer.lazybytes import held_bytes
from sdb.packfile.trailer.ribbonslices import CHECKSUM_BYTES, SlicedFilter, encode_filter
from sdb.packfile.trailer.statsection import StoredStatistics
from sdb.packfile.trailer.timeindex import integers, malformed
from sdb.packfile.trailer.zonemap import decode_zones, encode_zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.lazybytes import LazyBytes
    from sdb.packfile.trailer.ribbon import RibbonFilter, ValueSet
    from sdb.packfile.trailer.zonemap import Zone

    _Known = TypeVar("_Known")

ELEMENT = None
"""Stands in a path for the elements of a list, as in the presence of fields."""

VERSION = 1
ZONES, TEXTS, INTEGERS, WORDS, PREFIXES, JOINTS = 1, 5, 6, 7, 8, 9
"""What a section is of; sections of other kinds are passed over."""
"""Sections of filters as they were once: in more bytes for as many false answers."""

MAX_SECTIONS = 4096
MAX_DEPTH = 32
_MAX_HEAD_BYTES = 4 << 20
_LISTS = 5


class BlockStatistics:
    """The statistics of a packfile: what is known of the values in each block.

    Of a large packfile a section is read when it is asked for.

    A path is a tuple of names from the row on, as ``("actor", "id")``, in which `ELEMENT` stands
    for the elements of a list, as in ``("items", ELEMENT, "id")``. What is damaged or not there is
    not known: the answer is None, never wrong.
    """

    def __init__(
        self,
        blocks: int,
        sections: Mapping[tuple[FieldPath, int], tuple[int, int]],
        slices: Mapping[tuple[FieldPath, int], tuple[int, int]],
        body: bytes | LazyBytes,
    ) -> None:
        self._blocks = blocks
        self._sections = sections
        self._slices = slices
        self._body = body
        self._zones: dict[FieldPath, tuple[Zone | None, ...] | None] = {}
        self._filters: dict[tuple[FieldPath, int], SlicedFilter | None] = {}

    @property
    def blocks(self) -> int:
        """Number of blocks of the packfile."""
        return self._blocks

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths of which anything is known."""
        return tuple(dict.fromkeys(path for path, _ in self._sections))

    @property
    def sizes(self) -> dict[tuple[FieldPath, int], int]:
        """The size in bytes of what there is, by path and kind."""
        places = (self._sections, self._slices)
        return {key: sum(len(range(*ranges[key])) for ranges in places) for key in self._sections}

    def bytes_of(self, *kinds: int) -> int:
        """Return the size in bytes of what there is of some kinds, as of `WORDS`."""
        return sum(size for (_, kind), size in self.sizes.items() if kind in kinds)

    @property
    def held_bytes(self) -> int:
        """About how many bytes of them are in memory."""
        sizes = self.sizes
        zones = sum(sizes.get((path, ZONES), 0) for path in tuple(self._zones))
        filters = sum(
            values.held_bytes for values in tuple(self._filters.values()) if values is not None
        )
        return held_bytes(self._body) + zones + filters

    def load(self) -> None:
        """Read all of them at once, where most of them are needed.

        Raises `CorruptError`, `ConflictError` or `NotFoundError` if the packfile is not what was
        opened.
        """
        self._body = bytes(self._body)

    def zone(self, path: FieldPath) -> tuple[Zone | None, ...] | None:
        """Return the zone of each block at a path.

        Returns: One for each block; None in it for a block of which nothing is known. None: nothing
        is known of the path.
        """
        if path not in self._zones:
            self._zones[path] = _unless_damaged(lambda: self._read_zone(path))
        return self._zones[path]

    def texts(self, path: FieldPath) -> SlicedFilter | None:
        """Return the filter of the texts at a path; None: nothing is known."""
        return self._filter(path, TEXTS)

    def integers(self, path: FieldPath) -> SlicedFilter | None:
        """Return the filter of the integers at a path; None: nothing is known."""
        return self._filter(path, INTEGERS)

    def words(self, path: FieldPath) -> SlicedFilter | None:
        """Return the filter of the pieces of all texts at a path and inside of the values there.

        See :mod:`sdb.packfile.prune.ngrams`; None: nothing is known.
        """
        return self._filter(path, WORDS)

    def joints(self, path: FieldPath) -> SlicedFilter | None:
        """Return the filter of the joints of all texts at a path and inside of the values there.

        None: nothing is known, as of packfiles that were written before there were joints.
        """
        return self._filter(path, JOINTS)

    def prefixes(self, path: FieldPath) -> SlicedFilter | None:
        """Return the filter of the prefixes of the addresses at a path; None: nothing is known."""
        return self._filter(path, PREFIXES)

    def filter(self, path: FieldPath, kind: int) -> SlicedFilter | None:
        """Read the head of a filter; None if there is no filter.

        Raises `CorruptError` if it is damaged.
        """
        head = self.section(path, kind)
        if head is None:
            return None
        start, stop = self._slices.get((path, kind), (0, 0))

        def read(begin: int, end: int) -> bytes:
            return self._body[start + begin : start + end]

        return SlicedFilter.decode(
            head, self._blocks, is_text=kind == TEXTS, size_bytes=stop - start, read=read
        )

    def sets(self, path: FieldPath, kind: int) -> tuple[tuple[ValueSet, ...] | None, ...]:
        """Read all sets of each block; nothing where they are damaged."""
        values = self._filter(path, kind)
        whole = None if values is None else _unless_damaged(values.whole)
        return () if whole is None else whole.sets

    def _filter(self, path: FieldPath, kind: int) -> SlicedFilter | None:
        if (path, kind) not in self._filters:
            self._filters[path, kind] = _unless_damaged(lambda: self.filter(path, kind))
        return self._filters[path, kind]

    def _read_zone(self, path: FieldPath) -> tuple[Zone | None, ...] | None:
        data = self.section(path, ZONES)
        return None if data is None else decode_zones(data, self._blocks)

    def section(self, path: FieldPath, kind: int) -> bytes | None:
        """Return what is stored of a path; None when there is nothing.

        Raises `CorruptError` if it is damaged and `ConflictError` or `NotFoundError` if the
        packfile was replaced or removed before it was read.
        """
        range_ = self._sections.get((path, kind))
        if range_ is None:
            return None
        from sdb import _core

        data = self._body[slice(*range_)]
        checksum, data = data[:CHECKSUM_BYTES], data[CHECKSUM_BYTES:]
        if _core.hash_section(data).to_bytes(CHECKSUM_BYTES, "big") != checksum:
            raise CorruptError("a section of the statistics is damaged: its checksum is wrong")
        return data

    @classmethod
    def decode(cls, stored: StoredStatistics, blocks: int) -> Self | None:
        """Read what is stored.

        * ``blocks``: Number of blocks of the packfile.

        Returns: None when they are of a later version.
        Raises `CorruptError` if they are malformed.
        """
        listed = _listed(stored)
        if listed is None:
            return None
        depths, names, kinds, lengths, sliced = listed
        if min(lengths + sliced, default=0) < 0 or sum(lengths + sliced) != len(stored.body):
            raise CorruptError("invalid sections of the statistics: their sizes do not add up")
        starts = [*accumulate(depths, initial=0)]
        places = [*pairwise(accumulate(lengths + sliced, initial=0))]
        sections: dict[tuple[FieldPath, int], tuple[int, int]] = {}
        slices: dict[tuple[FieldPath, int], tuple[int, int]] = {}
        for at, kind in enumerate(kinds):
            inner = names[starts[at] : starts[at + 1]]
            path = tuple([None if name is None else str(name) for name in inner])
            if (path, kind) in sections:
                raise CorruptError("invalid statistics: a section is there twice")
            sections[path, kind] = places[at]
            slices[path, kind] = places[len(kinds) + at]
        return cls(blocks, sections, slices, stored.body)


def _unless_damaged(read: Callable[[], _Known]) -> _Known | None:
    """Return what `read` returns; None, with a note, if it is damaged."""
    try:
        return read()
    except CorruptError as error:
        notes.tell(f"statistics are ignored: {error.message}")
        return None


def _listed(stored: StoredStatistics) -> list[list[Any]] | None:
    """Read the lists of the head; None when they are of a later version."""
    from sdb import _core

    value = ion.loads(_core.zstd_decompress(stored.head, _MAX_HEAD_BYTES))
    if not isinstance(value, list) or not value or type(value[0]) is not int:
        raise malformed("statistics", "a list that begins with a version", value)
    if value[0] != VERSION:
        return None
    if len(value) == _LISTS:  # no section has slices
        value.append([0] * len(value[3]))
    if [*map(type, value[1:])] != _LISTS * [list]:
        raise malformed("statistics", f"a version and {_LISTS} lists", value)
    depths, names, kinds, lengths, sliced = value[1:]
    for numbers in (depths, kinds, lengths, sliced):
        integers(numbers, "the statistics")
    if not len(depths) == len(kinds) == len(lengths) == len(sliced) <= MAX_SECTIONS:
        raise CorruptError("invalid statistics: their lists differ in length, or are too long")
    least = [1 if kind in (ZONES, TEXTS, INTEGERS) else 0 for kind in kinds]
    if not all(map(range(MAX_DEPTH + 1).__contains__, depths)) or any(map(lt, depths, least)):
        raise CorruptError(f"invalid depth of a path in the statistics: expected 0 to {MAX_DEPTH}")
    if sum(depths) != len(names):
        raise CorruptError(
            f"invalid paths in the statistics: {sum(depths)} names expected, {len(names)} are there"
        )
    if any(name is not None and not isinstance(name, str) for name in names):
        raise CorruptError("invalid name in the statistics: expected text or null")
    return [depths, names, kinds, lengths, sliced]


def encode_statistics(
    zones: Mapping[FieldPath, Sequence[Zone | None]],
    filters: Mapping[tuple[FieldPath, int], RibbonFilter],
) -> StoredStatistics | None:
    """Return statistics as they are stored.

    * ``filters``: Filters by path and kind: `TEXTS`, `INTEGERS`, `WORDS`, `PREFIXES` or
      `JOINTS`.
    """
    sections = {(path, ZONES): (encode_zones(values), b"") for path, values in zones.items()}
    sections |= {key: encode_filter(values) for key, values in filters.items()}
    return store_sections(sections)


def store_sections(
    sections: Mapping[tuple[FieldPath, int], tuple[bytes, bytes]],
) -> StoredStatistics | None:
    """Return sections by path and kind, and their slices, as they are stored; None without any."""
    from sdb import _core

    if not sections:
        return None
    whole = [
        _core.hash_section(data).to_bytes(CHECKSUM_BYTES, "big") + data
        for data, _ in sections.values()
    ]
    slices = [ranges for _, ranges in sections.values()]
    names = chain.from_iterable(path for path, _ in sections)
    value = [
        VERSION,
        [len(path) for path, _ in sections],
        [None if name is None else IonSymbol(name) for name in names],
        [kind for _, kind in sections],
        [*map(len, whole)],
        [*map(len, slices)],
    ]
    return StoredStatistics(_core.zstd_compress(ion.dumps(value)), b"".join(whole + slices))
