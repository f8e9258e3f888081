"""Listing the inputs that a pattern of a definition finds, folder by folder."""

from __future__ import annotations

from sdb import notes
from sdb.errors import UsageError
from sdb.lake.names import is_lake_input, lake_input
from sdb.records import record
from sdb.store.base import child
from sdb.store.url import store_of
from sdb.table.format import etags
from sdb.table.inputs.pattern import InputPattern, in_listing_order
from sdb.table.inputs.patternregex import matcher
from sdb.table.inputs.places import InputBounds, place_of_input
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sdb.lake.rows import LakeRows
    from sdb.store.base import Entry, Store
    from sdb.table.catalog.root import TableRoot
    from sdb.table.inputs.etagcache import EtagCache

_LOCAL = "file://"
_MAGIC = frozenset("*?[{\\")


@record
class ListedInput:
    """An input as it was listed."""

    uri: str  # its full URI, by which tables know it
    location: str  # where to read it
    version: str  # its version in the store, see :meth:`sdb.store.base.Store.version`
    captured: dict[str, str]  # what the pattern has captured, by name
    is_remote: bool  # whether its store is; see :class:`sdb.store.base.Store`
    size_bytes: int = 0  # its size when it was listed
    modified_us: int = 0  # when it was written, see :class:`sdb.store.base.Entry`
    # The rows that a Delta or Iceberg table has of it; None: it is a separate input
    rows: LakeRows | None = None

    @property
    def store(self) -> Store:
        """The store that it is in."""
        return store_of(self.location)

    def etag(self, cache: EtagCache) -> str:
        """Return its ETag; a local one is read for that, unless this was done before.

        Raises `NotFoundError` if it has vanished.
        """
        if self.is_remote:
            return self.version
        if (cached := cache.get(self.location, self.version)) is not None:
            return cached
        etag = etags.of_opened(self.store.open(self.location))
        if self.is_same():
            cache.put(self.location, self.version, etag)
        return etag

    def is_same(self) -> bool:
        """Return whether it is still what was listed; files of other systems never change."""
        return self.rows is not None or self.store.version(self.location) == self.version


class Lister(Protocol):
    """Lists what is in folders; a store does, see :class:`sdb.store.base.Store`."""

    def list(self, folder: str) -> Sequence[Entry]:
        """List the objects directly below a folder, sorted by name."""

    def folders(self, folder: str) -> Sequence[str]:
        """List the folders directly below a folder, sorted."""


def list_inputs(
    root: TableRoot, pattern: InputPattern, lister: Lister | None = None
) -> Iterator[ListedInput]:
    """List the inputs that a pattern finds, in the order in which tables take them.

    * ``root``: The root; local patterns are relative to it.
    * ``lister``: What lists folders; the store if not given.

    Yields: Names that only nearly fit are left out, such as those with an empty capture.
    Raises `OutsideError` if the pattern leads out of the root, by itself or by a symbolic link.
    """
    if is_lake_input(pattern.text):
        return  # which has versions, see :mod:`sdb.table.sync.lakes`
    prefix, start, segments = start_of(root, pattern)
    bounds = InputBounds(root)
    store = store_of(start)
    is_remote = store.is_remote
    above = prefix if prefix == _LOCAL else f"{start}/"
    match = matcher(pattern)
    lister = lister or store
    for folder, relative in _Walk(bounds, pattern.text, lister).below(start, "", segments):
        skipped = len(folder) + (not folder.endswith("/"))
        beginning = above + relative
        for entry in lister.list(folder):
            location = entry.location
            uri = beginning + location[skipped:]
            captured = match(uri)
            if captured is not None:
                bounds.check_file(pattern.text, location)
                sizes = (entry.size_bytes, entry.modified_us)
                yield ListedInput(uri, location, entry.version, captured, is_remote, *sizes)


def folders_of(root: TableRoot, pattern: InputPattern, lister: Lister) -> Iterator[str]:
    """Return the folders in which a pattern may find inputs, in the order in which they are listed.

    * ``root``: The root; local patterns are relative to it.

    Raises `OutsideError` if the pattern leads out of the root.
    """
    if is_lake_input(pattern.text):
        return iter(())
    _, start, segments = start_of(root, pattern)
    walk = _Walk(InputBounds(root), pattern.text, lister)
    return (folder for folder, _ in walk.below(start, "", segments))


