"""The log of a Delta table: its commits and checkpoints, and the versions that come of them.

The log is read here, and not by a library: commits are wanted one by one, each with the files that
it removes, from all stores that there are. That takes a listing, and files of JSON and Parquet.
"""

from __future__ import annotations

import json
import re
from contextlib import closing

from sdb.delta.actions import (
    DeltaActions,
    DeltaMetadata,
    DeltaProtocol,
    actions_of_json,
    actions_of_rows,
)
from sdb.delta.columns import columns_of
from sdb.errors import CorruptError, NotFoundError
from sdb.lake.columns import has_other_names
from sdb.lake.model import LakeChange, LakeFile, LakeVersion
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sdb.lake.access import LakeFolder
    from sdb.lake.columns import LakeColumns
    from sdb.store.base import Entry

LOG = "_delta_log"
_SIDECARS = "_sidecars"
_HINT = "_last_checkpoint"
_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(
    r"([0-9]{20})\.checkpoint(?:\.([0-9]{10})\.([0-9]{10})|\.([0-9a-f-]{36}))?\.(parquet|json)"
)
_COLUMNS = (
    "add.path",
    "add.size",
    "add.partitionValues",
    "add.deletionVector",
    "metaData",
    "protocol",
    "sidecar",
    "txn",
)
_METADATA = ("metaData", "protocol")
_BATCH_ROWS = 10_000


@record
class DeltaSnapshot:
    """The state of a Delta table in a version."""

    version: int
    protocol: DeltaProtocol
    metadata: DeltaMetadata
    files: dict[str, LakeFile]  # by path
    transactions: dict[str, int]  # last versions of applications that have written
    operation: str = ""  # what made it; empty: not known


