"""The extension that only `sdb` writes: the field `sdb` of a sparse index.

Readers that do not know it skip the whole field, so it holds what the format has no place for:
how many rows each block has, which types occur at which path, and digests of the blocks. A file is
as good without it; so damage to it is a flaw that is reported, no reason to refuse the file. See
the section on the extension in docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate, chain, pairwise

from sdb import bounds, ion
from sdb.errors import CorruptError
from sdb.ion import IonSymbol
from sdb.packfile.trailer import declared
from sdb.packfile.trailer.statsection import StoredStatistics
from sdb.packfile.trailer.timeindex import in_int64, integers, malformed
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from sdb.packfile.trailer.declared import Columns

Path = tuple[str, ...]

VERSION = 1
DIGEST_BYTES = 20
MAX_COMPONENTS = 64
MAX_CLUSTERED = 4
MAX_SUMMARY_PATHS = 4096
MAX_SUMMARY_COMPONENTS = 32
MAX_SUMMARY_BYTES = 1 << 20
_MOST_BYTES = 4  # of a character
_UNKNOWN = bytes(DIGEST_BYTES)
_TEXTS = {str, IonSymbol}
_MASKS = range(1 << 16)
_LEVELS = range(bounds.LEVEL.least, bounds.LEVEL.most + 1)
_MAX_CONTENT_BYTES = 16 << 20
_MANY = 16
"""How many paths are stored compressed; for fewer it saves nothing."""


@record
class Summary:
    """Counts of rows and types of values, for queries that need no more."""

    rows: tuple[int, ...]  # number of rows of each block
    types: dict[Path, int]  # for each path the Ion types that occur there, as a bit mask
    complete: bool  # whether a path that is missing in `types` occurs nowhere

    @classmethod
    def bounded(cls, rows: Sequence[int], types: Mapping[Path, int], *, complete: bool) -> Self:
        """Make a summary that keeps to the limits of the format.

        * ``rows``: Number of rows of each block.
        * ``types``: For each path the Ion types that occur there, as a bit mask.
        * ``complete``: Whether `types` has every path that occurs.

        Returns: With the shallowest paths when not all of them fit.
        """
        ordered = sorted(types)
        if (
            len(ordered) <= MAX_SUMMARY_PATHS
            and max(map(len, ordered), default=0) <= MAX_SUMMARY_COMPONENTS
            and _MOST_BYTES * sum(map(len, chain.from_iterable(ordered))) <= MAX_SUMMARY_BYTES
        ):
            return cls(tuple(rows), {path: types[path] for path in ordered}, complete)
        bounded: dict[Path, int] = {}
        size_bytes = 0
        for path in sorted(types, key=lambda path: (len(path), path)):
            size_bytes += len("".join(path).encode())
            if (
                len(bounded) == MAX_SUMMARY_PATHS
                or len(path) > MAX_SUMMARY_COMPONENTS
                or size_bytes > MAX_SUMMARY_BYTES
            ):
                complete = False
                break
            bounded[path] = types[path]
        return cls(tuple(rows), {path: bounded[path] for path in sorted(bounded)}, complete)

    def encode(self) -> dict[str, object]:
        """Return the struct that is stored."""
        if len(self.types) >= _MANY:
            return {"version": VERSION, "summary": self._packed()}
        return {
            "version": VERSION,
            "rows": self._steps(),
            "types": [
                {"path": [*map(IonSymbol, path)], "mask": mask} for path, mask in self.types.items()
            ],
            "complete": self.complete,
        }

    def _steps(self) -> list[int]:
        return [after - before for before, after in pairwise((0, *self.rows))]

    def _packed(self) -> bytes:
        """Return the member `summary`."""
        from sdb import _core

        shared: list[int] = []
        added: list[int] = []
        names: list[IonSymbol] = []
        before: Path = ()
        for path in self.types:
            same = _common(before, path)
            shared.append(same)
            added.append(len(path) - same)
            names += map(IonSymbol, path[same:])
            before = path
        columns = [shared, added, names, [*self.types.values()]]
        return _core.zstd_compress(ion.dumps([self.complete, self._steps(), *columns]))

    @classmethod
    def decode(cls, value: object) -> Summary | None:
        """Read the struct that is stored.

        Returns: None when it is of another version, not ours, or has neither.
        Raises `CorruptError` if it is of our version but malformed.
        """
        if not isinstance(value, dict) or value.get("version") != VERSION:
            return None
        if "summary" in value:
            return cls._unpacked(value["summary"])
        if not value.keys() & {"rows", "types", "complete"}:
            return None
        listed = structs(value.get("types"), "the list of types")
        types = [(path_of(entry.get("path")), entry.get("mask")) for entry in listed]
        return cls._checked(value.get("rows"), types, value.get("complete", False))

    @classmethod
    def _unpacked(cls, stored: object) -> Summary:
        """Read the member `summary`."""
        from sdb import _core

        if type(stored) is not bytes:
            raise CorruptError("the summary is not a blob")
        value = ion.loads(_core.zstd_decompress(stored, _MAX_CONTENT_BYTES))
        if (
            not isinstance(value, list)
            or [*map(type, value[:1])] != [bool]
            or [*map(type, value[1:])] != 5 * [list]
        ):
            raise malformed("summary", "a truth value and 5 lists", value)
        complete, rows, shared, added, names, masks = value
        if not len(shared) == len(added) == len(masks):
            raise CorruptError("invalid summary: its lists differ in length")
        _limited(masks)
        for numbers in (shared, added):
            integers(numbers, "the summary")
        types: list[tuple[Path, object]] = []
        path: Path = ()
        at = 0
        for same, more, mask in zip(shared, added, masks, strict=True):
            if not 0 <= same <= len(path) or not 0 < more <= len(names) - at:
                raise CorruptError(
                    "invalid path in the summary: it takes more names than there are"
                )
            path = path_of([*path[:same], *names[at : at + more]])
            at += more
            types.append((path, mask))
        return cls._checked(rows, types, complete)

    @classmethod
    def _checked(
        cls, stored: object, listed: Sequence[tuple[Path, object]], complete: object
    ) -> Summary:
        """Require row counts and types that make sense."""
        rows = list(accumulate(integers(stored, "the list of row counts")))
        if rows and min(in_int64(rows, "the list of row counts")) < 0:
            raise CorruptError("invalid number of rows in the summary: it is negative")
        types: dict[Path, int] = {}
        _limited(listed)
        for path, mask in listed:
            if type(mask) is not int or mask not in _MASKS:
                raise CorruptError(f"invalid type mask in the summary: {mask!r}")
            if path in types:
                raise CorruptError(f"the summary has {'.'.join(path)} twice")
            types[path] = mask
        if type(complete) is not bool:
            raise CorruptError(
                f"invalid member complete of the summary: expected true or false, got {complete!r}"
            )
        return cls(tuple(rows), types, complete)


@record
class Extension:
    """The fields of the extension."""

    summary: Summary | None = None  # row counts and types
    # Digest of each block, empty where it is not known; no digests when none is known
    digests: tuple[bytes, ...] = ()
    flaw: str = ""  # why the extension was ignored; empty when it was not
    # In how many rows each field is, as it is stored; empty when it is not known
    presence: bytes = b""
    # Which inputs the rows came from, as it is stored; empty when it is not known
    provenance: bytes = b""
    # Level of zstd that new rows are compressed with; None when it is the default, or not known
    level: int | None = None
    statistics: StoredStatistics | None = None  # what is known of the values in each block
    # The paths whose values the rows are sorted by; none when they are not, or it is not known
    clustered: tuple[Path, ...] = ()
    # Identities of the rows, as they are stored; empty when it came in as it is
    identities: bytes = b""
    # The columns that its writer had, see :mod:`sdb.packfile.trailer.declared`; none: not known
    columns: Columns = ()

    def encode(self) -> dict[str, object]:
        """Return the struct that is stored; empty if there is nothing to store."""
        value: dict[str, object] = {}
        if self.summary is not None:
            value |= self.summary.encode()
        if any(self.digests):
            value["version"] = VERSION
            value["digests"] = b"".join(digest or _UNKNOWN for digest in self.digests)
        if self.summary is not None and self.presence:
            value["presence"] = self.presence
        if self.summary is not None and self.provenance:
            value["provenance"] = self.provenance
        if self.level is not None:
            value["version"] = VERSION
            value["level"] = self.level
        if self.summary is not None and self.statistics is not None:
            value["statistics"] = self.statistics.encode()
        if self.clustered:
            value["version"] = VERSION
            value["clustered"] = [[*map(IonSymbol, path)] for path in self.clustered]
        if self.summary is not None and self.identities:
            value["identities"] = self.identities
        if self.columns:
            value["version"] = VERSION
            value["columns"] = declared.encode(self.columns)
        return value

    @classmethod
    def read(cls, value: object, blocks: int) -> Self:
        """Read the struct that is stored.

        * ``value``: The value of the field; None if it is missing.

        Returns: Its content: nothing when it is of another version, and when anything in it is
        malformed; `flaw` then says what.
        """
        if value is None:
            return cls()
        try:
            if not isinstance(value, dict) or type(value.get("version")) is not int:
                raise CorruptError("it is not a struct with a version")  # noqa: TRY301
            if value["version"] != VERSION:
                return cls()
            summary = Summary.decode(value)
            if summary is not None and len(summary.rows) != blocks:
                raise CorruptError(f"{len(summary.rows)} row counts for {blocks} blocks")  # noqa: TRY301
            digests = _digests(value.get("digests", b""), blocks)
            level = _level(value.get("level"))
            members = [_blob(value, name) for name in ("presence", "provenance", "identities")]
            parts = members if summary is not None else [b"", b"", b""]
            stored = StoredStatistics.read(value.get("statistics"))
            statistics = None if summary is None else stored
            clustered = _clustered(value.get("clustered"))
            return cls(
                summary,
                digests,
                "",
                parts[0],
                parts[1],
                level,
                statistics,
                clustered,
                parts[2],
                declared.read(value.get("columns", [])),
            )
        except CorruptError as error:
            return cls(flaw=error.message)


def _blob(value: dict[str, Any], name: str) -> bytes:
    data = value.get(name, b"")
    if type(data) is not bytes:
        raise CorruptError(f"the {name} is not a blob")
    return data


def _limited(listed: Sequence[object]) -> None:
    if len(listed) > MAX_SUMMARY_PATHS:
        raise CorruptError(
            f"a summary of {len(listed):,} paths, the limit is {MAX_SUMMARY_PATHS:,}"
        )


def _common(path: Path, other: Path) -> int:
    """Count the names that two paths begin with."""
    pairs = enumerate(zip(path, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(path), len(other)))


def _level(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise CorruptError("the level is not an integer")
    return value if value in _LEVELS else None


def _clustered(value: object) -> tuple[Path, ...]:
    """Read what rows are sorted by; nothing where it makes no sense: no answer depends on it."""
    if not isinstance(value, list) or len(value) > MAX_CLUSTERED:
        return ()
    try:
        return tuple([path_of(path) for path in value])
    except CorruptError:
        return ()


def _digests(value: object, blocks: int) -> tuple[bytes, ...]:
    if type(value) is not bytes:
        raise CorruptError("the digests are not a blob")
    if not value:
        return ()
    if len(value) != DIGEST_BYTES * blocks:
        raise CorruptError(f"{len(value):,} bytes of digests for {blocks:,} blocks")
    cut = range(0, len(value), DIGEST_BYTES)
    digests = tuple([value[start : start + DIGEST_BYTES] for start in cut])
    return tuple([b"" if digest == _UNKNOWN else digest for digest in digests])


def structs(values: object, what: str) -> list[dict[str, Any]]:
    """Require a list of structs. Raises `CorruptError` if it is something else."""
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise CorruptError(f"{what} is not a list of structs")
    return values


def path_of(value: object) -> Path:
    """Require a path, which is a list of 1 to 64 names.

    Raises `CorruptError` if it is something else.
    """
    if not isinstance(value, list) or not _TEXTS.issuperset(map(type, value)):
        raise CorruptError("a path is not a list of names")
    if not 0 < len(value) <= MAX_COMPONENTS:
        raise CorruptError(f"a path has {len(value)} components, not 1 to {MAX_COMPONENTS}")
    return tuple([str(name) for name in value])
