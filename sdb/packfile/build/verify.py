"""Checks the statistics of a packfile against its rows."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.build.newstats import zone_of
from sdb.packfile.trailer.blockstats import (
    INTEGERS,
    JOINTS,
    PREFIXES,
    TEXTS,
    WORDS,
    ZONES,
)
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.packfile.trailer.zonemap import decode_zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.ribbon import RibbonFilter, ValueSet
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.packfile.trailer.zonemap import Zone

_COMPARED = {
    "types": "types",
    "values": "values",
    "nulls": "nulls",
    "numbers": "numbers",
    "texts": "texts",
    "times": "times",
    "booleans": "truth values",
    "has_nan": "NaN",
}


class StatisticsCheck:
    """The statistics of a packfile, to be compared with its blocks."""

    def __init__(self, trailer: Trailer) -> None:
        self.flaws: list[str] = []
        self._trailer = trailer
        self._zones: dict[FieldPath, tuple[Zone | None, ...]] = {}
        self._filters: dict[tuple[FieldPath, int], RibbonFilter] = {}
        self._paths: list[FieldPath] = []
        try:
            statistics = trailer.sparse.statistics()
            if statistics is not None:
                statistics.load()
        except CorruptError as error:
            self.flaws.append(f"the statistics are ignored: {error.message}")
            return
        blocks = len(trailer.blocks)
        if statistics is None:
            return
        for path, kind in statistics.sizes:
            try:
                if kind == ZONES:
                    self._zones[path] = decode_zones(statistics.section(path, kind) or b"", blocks)
                elif kind in (TEXTS, INTEGERS, WORDS, PREFIXES, JOINTS):
                    values = statistics.filter(path, kind)
                    if values is not None:
                        self._filters[path, kind] = values.whole()
            except CorruptError as error:
                name = (
                    _words_of(path)
                    if kind in (WORDS, JOINTS)
                    else f"statistics of {field_name(path)}"
                )
                self.flaws.append(f"{name}: {error.message}")
        plain = (path for path, kind in self._filters if kind in (TEXTS, INTEGERS))
        self._paths += dict.fromkeys([*self._zones, *plain])

    def compare(self, number: int, block: bytes) -> list[str]:
        """Compare the statistics of a block with its rows.

        * ``number``: The block, counted from 0.
        """
        if not self._zones and not self._filters:
            return []
        from sdb import _core

        expected = [
            (path, self._bits(path, TEXTS, number), self._bits(path, INTEGERS, number))
            for path in self._paths
        ]
        algorithm, align_bytes = self._trailer.algorithm, self._trailer.align_bytes
        try:
            measured = _core.measure_block(block, algorithm, align_bytes, expected)
        except CorruptError:
            return []  # what is wrong with the rows themselves is found by others
        findings: list[str] = []
        for path, (zone, texts, integers) in zip(self._paths, measured, strict=True):
            if zone is None:
                continue
            name = f"path {field_name(path)}"
            stored = self._zones.get(path, (None,) * (number + 1))[number]
            if stored is not None:
                findings += [f"{name}: {text}" for text in _differences(stored, zone_of(zone))]
            for what, count in (("texts", texts), ("integers", integers)):
                if count:
                    findings.append(f"{name}: {count:,} {what} are not in its filter")
        return findings + self._words(number, block)

    def _words(self, number: int, block: bytes) -> list[str]:
        """Compare the filters of words and prefixes with the rows of a block."""
        from sdb import _core

        keys = [(path, kind) for path, kind in self._filters if kind in (WORDS, PREFIXES, JOINTS)]
        filters = [(path, kind, self._bits(path, kind, number)) for path, kind in keys]
        expected = [(path, kind, bits) for path, kind, bits in filters if bits is not None]
        algorithm, align_bytes = self._trailer.algorithm, self._trailer.align_bytes
        missing = _core.missing_ngrams(block, algorithm, align_bytes, expected)
        return [
            f"prefixes of {field_name(path)}: {count:,} are not in their filter"
            if kind == PREFIXES
            else f"{_words_of(path)}: {count:,} pieces are not in their filter"
            for (path, kind, _), count in zip(expected, missing, strict=True)
            if count
        ]

    def _bits(self, path: FieldPath, kind: int, number: int) -> list[tuple[bytes, int]] | None:
        values = self._filters.get((path, kind))
        sets: tuple[ValueSet, ...] | None = values.sets[number] if values is not None else None
        return None if sets is None else [(value_set.bits, value_set.planes) for value_set in sets]


def _words_of(path: FieldPath) -> str:
    return f"words of {field_name(path) if path else 'the row'}"


def _differences(stored: Zone, actual: Zone) -> list[str]:
    """Report what a zone says that is not so."""
    return [
        f"its zone has the {name} {getattr(stored, key)!r}, the rows have {getattr(actual, key)!r}"
        for key, name in _COMPARED.items()
        if getattr(stored, key) != getattr(actual, key)
    ]