class DeltaVersions:
    """The log of a table as it was listed: see :class:`sdb.lake.model.LakeTable`.

    * ``since``: A version from which on it is enough to know the log.

    Raises `NotFoundError` if there is no log.
    """

    def __init__(self, folder: LakeFolder, *, since: int | None = None) -> None:
        self.folder = folder
        self._commits: dict[int, str] = {}
        self._marks: dict[int, str] = {}
        self._checkpoints: dict[int, list[list[str]]] = {}
        self._actions: dict[int, DeltaActions] = {}
        self._snapshots: dict[int, DeltaSnapshot] = {}
        self._columns: tuple[int, LakeColumns] | None = None
        self._since = self._hinted() if since is None else since
        self._list(self._since)
        if not self._commits and not self._checkpoints:
            self._list_all()
        if not self._commits and not self._checkpoints:
            raise NotFoundError(f"{folder.location}: there is no Delta table", path=folder.location)
        self.latest = max(*self._commits, *self._checkpoints, -1)

    @property
    def table_id(self) -> str:
        """Id of the table, which one that is made anew in its place does not have."""
        return self._metadata().table_id

    def _metadata(self) -> DeltaMetadata:
        """Return the newest metadata."""
        return self.snapshot().metadata

    def mark(self, version: int) -> str:
        """Return the version of the object of a commit; empty: the log does not have it."""
        return self._marks.get(version, "")

    def names_anew(self, _version: int, _digest: str) -> bool:
        """Return false: only a version names columns anew."""
        return False

    def has_renamed(self, digest: str, columns: LakeColumns) -> bool:
        """Return whether columns may have other names than those of a digest."""
        return columns.digest() != digest

    def newer_than(self, version: int) -> list[int] | None:
        """Return the versions after one, in order; None: the log has not all of them any more."""
        if version > self.latest:
            return None
        versions = list(range(version + 1, self.latest + 1))
        return versions if all(number in self._commits for number in versions) else None

    def commit(self, version: int) -> DeltaActions:
        """Return the actions of a version.

        Raises `NotFoundError` if the log does not have it, or not any more; `CorruptError` if it is
        damaged.
        """
        if version not in self._actions:
            if version not in self._commits:
                self._list_all()
            if version not in self._commits:
                raise self._missing(version)
            location = self._commits[version]
            read = actions_of_json(self.folder.read(location), self.folder, location)
            self._actions[version] = read
        return self._actions[version]

    def change(self, version: int) -> LakeChange:
        """Return what a version has changed; see :class:`sdb.lake.model.LakeChange`."""
        actions = self.commit(version)
        added = {add.file.path: add.file for add in actions.adds}
        removed = frozenset({path for path, _ in actions.removes if path not in added})
        columns, renames = self._columns_after(version, actions)
        return LakeChange(
            version, columns, tuple(added.values()), removed, actions.operation, renames
        )

    def _columns_after(self, version: int, actions: DeltaActions) -> tuple[LakeColumns, bool]:
        """Return the columns of a version, and whether those before have other names in it."""
        known = self._columns
        before: LakeColumns | None = None
        if known is not None and known[0] == version - 1:
            before = known[1]
        elif version:
            replay = self._replayed(version - 1, _METADATA)
            before = self._columns_of(replay.snapshot(version - 1, ""))
        after = before
        if actions.protocol is not None:
            actions.protocol.check(self.folder.location)
        if actions.metadata is not None:
            after = columns_of(actions.metadata, self.folder.location)
        if after is None:
            raise CorruptError(f"{self.folder.location}: version {version} has no metadata")
        self._columns = (version, after)
        return after, before is not None and has_other_names(before, after)

    def _columns_of(self, snapshot: DeltaSnapshot) -> LakeColumns:
        return columns_of(snapshot.metadata, self.folder.location)

    def at(self, version: int | None = None) -> LakeVersion:
        """Return a version; the newest one if not given."""
        state = self.snapshot(version)
        columns = self._columns_of(state)
        table_id, operation = state.metadata.table_id, state.operation
        return LakeVersion(table_id, state.version, columns, state.files, operation)

    def snapshot(self, version: int | None = None) -> DeltaSnapshot:
        """Return the state in a version; the newest one if not given.

        Raises `NotFoundError` if the log does not have it, or not any more; `CorruptError` if the
        log is damaged; `UnsupportedError` if it needs what this program cannot do.
        """
        number = self.latest if version is None else version
        if number not in self._snapshots:
            if not 0 <= number <= self.latest:
                raise self._missing(number)
            replay = self._replayed(number, _COLUMNS)
            operation = self.commit(number).operation if number in self._commits else ""
            self._snapshots = {number: replay.snapshot(number, operation)}
        return self._snapshots[number]

    def _replayed(self, number: int, columns: tuple[str, ...]) -> _Replay:
        """Read the newest checkpoint that is not later, and the commits behind it.

        * ``columns``: Those of checkpoints that are of interest.
        """
        if self._since and not any(start <= number for start in self._checkpoints):
            self._list_all()
        starts = sorted((start for start in self._checkpoints if start <= number), reverse=True)
        replay = _Replay(self.folder)
        start = -1
        for start in starts:
            checkpoint = self._checkpoint(start, columns)
            if checkpoint is not None:
                replay.apply(checkpoint)
                break
        else:
            start = -1
        for version in range(start + 1, number + 1):
            if version not in self._commits:
                if start < 0 and not any(commit < version for commit in self._commits):
                    raise self._missing(number)
                message = f"the log has no version {version}, and later ones"
                raise CorruptError(f"{self.folder.location}: {message}", path=self.folder.location)
            replay.apply(self.commit(version))
        return replay

    def _checkpoint(self, version: int, columns: tuple[str, ...]) -> DeltaActions | None:
        """Read a checkpoint of a version; None: no one of them is complete."""
        for parts in self._checkpoints[version]:
            actions = DeltaActions()
            for location in parts:
                self._read_part(location, actions, columns)
            for name in actions.sidecars if columns == _COLUMNS else ():
                location = name
                if "/" not in name:
                    location = self.folder.below(f"{LOG}/{_SIDECARS}/{name}")
                self._read_part(location, actions, columns)
            if actions.metadata is not None and actions.protocol is not None:
                return actions
        return None

    def _read_part(self, location: str, actions: DeltaActions, columns: tuple[str, ...]) -> None:
        if location.endswith(".json"):
            part = actions_of_json(self.folder.read(location), self.folder, location)
            actions.adds += part.adds
            actions.sidecars += part.sidecars
            actions.transactions |= part.transactions
            actions.metadata = part.metadata or actions.metadata
            actions.protocol = part.protocol or actions.protocol
        else:
            actions_of_rows(self._rows(location, columns), actions, self.folder, location)

    def _rows(self, location: str, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Yield the actions of a Parquet file as Python values."""
        import pyarrow as pa
        from pyarrow import parquet

        from sdb.store.readerfile import ReaderFile

        with closing(self.folder.open(location)) as reader:
            try:
                with parquet.ParquetFile(ReaderFile(reader)) as file:
                    for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns)):
                        yield from batch.to_pylist()
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.errno:
                    raise
                text = str(error).split("\n", 1)[0]
                message = f"{location}: the checkpoint is damaged: {text}"
                raise CorruptError(message, path=location) from None

    def _list_all(self) -> None:
        """List the log from its beginning on, if it was listed from a later version on."""
        if self._since:
            self._since = 0
            self._list(0)

    def _list(self, start: int) -> None:
        """List the log from a version on."""
        after = f"{start - 1:020}.~" if start else ""
        self._checkpoints.clear()
        parts: dict[tuple[int, int], dict[int, str]] = {}
        for entry in self.folder.list(LOG, after=after):
            self._note(entry, parts)
        for (version, count), numbered in parts.items():
            if sorted(numbered) == list(range(1, count + 1)):
                complete = [numbered[number] for number in sorted(numbered)]
                self._checkpoints.setdefault(version, []).append(complete)

    def _note(self, entry: Entry, parts: dict[tuple[int, int], dict[int, str]]) -> None:
        if commit := _COMMIT.fullmatch(entry.name):
            self._commits[int(commit[1])] = entry.location
            self._marks[int(commit[1])] = entry.version
        elif checkpoint := _CHECKPOINT.fullmatch(entry.name):
            version = int(checkpoint[1])
            if checkpoint[2] is None:
                self._checkpoints.setdefault(version, []).append([entry.location])
            else:
                part_of = (version, int(checkpoint[3]))
                parts.setdefault(part_of, {})[int(checkpoint[2])] = entry.location

    def _hinted(self) -> int:
        """Return the version of the last checkpoint as a file beside it says; 0: it does not."""
        location = self.folder.below(f"{LOG}/{_HINT}")
        try:
            version = json.loads(self.folder.read(location))["version"]
        except (NotFoundError, ValueError, KeyError, TypeError):
            return 0
        return version if type(version) is int and version > 0 else 0

    def _missing(self, version: int) -> NotFoundError:
        self._list_all()
        first = min([*self._checkpoints, *self._commits], default=0)
        where = self.folder.location
        versions = f"there are {self._first_readable(first)} to {self.latest}"
        return NotFoundError(f"{where}: there is no version {version}: {versions}", path=where)

    def _first_readable(self, first: int) -> int:
        if first in self._commits and first not in self._checkpoints and first > 0:
            return min(self._checkpoints, default=first)
        return first


class _Replay:
    """Actions that are applied one after the other."""

    def __init__(self, folder: LakeFolder) -> None:
        self._where = folder.location
        self._files: dict[str, LakeFile] = {}
        self._metadata: DeltaMetadata | None = None
        self._protocol: DeltaProtocol | None = None
        self._transactions: dict[str, int] = {}

    def apply(self, actions: DeltaActions) -> None:
        if actions.protocol is not None:
            actions.protocol.check(self._where)
        self._protocol = actions.protocol or self._protocol
        self._metadata = actions.metadata or self._metadata
        self._transactions |= actions.transactions
        for path, _ in actions.removes:
            self._files.pop(path, None)
        for add in actions.adds:
            self._files[add.file.path] = add.file

    def snapshot(self, version: int, operation: str) -> DeltaSnapshot:
        if self._metadata is None or self._protocol is None:
            message = f"{self._where}: the log has no metadata of the table"
            raise CorruptError(message, path=self._where)
        facts = (self._protocol, self._metadata, self._files, self._transactions)
        return DeltaSnapshot(version, *facts, operation)
