"""Opens what a query names: packfiles as they are, other inputs as packfiles made for it.

Such packfiles stay in the user's cache folder for the next query, see `cachedinputs`; an answer is
never that of an older content.
"""

from __future__ import annotations

import os

from sdb import bounds, notes
from sdb.errors import ConflictError, SdbError
from sdb.lake.names import lake_name
from sdb.packfile.inputs.rawreading import USUAL
from sdb.packfile.inputs.streams import is_stream
from sdb.packfile.read.ahead import in_order
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.progress import silent
from sdb.query.catalog import smallinputs
from sdb.query.catalog.cachedinputs import (
    CachedInput,
    CachedObject,
    CachedRun,
    CachedVersion,
    RawState,
    digest_of,
    folder_fields,
    packed_apart,
    recognised,
    recognised_run,
    state_of,
)
from sdb.records import record, replace
from sdb.store.local import cachefolder
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from sdb.lake.names import LakeName
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.progress import Progress
    from sdb.query.catalog.lakefields import LakeFields
    from sdb.query.catalog.lakeparts import LakePart
    from sdb.store.base import Location
    from sdb.store.local.cachefolder import CacheEntry

SIZE_VARIABLE = "SDB_CACHE_SIZE"
_PACKED = ".zion"
_MOST_BYTES = 10 << 30
_BETWEEN_LOOKS = 64  # the part of its bound that the cache may grow by in between


def _whole(_location: str) -> None:
    """Say that all of a table is needed."""


def packed_reference(reference: PackfileReference, reading: RawReading) -> PackfileReference:
    """Return a reference that packs what it means when it is opened, if that is no packfile."""
    location = reference.location
    if reference.is_of_table or location.endswith(_PACKED):
        return reference
    return replace(
        reference, is_packed=True, opener=lambda _: open_table(location, reading=reading)
    )


def open_table(
    location: Location,
    *,
    reading: RawReading = USUAL,
    threads: int | None = None,
    progress: Progress = silent,
) -> Packfile:
    """Open a packfile, or an input as the packfile that it makes.

    * ``location``: A path or URL of a packfile, or of what :func:`sdb.pack` takes.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        There is no such file, or it may not be read.
    CorruptError, InputError
        It is damaged or malformed.
    """
    runs = [(os.fspath(location),)]
    ((_, packfile),) = open_runs(runs, reading=reading, threads=threads, progress=progress)
    return packfile


def open_runs(
    runs: Iterable[tuple[str, ...]],
    *,
    reading: RawReading = USUAL,
    fields: Callable[[str], LakeFields | None] = _whole,
    threads: int | None = None,
    progress: Progress = silent,
) -> Generator[tuple[tuple[str, ...], Packfile]]:
    """Yield inputs with the packfiles that they are or make; of a run of several it is one.

    * ``runs``: Paths or URLs, see :func:`sdb.query.catalog.smallinputs.runs_of`.
    * ``reading``: How those that are no packfiles are read.
    * ``fields``: Tells what is needed of a Delta or Iceberg table; None: all of it.

    Raises
    ------
    SdbError
        As :func:`open_table`.
    """
    kept_bytes, most_bytes = 0, _most_bytes()
    said: list[tuple[str, str]] = []
    all_runs = list(runs)
    are_remote = any(_is_remote(run[0]) for run in all_runs)

    def fetched(run: tuple[str, ...]) -> CachedObject | None:
        return _fetched(run, reading)

    objects = in_order(fetched, all_runs, is_remote=are_remote)
    try:
        for run, cached_object in zip(all_runs, objects, strict=True):
            with notes.collected() as warnings:
                if cached_object is not None:
                    packfile, made_bytes = _kept(cached_object, threads, progress)
                elif (lake := lake_name(run[0])) is not None:
                    packfile, made_bytes = _open_lake(lake, fields(run[0]), threads, progress)
                else:
                    packfile, made_bytes = _opened(run, reading, threads, progress)
            said += [(run[0], warning) for warning in warnings]
            yield run, packfile
            # To look how large the cache is means to look at all that lies there.
            kept_bytes += made_bytes
            if kept_bytes > most_bytes // _BETWEEN_LOOKS:
                cachefolder.bound(most_bytes)
                kept_bytes = 0
    finally:
        for warning in notes.of_each(said):
            notes.warn(warning)
        if kept_bytes:
            cachefolder.bound(most_bytes)


def _is_remote(location: str) -> bool:
    return lake_name(location) is None and store_of(location).is_remote


def _fetched(run: tuple[str, ...], reading: RawReading) -> CachedObject | None:
    """Return a remote input, read as far as it is small and not in the cache; None for any other.

    While one is packed, those that follow are on their way.
    """
    (location, *more) = run
    if more or location.endswith(_PACKED) or not _is_remote(location):
        return None
    folder, _ = _folder()
    if folder is None:
        return None
    cached_object = CachedObject(location, state_of(location), folder, reading)
    try:
        cached_object.fetch()
    except ConflictError:  # a new version since the look at it
        cached_object = CachedObject(location, state_of(location), folder, reading)
    return cached_object


