"""From what users write to packfiles: paths, URLs, patterns, and folders that jobs fill.

Every command, query and Spark job asks here, so that a text means the same everywhere:

* ``folder/``, or the path of a folder, is all packfiles in it that count;
* a text with ``*``, ``?`` or ``[`` is a pattern, unless a local file has this very name, or an
  object that the pattern does not match where it matches none;
* everything else is the path or URL of one packfile.

A packfile that a job has not published counts nowhere; see :mod:`sdb.packfile.read.manifest`.
"""

from __future__ import annotations

import os

from sdb.errors import NotFoundError, UsageError, text_of
from sdb.lake.names import lake_name
from sdb.records import field, record
from sdb.store.base import child
from sdb.store.url import is_pattern, store_of, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from sdb.packfile.read.manifest import Manifest
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Entry, Location, Store

_SUFFIX = ".zion"


@record
class PackfileReference:
    """A packfile, as far as it is known without opening it."""

    location: str  # path or URL to open
    name: str  # name for messages: what the user wrote, where that stands for this packfile alone
    size_bytes: int | None = None  # its size, if a listing or manifest has it
    # Its version, see :meth:`sdb.store.base.Store.version`, if a listing has it; or empty
    version: str = ""
    # What opens it if it is one of a table, whose index knows it; the argument is `verify`
    opener: Callable[[bool], Packfile] | None = field(default=None, repr=False, compare=False)

    is_packed: bool = False  # whether it is an input that the opener packs

    @property
    def is_of_table(self) -> bool:
        """Return whether it is one of a table: no file is open before a block is read."""
        return self.opener is not None and not self.is_packed

    def open(self, *, verify: bool = True) -> Packfile:
        """Open it, see :func:`sdb.packfile.read.reader.open_packfile`."""
        if self.opener is not None:
            return self.opener(verify)
        from sdb.packfile.read.reader import open_packfile

        return open_packfile(self.location, verify=verify)

    def trailer(self) -> Trailer:
        """Read its trailer."""
        with self.open() as pack:
            return pack.whole_trailer()


if TYPE_CHECKING:
    Located: TypeAlias = "Location | PackfileReference"


def resolve(
    locations: Located | Iterable[Located], *, root: str | None = None, folders: bool = True
) -> list[PackfileReference]:
    """Return the packfiles that locations stand for.

    * ``locations``: Paths, URLs, patterns and folders; what was resolved before stays as it is.
    * ``root``: Folder or URL that those are relative to which are neither absolute nor URLs.
    * ``folders``: Whether a folder stands for what is in it.

    Returns: In the order of `locations`; what a pattern matches is sorted by name, what a folder
    has is in the order of its manifest. Packfiles that no job has published are left out.

    Raises
    ------
    NotFoundError
        A pattern or folder without a packfile that counts, or nothing but packfiles that do not.
    AccessError, CorruptError
        A folder may not be listed, or its manifest is damaged.
    """
    manifests = _Manifests()
    references: list[PackfileReference] = []
    unpublished = None
    if isinstance(locations, str | os.PathLike | PackfileReference):
        locations = (locations,)
    for location in locations:
        if isinstance(location, PackfileReference):
            references.append(location)
            continue
        listed = list(_resolved(location, root, manifests, folders=folders))
        unpublished = unpublished if listed else location
        references += listed
    if unpublished is not None and not references:
        raise _unpublished(unpublished)
    return references