def start_of(root: TableRoot, pattern: InputPattern) -> tuple[str, str, list[str]]:
    """Return the scheme of a pattern, the folder that it starts at, and the segments below that."""
    scheme, mark, path = pattern.text.partition("://")
    prefix = f"{scheme}{mark}"
    segments = _segments(path)
    start = root.location if prefix == _LOCAL else prefix + segments.pop(0)
    if "\0" in path:
        raise UsageError(f"bad pattern {pattern.text!r}: it has a null character")
    if not (mark and segments):
        raise UsageError(
            f"bad pattern {pattern.text!r}: it has no folder to begin with",
            expected="file://folder/*.json, or s3://bucket/folder/*.json",
        )
    return prefix, start, segments


def check_patterns(root: TableRoot, patterns: Iterable[str]) -> None:
    """Check that patterns stay below the root as they are written; links are seen by a sync.

    Those that look as if they took whole trees are warned of.
    Raises `OutsideError` if one leads out of the root and `UsageError` if one is malformed.
    """
    for text in patterns:
        if is_lake_input(text):
            InputBounds(root).check(f"{text}", place_of_input(root, lake_input(text)[1]))
            continue
        pattern = InputPattern.parse(text)
        if "**" in text:
            below = text.replace("**", "*/*", 1)
            what = "** in the pattern of a table is the same as *, and takes no folders below"
            notes.warn(f"{text}: {what}; {below} takes those one level down")
        _, folder, segments = start_of(root, pattern)
        walk = _Walk(InputBounds(root), text, store_of(folder))
        for number, name in enumerate(segments):
            walk.check(folder, name, is_last=number + 1 == len(segments))
            folder = child(folder, name)


def named_inputs(
    root: TableRoot, pattern: InputPattern, entries: Mapping[str, Entry]
) -> Iterator[ListedInput]:
    """Yield those of some objects that a pattern finds, in the order in which tables take them.

    * ``root``: The root; local URIs are relative to it.

    Raises `OutsideError` if one is out of the root.
    """
    match = matcher(pattern)
    bounds = InputBounds(root)
    for uri in in_listing_order(entries):
        captured = match(uri)
        if captured is not None:
            location = place_of_input(root, uri)
            bounds.check(pattern.text, location)
            is_remote, entry = store_of(location).is_remote, entries[uri]
            sizes = (entry.size_bytes, entry.modified_us)
            yield ListedInput(uri, location, entry.version, captured, is_remote, *sizes)


class _Walk:
    """Iterates over the folders in which a pattern may find objects, within bounds."""

    def __init__(self, bounds: InputBounds, pattern: str, lister: Lister) -> None:
        self._bounds = bounds
        self._pattern = pattern
        self._lister = lister

    def below(self, folder: str, above: str, segments: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the folders below one, each with its path below the first of all."""
        first, below = segments[0], segments[1:]
        self.check(folder, first, is_last=not below)
        if not below:
            yield folder, above
            return
        names = [first]
        if _is_magic(first):
            fits = matcher(InputPattern.parse(first))
            names = [name for name in self._lister.folders(folder) if fits(name) is not None]
        for name in names:
            yield from self.below(child(folder, name), f"{above}{name}/", below)

    def check(self, folder: str, name: str, *, is_last: bool) -> None:
        """Check a folder if it is one to be listed; of a single object its own place may do.

        Raises `OutsideError` if it is out of the root.
        """
        is_object = is_last and not _is_magic(name)
        is_listed = is_last or _is_magic(name)
        if is_listed and not (is_object and self._bounds.has(child(folder, name))):
            self._bounds.check(self._pattern, folder)


def _is_magic(segment: str) -> bool:
    return not _MAGIC.isdisjoint(segment)


def _segments(path: str) -> list[str]:
    """Cut the path of a pattern at its slashes; those in a class of characters are none."""
    segments, start, depth, at = [], 0, False, 0
    while at < len(path):
        char = path[at]
        if char == "\\":
            at += 1
        elif char in "[]":
            depth = char == "["
        elif char == "/" and not depth:
            segments.append(path[start:at])
            start = at + 1
        at += 1
    return [*segments, path[start:]]
