"""From what users write to packfiles: paths, URLs, patterns, and folders that jobs fill.

Every command, query and Spark job asks here, so that a text means the same everywhere:

* ``folder/``, or the path of a folder, is all packfiles in it that count;
* a text with ``*``, ``?`` or ``[`` is a pattern, unless a local file has this very name;
* everything else is the path or URL of one packfile.

A packfile that a job has not published counts nowhere; see :mod:`sdb.packfile.read.manifest`.
"""

from __future__ import annotations

import os

from sdb.errors import NotFoundError, UsageError, text_of
from sdb.records import record
from sdb.store.base import child
from sdb.store.url import is_pattern, store_of, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.packfile.read.manifest import Manifest
    from sdb.packfile.read.reader import Packfile
    from sdb.store.base import Entry, Location, Store

_SUFFIX = ".zion"


@record
class PackfileReference:
    """A packfile, as far as it is known without opening it.

    Attributes
    ----------
    location : str
        Path or URL to open.
    name : str
        Name for messages: what the user wrote, where that stands for this packfile alone.
    size_bytes : int or None
        Its size, when a listing or manifest told it.
    version : str
        Its version, see :meth:`sdb.store.base.Store.version`, when a listing told it; or empty.
    """

    location: str
    name: str
    size_bytes: int | None = None
    version: str = ""


def resolve(
    locations: Location | Iterable[Location], *, root: str | None = None, folders: bool = True
) -> list[PackfileReference]:
    """Give the packfiles that locations stand for.

    Parameters
    ----------
    locations : path or str, or iterable of these
        Paths, URLs, patterns and folders.
    root : str, optional
        Folder or URL that those are relative to which are neither absolute nor URLs.
    folders : bool
        Whether a folder stands for what is in it.

    Returns
    -------
    list of PackfileReference
        In the order of `locations`; what a pattern matches is sorted by name, what a folder has is
        in the order of its manifest. Packfiles that no job has published are left out.

    Raises
    ------
    NotFoundError
        A pattern or folder without a packfile that counts, or nothing but packfiles that do not.
    AccessError, CorruptError
        A folder may not be listed, or its manifest is damaged.
    """
    manifests = _Manifests()
    found: list[PackfileReference] = []
    unpublished = None
    for location in [locations] if isinstance(locations, str | os.PathLike) else locations:
        kept = list(_resolved(location, root, manifests, folders=folders))
        unpublished = unpublished if kept else location
        found += kept
    if unpublished is not None and not found:
        raise _unpublished(unpublished)
    return found


def resolve_one(location: Location, *, root: str | None = None) -> PackfileReference:
    """Give the only packfile that a location stands for.

    Parameters
    ----------
    location, root
        See :func:`resolve`.

    Returns
    -------
    PackfileReference
        The packfile.

    Raises
    ------
    UsageError
        It stands for several.
    NotFoundError, AccessError, CorruptError
        See :func:`resolve`.
    """
    first, *others = resolve([location], root=root)
    if others:
        path = text_of(location)
        raise UsageError(f"{path}: {1 + len(others):,} packfiles, where one is wanted", path=path)
    return first


def open_one(location: Location, *, verify: bool = True) -> Packfile:
    """Open a packfile for reading. This is :func:`sdb.open`.

    Only the trailer is read; blocks are read when they are asked for.

    Parameters
    ----------
    location : path or str
        A path or URL, or a pattern or folder that stands for one packfile.
    verify : bool
        Whether blocks with a wrong checksum are errors. Turn it off only to rescue what is left of
        a damaged file: values may be wrong then.

    Returns
    -------
    Packfile
        The open file; close it, or use it in a ``with`` statement.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        The file cannot be opened, or there are several.
    CorruptError
        It is no packfile, or a damaged one.

    Examples
    --------
    >>> sdb.open("events.zion").trailer.algorithm      # doctest: +SKIP
    'zion+zstd'
    """
    from sdb.packfile.read.reader import open_packfile

    return open_packfile(resolve_one(location).location, verify=verify)


