"""Inputs that are packed for a query, each as a packfile: in the cache, or apart from it.

A packfile in the cache counts for an input as long as that is the same file with the same size and
times, or has the same content where times cannot tell (decision 016).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sdb import _core, notes, sizes
from sdb.errors import CorruptError, InputError, NotFoundError, text_of
from sdb.lake.names import lake_name
from sdb.packfile.inputs.far import fetched
from sdb.packfile.inputs.rawreading import USUAL
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.query.catalog import smallinputs
from sdb.records import record, replace
from sdb.store.local import cachefolder
from sdb.store.url import open_read
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.progress import Progress
    from sdb.store.base import Location, Reader

_LEVEL = 1
# Longer than the steps of the times of any file system, and than the system waits before it writes
# what a program has changed through a memory map.
_SETTLED_NS = 60 * 10**9
_NAME_LENGTH = 80
_LEAST_HUMAN = 1024


def recognised(location: Location, reading: RawReading, version: str = "") -> list[Input]:
    """Find out what an input is, or what is in it, and which fields its folders name."""
    fields = folder_fields(location)
    return [
        source if source.is_packfile or not fields else replace(source, defaults=fields[0])
        for source in reading.recognised(location, version)
    ]


def recognised_run(run: Iterable[str], reading: RawReading) -> list[Input]:
    """Find out what several inputs are; see :func:`recognised`."""
    sources: list[Input] = []
    said: list[tuple[str, str]] = []
    for location in run:
        with notes.collected() as warnings:
            sources += recognised(location, reading)
        said += [(location, warning) for warning in warnings]
    for warning in notes.of_each(said):
        notes.warn(warning)
    return sources


def folder_fields(location: Location) -> tuple[bytes, ...]:
    """Return the fields that the folders of an input name; nothing if they name none."""
    if "=" not in os.fspath(location):
        return ()
    from sdb.packfile.inputs.folders import defaults_of

    fields = defaults_of(os.fspath(location))
    return () if fields is None else (fields,)


@record
class RawState:
    """The facts that tell whether an input is still the same."""

    # Device, number, size and times of a local file; version of a remote object
    facts: tuple[object, ...]
    size_bytes: int  # its size
    is_settled: bool  # whether a change from now on would show in the facts


def state_of(location: Location) -> RawState:
    """Return what tells whether an input is still the same."""
    reader = open_read(location)
    try:
        return _state_read(location, reader)
    finally:
        reader.close()


def _state_read(location: Location, reader: Reader) -> RawState:
    size = reader.size_bytes
    if reader.descriptor is None:
        return RawState((os.fspath(location), reader.version, size), size, is_settled=True)
    status = os.fstat(reader.descriptor)
    facts = (status.st_dev, status.st_ino, size, status.st_mtime_ns, status.st_ctime_ns)
    youngest = max(status.st_mtime_ns, status.st_ctime_ns)
    return RawState(facts, size, is_settled=youngest + _SETTLED_NS < time.time_ns())


class CachedInput:
    """An input, and where its packfile is or shall be."""

    def __init__(
        self, location: Location, state: RawState, folder: str, reading: RawReading = USUAL
    ) -> None:
        self._location = location
        self.reading = reading
        self._name = self._what = text_of(location)
        self._state = state
        self.folder = folder
        # The name decides too, where the content does not: of CSV.
        base = "".join(
            letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_"
            for letter in os.fspath(location).rpartition("/")[2][-_NAME_LENGTH:]
        )
        # So do folders that are fields of the rows, and how it is read.
        self._named = (*folder_fields(location), *reading.texts())
        self._ending = f"-{state.size_bytes}-{base}{cachefolder.SUFFIX}"
        self._settled = f"s{digest_of((*state.facts, *self._named))}{self._ending}"
        self.made_bytes = 0  # by how much the cache has grown

    def open(self, threads: int | None, progress: Progress) -> Packfile:
        """Open the packfile, which is made if the cache does not have it."""
        packfile = self._find()
        if packfile is not None:
            return packfile
        sources, warnings = self._recognised()
        if sources[0].is_packfile:
            return open_packfile(self._location)
        with cachefolder.locked(self.folder, self._settled):
            packfile = self._find()  # another process may have been faster
            if packfile is None:
                packfile = self._make(sources, warnings, threads, progress)
        return packfile

    def apart(self, threads: int | None, progress: Progress, obstacle: str) -> Packfile:
        """Open a packfile that is made now, and vanishes when it is closed."""
        return packed_apart(self.sources(), threads, progress, obstacle)

    def sources(self) -> list[Input]:
        """Return the inputs whose rows the packfile has."""
        return recognised(self._location, self.reading)

    def _recognised(self) -> tuple[list[Input], list[str]]:
        """Return the inputs, and what there is to warn of."""
        with notes.collected() as warnings:
            sources = self.sources()
        return sources, warnings

    def _is_same(self) -> bool:
        """Return whether the input is still what it was."""
        return state_of(self._location).facts == self._state.facts

    def _find(self) -> Packfile | None:
        """Open the packfile that is there, if there is one."""
        if self._state.is_settled and (packfile := self._opened(self._settled)) is not None:
            return packfile
        # Reading a large input to no purpose would take time.
        is_large = self._state.size_bytes > smallinputs.SMALL_BYTES
        if is_large and not cachefolder.has("c", self._ending):
            return None
        name = self._by_content()
        if not os.path.lexists(self._path(name)):
            return None
        if self._state.is_settled and self._is_same():
            # From now on its times tell, so that its content need not be read again.
            try:
                cachefolder.rename(self._path(name), self._path(self._settled))
            except FileNotFoundError:
                return None
            name = self._settled
        return self._opened(name)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def _by_content(self) -> str:
        """Return the name for a file that is too young for its times to tell: by its content."""
        import hashlib

        digest = hashlib.sha256()
        reader = open_read(self._location)
        try:
            for piece in reader.pieces(0, reader.size_bytes):
                digest.update(piece)
        finally:
            reader.close()
        return f"c{digest_of((digest.digest(), *self._named))}{self._ending}"

    def _opened(self, name: str) -> Packfile | None:
        """Open a packfile of the cache under the name of the input; a damaged one is removed."""
        path = self._path(name)
        try:
            packfile = open_packfile(path, name=self._name)
        except NotFoundError:
            return None
        except CorruptError:
            cachefolder.remove(path)
            return None
        cachefolder.use(path)
        for warning in cachefolder.warnings_of(path):
            notes.warn(warning)
        return packfile

    def _make(
        self, sources: list[Input], said: list[str], threads: int | None, progress: Progress
    ) -> Packfile:
        # The content first: should it change meanwhile, this name is never looked for again.
        name = self._settled if self._state.is_settled else self._by_content()
        making = cachefolder.unfinished(self.folder)
        try:
            with notes.collected() as warnings:
                text = _pack(sources, making, threads, progress, self._what)
            # That there are no rows is said by what was left out, and not with the name of a draft.
            empty = f": {making} is empty"
            is_empty = any(text.endswith(empty) for text in warnings)
            warnings = [*said, *(text for text in warnings if not text.endswith(empty))]
            warnings += [f"{self._name}: no rows"] if is_empty and not said else []
            for warning in warnings:
                notes.warn(warning)
            packfile = open_packfile(making, name=self._name)
            if self._is_same():
                cachefolder.put(making, self._path(name), warnings)
                self.made_bytes = packfile.size_bytes
                notes.tell(f"{text}, and kept for the next query (sdb cache)", is_detail=False)
            else:
                changed = "it changed meanwhile, and the answer is of what was read"
                notes.tell(f"{text}; {changed}", is_detail=False)
        finally:
            with suppress(OSError):  # it has its name, or is gone already
                os.unlink(making)  # noqa: PTH108
        return packfile


class CachedByFacts(CachedInput):
    """An input that is known by facts alone, such as the version of a remote object."""

    @property
    def is_there(self) -> bool:
        """Return whether the cache has it."""
        return os.path.lexists(self._path(self._settled))

    def _find(self) -> Packfile | None:
        return self._opened(self._settled)


class CachedObject(CachedByFacts):
    """A version of a remote object."""

    _ready: tuple[list[Input], list[str]] | None = None

    def fetch(self) -> None:
        """Recognise it, and read it if it is small, unless the cache has its packfile.

        Raises `ConflictError` if there is another version by now.
        """
        if not self.is_there:
            sources, warnings = super()._recognised()
            self._ready = [fetched(source) for source in sources], warnings

    def sources(self) -> list[Input]:
        """Return the inputs whose rows the packfile has."""
        return recognised(self._location, self.reading, str(self._state.facts[1]))

    def _recognised(self) -> tuple[list[Input], list[str]]:
        ready, self._ready = self._ready, None
        return ready or super()._recognised()

    def _is_same(self) -> bool:
        return True  # no other version is read


class CachedVersion(CachedByFacts):
    """A version of a Delta or Iceberg table, or a part, and where its packfile is or shall be.

    * ``what``: The name of the part, for people; empty: it is the whole.
    """

    def __init__(
        self, location: str, state: RawState, folder: str, sources: list[Input], what: str = ""
    ) -> None:
        super().__init__(location, state, folder)
        self._inputs = sources
        self._what = what or self._what

    def apart(self, threads: int | None, progress: Progress, obstacle: str) -> Packfile:
        """Open a packfile that is made now, and vanishes when it is closed."""
        names = (self._name, self._what)
        return packed_apart(self._inputs, threads, progress, obstacle, names)

    def sources(self) -> list[Input]:
        """Return the inputs whose rows the packfile has."""
        return self._inputs

    def _is_same(self) -> bool:
        return True


class CachedRun(CachedByFacts):
    """Small inputs, and where the packfile of all of them is or shall be."""

    def __init__(
        self, name: str, state: RawState, folder: str, reading: RawReading, run: tuple[str, ...]
    ) -> None:
        super().__init__(name, state, folder, reading)
        self._run = run

    def sources(self) -> list[Input]:
        """Return the inputs whose rows the packfile has."""
        return recognised_run(self._run, self.reading)

    def _is_same(self) -> bool:
        return smallinputs.contents(self._run).digest == self._state.facts[0]


def packed_apart(
    sources: list[Input],
    threads: int | None,
    progress: Progress,
    obstacle: str,
    names: tuple[str, str] | None = None,
) -> Packfile:
    """Pack inputs into a file that vanishes when it is closed.

    * ``names``: That of the packfile, and of what is packed; those of the first input if not given.
    """
    from sdb.store.local.scratch import Scratch

    with Scratch() as folder:
        path = f"{folder.path}/packed"
        name, what = names or (sources[0].name,) * 2
        text = _pack(sources, path, threads, progress, what)
        why = f": {obstacle}" if obstacle else ""
        notes.tell(f"{text}, and not kept{why}", is_detail=False)
        return open_packfile(path, name=name)


def _pack(
    sources: list[Input],
    path: str,
    threads: int | None,
    progress: Progress,
    name: str,
) -> str:
    """Pack, and give what there is to tell of it."""
    from sdb.packfile.write.pack import LARGEST_ROW_BYTES, pack

    began = time.monotonic()
    try:
        result = pack(
            sources,
            path,
            level=_LEVEL,
            max_row_bytes=LARGEST_ROW_BYTES,
            threads=threads,
            progress=progress,
        )
    except InputError as error:
        if lake_name(sources[0].name) is None:
            path = str(error.path or name)
            path = name if path.startswith(f"{name}!") else path  # which is a file of an archive
            how = f"read_file({path!r}, on_error => 'skip')"
            error.hint = error.hint or f"{how} leaves malformed records out, 'keep' makes them rows"
        raise
    seconds = time.monotonic() - began
    stored = [source.stored()[0] for source in sources if lake_name(name) and source.stored]
    known = sum(source.size_bytes or 0 for source in sources)
    size = sum(stored) or known or result.text_bytes
    shown_size = sizes.human(size) if size >= _LEAST_HUMAN else f"{size} bytes"
    return f"packed {name} ({shown_size}) in {seconds:.1f} s"


def digest_of(facts: tuple[object, ...]) -> str:
    """Return a text that is another one for other facts, or another build of `sdb`."""
    import hashlib

    return hashlib.sha256(repr((_maker(), facts)).encode()).hexdigest()[:40]


def _maker() -> str:
    """Name what makes packfiles: another build may make others of the same input."""
    status = os.stat(_core.__file__)  # noqa: PTH116
    return f"{VERSION} {status.st_size} {status.st_mtime_ns}"