def _opened(
    run: tuple[str, ...],
    reading: RawReading,
    threads: int | None,
    progress: Progress,
) -> tuple[Packfile, int]:
    """Open inputs as one packfile; and return by how much the cache grew."""
    location = run[0]
    if location.endswith(_PACKED):
        return open_packfile(location), 0
    path = store_of(location).path_of(location)
    if path is not None and is_stream(path):
        return packed_apart(recognised(location, reading), threads, progress, ""), 0
    folder, obstacle = _folder()
    if folder is not None:
        cached = (
            _run(run, folder, reading)
            if len(run) > 1
            else CachedInput(location, state_of(location), folder, reading)
        )
        return _kept(cached, threads, progress)
    sources = recognised_run(run, reading)
    if sources[0].is_packfile and len(run) == 1:
        return open_packfile(location), 0
    return packed_apart(sources, threads, progress, obstacle), 0


def _open_lake(
    name: LakeName, fields: LakeFields | None, threads: int | None, progress: Progress
) -> tuple[Packfile, int]:
    """Open a version of a Delta or Iceberg table as the packfile that its rows make.

    * ``fields``: What is needed of it; None: all.
    """
    from sdb.packfile.inputs.lake import inputs_of_version, version_of

    table, version = version_of(name)
    pinned = replace(name, version=version.version)
    folder, obstacle = _folder()
    size = sum(file.size_bytes for file in version.files.values())
    # A version stays what it is; what is deleted of a file has a unique name.
    identities = sorted((path, file.identity) for path, file in version.files.items())
    facts = (str(pinned), version.table_id, digest_of((identities, version.columns)))

    def cached(part: LakePart | None = None) -> CachedVersion:
        state = RawState((*facts, *(part.facts if part else ())), size, is_settled=True)
        sources = part.sources if part else inputs_of_version(pinned, table, version)
        return CachedVersion(str(pinned), state, folder or "", sources, part.what if part else "")

    def opened(part: LakePart | None = None) -> tuple[Packfile, int]:
        if folder is None or (part is not None and not part.is_kept):
            return cached(part).apart(threads, progress, obstacle), 0
        return _kept(cached(part), threads, progress)

    made_bytes = 0
    if fields is not None and not (folder and cached().is_there):
        from sdb.query.catalog.lakeparts import parts_of

        for part in parts_of(fields, pinned, table, version):
            with notes.collected() as warnings:
                packfile, part_bytes = opened(part)
            made_bytes += part_bytes
            if part.fields.are_known_from(packfile.trailer):
                for warning in warnings:
                    notes.warn(warning)
                return packfile, made_bytes
            packfile.close()
    packfile, whole_bytes = opened()
    return packfile, made_bytes + whole_bytes


def _kept(cached: CachedInput, threads: int | None, progress: Progress) -> tuple[Packfile, int]:
    """Open what the cache has or gets; and return by how much it grew."""
    try:
        return cached.open(threads, progress), cached.made_bytes
    except FileNotFoundError:
        if os.path.isdir(cached.folder):  # noqa: PTH112
            raise
        return cached.apart(threads, progress, f"{cached.folder} went meanwhile"), 0


def _run(run: tuple[str, ...], folder: str, reading: RawReading) -> CachedRun:
    contents = smallinputs.contents(run)
    facts = (contents.digest, *(folder_fields(location) for location in run))
    # Contents are compared each time, so there is nothing that times have to tell.
    state = RawState(facts, contents.size_bytes, is_settled=True)
    return CachedRun(smallinputs.name_of(run), state, folder, reading, run)


@record
class CacheContents:
    """The packfiles that queries have left in the cache.

    Attributes
    ----------
    folder : str
        Where it is.
    most_bytes : int
        How large it may become.
    entries : tuple of CacheEntry
        Packfiles; those that were used last come last.
    """

    folder: str
    most_bytes: int
    entries: tuple[CacheEntry, ...]

    @property
    def size_bytes(self) -> int:
        """Size of all of them."""
        return sum(entry.size_bytes for entry in self.entries)


def cached() -> CacheContents:
    """Report which packfiles queries on other inputs have left in the cache.

    Returns
    -------
    CacheContents
        The packfiles, and where they are.

    Examples
    --------
    >>> with sdb.sql("SELECT COUNT(*) AS n FROM 'testdata/parking2.json.gz'") as result:
    ...     list(result)
    [{'n': 1023}]
    >>> [entry.path.endswith("parking2.json.gz.zion") for entry in sdb.cached().entries]
    [True]
    """
    return CacheContents(cachefolder.place(), _most_bytes(), tuple(cachefolder.entries()))


def clear_cache() -> CacheContents:
    """Remove the packfiles that queries on other inputs have left in the cache.

    Returns
    -------
    CacheContents
        The removed packfiles. Queries that read them continue.

    Raises
    ------
    SdbError
        A file cannot be removed.

    Examples
    --------
    >>> len(sdb.clear_cache().entries), len(sdb.cached().entries)
    (1, 0)
    """
    return CacheContents(cachefolder.place(), _most_bytes(), tuple(cachefolder.clear()))


def _folder() -> tuple[str | None, str]:
    """Return the cache, or none and why."""
    if _most_bytes() == 0:
        return None, ""
    try:
        return cachefolder.make(), ""
    except SdbError as error:
        return None, error.message


def _most_bytes() -> int:
    text = os.environ.get(SIZE_VARIABLE)
    return bounds.KEPT.read(text) if text else _MOST_BYTES