def resolve_one(location: Location, *, root: str | None = None) -> PackfileReference:
    """Return the only packfile that a location stands for.

    * ``location, root``: See :func:`resolve`.

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
    """Open a packfile for reading.

    Only the trailer is read; blocks are read when they are asked for.

    Parameters
    ----------
    location : path or str
        A path or URL, or a pattern or folder that stands for one packfile.
    verify : bool
        Whether a block with a wrong checksum is an error. Turn it off only to rescue a damaged
        file: values may be wrong then.

    Returns
    -------
    Packfile
        The open file; close it, or use it in a ``with`` statement.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        The file cannot be opened, or there are several.
    CorruptError
        It is no packfile, or is damaged.

    Examples
    --------
    >>> with sdb.open("events.zion") as packfile:
    ...     packfile.trailer.algorithm, len(packfile.blocks)
    ('zion+zstd', 1)
    """
    from sdb.packfile.read.reader import open_packfile

    return open_packfile(resolve_one(location).location, verify=verify)


def _resolved(
    location: Location, root: str | None, manifests: _Manifests, *, folders: bool
) -> Iterator[PackfileReference]:
    """Yield what one location stands for; nothing, if no job has published it."""
    path = os.fspath(under(root, location))
    if (lake := lake_name(os.fspath(location))) is not None:
        message = f"{lake}: no packfile, but a table of {lake.kind.title()}"
        hint = f"sdb pack -o x.zion {lake} packs it; sdb query and sdb insert take it as it is"
        raise UsageError(message, hint=hint)
    store = store_of(path)
    if folders and path and store.is_folder(path):
        inside = _in_folder(path, store, manifests)
        if inside or path.endswith("/"):
            yield from _some(inside, path)
        else:
            yield PackfileReference(path, os.fspath(location))  # who opens it says what it is
    elif is_pattern(location, root):
        yield from _matching(_pattern(location, root), path, store, manifests)
    elif manifests.counts(path):
        yield PackfileReference(path, path if store.is_remote else os.fspath(location))


def _in_folder(folder: str, store: Store, manifests: _Manifests) -> list[PackfileReference]:
    entries = store.list(folder)
    packfiles = []
    if any(_is_attempt(entry.name) for entry in entries):
        packfiles = _published(child(folder, ""), manifests)
    plain = (entry for entry in entries if entry.name.endswith(_SUFFIX))
    return packfiles + [
        _reference(entry)
        for entry in plain
        if not entry.name.startswith(".") and not _is_attempt(entry.name)
    ]


def _some(packfiles: list[PackfileReference], folder: str) -> list[PackfileReference]:
    if not packfiles:
        raise NotFoundError(f"no packfiles in {text_of(folder)}", path=folder)
    return packfiles


def _pattern(location: Location, root: str | None) -> str:
    """Return a pattern below a root, whose own wildcards are escaped."""
    if not root:
        return os.fspath(location)
    from glob import escape

    return os.fspath(under(escape(root), location))


def _matching(
    pattern: str, path: str, store: Store, manifests: _Manifests
) -> list[PackfileReference]:
    entries = store.find(pattern)
    is_name = store.is_remote and not entries and not path.endswith("/")
    if is_name and (named := store.head(path)) is not None:
        from glob import escape

        entries, pattern = [named], escape(path)
    if not entries:
        what = "object" if store.is_remote else "file"
        raise NotFoundError(f"no {what} matches {text_of(path)}", path=path)
    fits = store.matcher(pattern)
    packfiles = [_reference(entry) for entry in entries if not _is_attempt(entry.name)]
    # A job may have been published since the names were listed: its manifest has all or none.
    attempts = [entry for entry in entries if _is_attempt(entry.name)]
    for above in {entry.location.removesuffix(entry.name) for entry in attempts}:
        packfiles += [
            published for published in _published(above, manifests) if fits(published.location)
        ]
    return sorted(packfiles, key=lambda reference: reference.location)


def _published(folder: str, manifests: _Manifests) -> list[PackfileReference]:
    """Return what the manifest of a folder lists, in its order."""
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
        """Return manifest of a folder, with the slash at its end; an empty one if it has none."""
        if folder not in self._known:
            from sdb.packfile.read.manifest import Manifest, read

            self._known[folder] = read(folder or ".") or Manifest()
        return self._known[folder]

    def counts(self, path: str) -> bool:
        """Return whether a packfile counts: all do but those that no job has published."""
        name = path.rpartition("/")[2]
        return not _is_attempt(name) or name in self.of(path.removesuffix(name)).names


def _is_attempt(name: str) -> bool:
    """Return whether a name is that of an attempt; most are not, which is seen at once."""
    if not name.startswith("part-"):
        return False
    from sdb.packfile.read.manifest import job_of

    return job_of(name) is not None