def _resolved(
    given: Location, root: str | None, manifests: _Manifests, *, folders: bool
) -> Iterator[PackfileReference]:
    """Give what one location stands for; nothing, if no job has published it."""
    place = os.fspath(under(root, given))
    store = store_of(place)
    if folders and place and store.is_folder(place):
        inside = _in_folder(place, store, manifests)
        if inside or place.endswith("/"):
            yield from _some(inside, place)
        else:
            yield PackfileReference(place, os.fspath(given))  # who opens it says what it is
    elif is_pattern(given, root):
        yield from _matching(_pattern(given, root), place, store, manifests)
    elif manifests.counts(place):
        yield PackfileReference(place, place if store.is_remote else os.fspath(given))


def _in_folder(folder: str, store: Store, manifests: _Manifests) -> list[PackfileReference]:
    entries = store.list(folder)
    found = []
    if any(_is_attempt(entry.name) for entry in entries):
        found = _published(child(folder, ""), manifests)
    plain = (entry for entry in entries if entry.name.endswith(_SUFFIX))
    return found + [
        _reference(entry)
        for entry in plain
        if not entry.name.startswith(".") and not _is_attempt(entry.name)
    ]


def _some(found: list[PackfileReference], folder: str) -> list[PackfileReference]:
    if not found:
        raise NotFoundError(f"no packfiles in {text_of(folder)}", path=folder)
    return found


def _pattern(given: Location, root: str | None) -> str:
    """Give a pattern below a root, which is none itself."""
    if not root:
        return os.fspath(given)
    from glob import escape

    return os.fspath(under(escape(root), given))


def _matching(
    pattern: str, place: str, store: Store, manifests: _Manifests
) -> list[PackfileReference]:
    found = store.find(pattern)
    if not found:
        what = "object" if store.is_remote else "file"
        raise NotFoundError(f"no {what} matches {text_of(place)}", path=place)
    fits = store.matcher(pattern)
    kept = [_reference(entry) for entry in found if not _is_attempt(entry.name)]
    # A job may have been published since the names were listed: its manifest has all or none.
    attempts = [entry for entry in found if _is_attempt(entry.name)]
    for above in {entry.location.removesuffix(entry.name) for entry in attempts}:
        kept += [one for one in _published(above, manifests) if fits(one.location)]
    return sorted(kept, key=lambda reference: reference.location)


def _published(folder: str, manifests: _Manifests) -> list[PackfileReference]:
    """Give what the manifest of a folder lists, in its order."""
    return [
        PackfileReference(folder + file.name, folder + file.name, file.size_bytes, file.etag)
        for file in manifests.of(folder).files
    ]


def _reference(entry: Entry) -> PackfileReference:
    return PackfileReference(entry.location, entry.location, entry.size_bytes, entry.version)


def _unpublished(location: Location) -> NotFoundError:
    from sdb.packfile.read.manifest import NAME

    return NotFoundError(
        f"{text_of(location)}: no job has published this",
        path=os.fspath(location),
        hint=f"{NAME} beside it lists what counts",
    )


class _Manifests:
    """Manifests of folders, each read when it is needed first."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Manifest] = {}

    def of(self, folder: str) -> Manifest:
        """Give the manifest of a folder, with the slash at its end; an empty one if it has none."""
        if folder not in self._known:
            from sdb.packfile.read.manifest import Manifest, read

            self._known[folder] = read(folder or ".") or Manifest()
        return self._known[folder]

    def counts(self, place: str) -> bool:
        """Tell whether a packfile counts: all do but those that no job has published."""
        name = place.rpartition("/")[2]
        return not _is_attempt(name) or name in self.of(place.removesuffix(name)).names


def _is_attempt(name: str) -> bool:
    """Tell whether a name is that of an attempt; most are not, which is seen at once."""
    if not name.startswith("part-"):
        return False
    from sdb.packfile.read.manifest import job_of

    return job_of(name) is not None
