"""Listing the inputs that a pattern of a definition finds, folder by folder."""

from __future__ import annotations

from sdb.records import record
from sdb.store.base import child
from sdb.store.url import store_of
from sdb.table import etags, names
from sdb.table.compiledpattern import matcher
from sdb.table.inputpattern import InputPattern, in_listing_order
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdb.store.base import Entry, Store
    from sdb.table.etagcache import EtagCache
    from sdb.table.tableroot import TableRoot

_LOCAL = "file://"
_MAGIC = frozenset("*?[{\\")


@record
class ListedInput:
    """An input as it was listed.

    Attributes
    ----------
    uri : str
        Its full URI, by which tables know it.
    place : str
        Where to read it.
    version : str
        Its version in the store, see :meth:`sdb.store.base.Store.version`.
    captured : dict
        What the pattern has captured, by name.
    is_remote : bool
        Whether its store is; see :class:`sdb.store.base.Store`.
    size_bytes : int
        Its size when it was listed.
    """

    uri: str
    place: str
    version: str
    captured: dict[str, str]
    is_remote: bool
    size_bytes: int = 0

    @property
    def store(self) -> Store:
        """The store that it is in."""
        return store_of(self.place)

    def etag(self, cache: EtagCache) -> str:
        """Give its ETag; a local one is read for that, unless this was done before.

        Parameters
        ----------
        cache : EtagCache
            Knows the ETags of files that were read.

        Raises
        ------
        NotFoundError
            It has vanished.
        """
        if self.is_remote:
            return self.version
        if (known := cache.get(self.place, self.version)) is not None:
            return known
        found = etags.of_opened(self.store.open(self.place))
        if self.is_same():
            cache.put(self.place, self.version, found)
        return found

    def is_same(self) -> bool:
        """Tell whether it is still what was listed."""
        return self.store.version(self.place) == self.version


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

    Parameters
    ----------
    root : TableRoot
        The root; local patterns are relative to it.
    pattern : InputPattern
        The pattern of full URIs.
    lister : Lister, optional
        What lists folders; the store if not given.

    Yields
    ------
    ListedInput
        Names that only nearly fit are left out, such as those with an empty capture.
    """
    prefix, start, segments = _start(root, pattern)
    store = store_of(start)
    is_remote = store.is_remote
    above = prefix if prefix == _LOCAL else f"{start}/"
    match = matcher(pattern)
    lister = lister or store
    for folder, relative in _walk(lister, start, "", segments):
        skipped = len(folder) + (not folder.endswith("/"))
        beginning = above + relative
        for entry in lister.list(folder):
            location = entry.location
            uri = beginning + location[skipped:]
            captured = match(uri)
            if captured is not None:
                version, size = entry.version, entry.size_bytes
                yield ListedInput(uri, location, version, captured, is_remote, size)


def folders_of(root: TableRoot, pattern: InputPattern, lister: Lister) -> Iterator[str]:
    """Give the folders in which a pattern may find inputs, in the order in which they are listed.

    Parameters
    ----------
    root : TableRoot
        The root; local patterns are relative to it.
    pattern : InputPattern
        The pattern of full URIs.
    lister : Lister
        What lists folders.

    Returns
    -------
    iterator of str
        Path or URL of each.
    """
    _, start, segments = _start(root, pattern)
    return (folder for folder, _ in _walk(lister, start, "", segments))


def _start(root: TableRoot, pattern: InputPattern) -> tuple[str, str, list[str]]:
    """Give the scheme of a pattern, the folder that it starts at, and the segments below that."""
    scheme, mark, path = pattern.text.partition("://")
    prefix = f"{scheme}{mark}"
    segments = _segments(path)
    return prefix, root.location if prefix == _LOCAL else prefix + segments.pop(0), segments


def place_of_input(root: TableRoot, uri: str) -> str:
    """Give where to read an input, by its URI; empty where that leads out of the root."""
    if not uri.startswith(_LOCAL):
        return uri
    key = uri.removeprefix(_LOCAL)
    return "" if names.flaw_of_key(key) else root.place(key)


def named_inputs(
    root: TableRoot, pattern: InputPattern, found: Mapping[str, Entry]
) -> Iterator[ListedInput]:
    """Give those of some objects that a pattern finds, in the order in which tables take them.

    Parameters
    ----------
    root : TableRoot
        The root; local URIs are relative to it.
    pattern : InputPattern
        The pattern of full URIs.
    found : mapping
        The objects, by URI.

    Yields
    ------
    ListedInput
        One that fits.
    """
    match = matcher(pattern)
    for uri in in_listing_order(found):
        captured = match(uri)
        if captured is not None:
            place = place_of_input(root, uri)
            is_remote, entry = store_of(place).is_remote, found[uri]
            yield ListedInput(uri, place, entry.version, captured, is_remote, entry.size_bytes)


def _walk(store: Lister, folder: str, above: str, segments: list[str]) -> Iterator[tuple[str, str]]:
    """Go over folders of objects that may fit, each with its path below the first folder."""
    first, below = segments[0], segments[1:]
    if not below:
        yield folder, above
        return
    names = [first]
    if not _MAGIC.isdisjoint(first):
        fits = matcher(InputPattern.parse(first))
        names = [name for name in store.folders(folder) if fits(name) is not None]
    for name in names:
        yield from _walk(store, child(folder, name), f"{above}{name}/", below)


def _segments(path: str) -> list[str]:
    """Cut the path of a pattern at its slashes; those in a class of characters are none."""
    found, start, depth, at = [], 0, False, 0
    while at < len(path):
        char = path[at]
        if char == "\\":
            at += 1
        elif char in "[]":
            depth = char == "["
        elif char == "/" and not depth:
            found.append(path[start:at])
            start = at + 1
        at += 1
    return [*found, path[start:]]
