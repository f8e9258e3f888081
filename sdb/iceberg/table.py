"""An Iceberg table: its snapshots, by the metadata file that is the newest.

Metadata, lists of manifests and manifests are read with pyiceberg, through our stores. Rows that
files of positions delete are left out; files of equality deletes are refused.
"""

from __future__ import annotations

import re
from contextlib import closing, contextmanager

from sdb.errors import CorruptError, NotFoundError, SdbError, UnsupportedError
from sdb.iceberg.columns import column_of, partition_text
from sdb.lake.access import LakeFolder
from sdb.lake.columns import LakeColumns, has_other_names
from sdb.lake.model import LakeChange, LakeFile, LakeVersion
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    import numpy as np
    from pyiceberg.manifest import ManifestEntry, ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from sdb.iceberg.storedfiles import StoreIO

_FOLDER = "metadata"
_METADATA = re.compile(r"v?([0-9]+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_ENDINGS = (".gz.metadata.json", ".metadata.json.gz", ".metadata.json")
_HINT = "version-hint.text"
_NOTHING = 0
"""The version of a table without snapshots."""

_PATH, _POSITION = "file_path", "pos"


@record
class DeletedPositions:
    """The positions that files of deletes name in a data file."""

    unique_id: str
    positions: np.ndarray

    def rows(self, _folder: LakeFolder) -> np.ndarray:
        """Return the positions, ascending."""
        return self.positions


class IcebergTable:
    """A table as its newest metadata say: see :class:`sdb.lake.model.LakeTable`.

    * ``folder``: Its folder, which has a folder ``metadata``; or a file of that.

    Raises `NotFoundError` if there is no such table; `CorruptError` if its metadata are damaged, or
    there are two that may be the newest; `UnsupportedError` if pyiceberg is not installed.
    """

    def __init__(self, folder: LakeFolder) -> None:
        try:
            from sdb.iceberg.storedfiles import StoreIO
        except ModuleNotFoundError as error:
            message = f"{folder.location}: Iceberg tables need the package {error.name}"
            hint = "pip install 'sdb-packfile[iceberg]'"
            raise UnsupportedError(message, hint=hint) from None
        location = folder.location
        if location.endswith((".metadata.json", ".metadata.json.gz")):
            self._file, above = location, location.rpartition("/")[0]
            self.folder = LakeFolder(above.rpartition("/")[0] or ".", folder.check)
        else:
            self.folder = folder
            self._file = self._newest()
        self._manifests: dict[str, list[ManifestEntry]] = {}
        self._files: dict[int, dict[str, LakeFile]] = {}
        self._deletes: dict[str, dict[str, np.ndarray]] = {}
        self._metadata = self._read(StoreIO(self.folder))
        self._io = StoreIO(self.folder, self._metadata.location)
        self.table_id = str(self._metadata.table_uuid)
        current = self._metadata.current_snapshot_id
        self.latest = _NOTHING if current is None or current < 0 else current

    def _newest(self) -> str:
        """Return the metadata file that is the newest, never an older one."""
        locations = {
            entry.name: entry.location
            for entry in self.folder.list(_FOLDER)
            if entry.name.endswith(_ENDINGS)
        }
        where = self.folder.location
        if not locations:
            raise NotFoundError(f"{where}: there is no Iceberg table", path=where)
        hinted = self._hinted(locations)
        numbered: dict[int, list[str]] = {}
        for name in locations:
            if (named := _METADATA.fullmatch(name)) is not None:
                numbered.setdefault(int(named[1]), []).append(name)
            elif not hinted:
                raise self._unclear(locations, f"no number tells how old {name} is", name)
        if hinted:
            newest = [self._since(hinted, numbered, locations)]
        else:
            newest = sorted(numbered[max(numbered)])
        if len(newest) > 1:
            message = f"two metadata files may be the newest: {newest[0]} and {newest[1]}"
            raise self._unclear(locations, message, newest[0])
        return locations[newest[0]]

    def _since(
        self, hinted: str, numbered: Mapping[int, list[str]], locations: Mapping[str, str]
    ) -> str:
        """Return the newest metadata file after the one of the hint, which may be late."""
        if (named := _METADATA.fullmatch(hinted)) is None:
            return hinted
        newest, number = hinted, int(named[1])
        while len(following := numbered.get(number + 1, [])) == 1:
            newest, number = following[0], number + 1
        if later := [name for other, names in numbered.items() if other > number for name in names]:
            message = f"{_HINT} leads to {newest}, and {max(later)} has a higher number"
            raise self._unclear(locations, message, max(later))
        return newest

    def _hinted(self, names: Iterable[str]) -> str:
        """Return the metadata file that a hint beside it names; empty: there is no hint."""
        location = self.folder.below(f"{_FOLDER}/{_HINT}")
        try:
            text = self.folder.read(location).decode("utf-8", "replace").strip()
        except NotFoundError:
            return ""
        stems = (text, f"v{text}")
        meant = [f"{stem}{ending}" for stem in stems for ending in ("", *_ENDINGS)]
        if text.isdecimal():
            meant += [name for name in names if name.startswith(f"{int(text):05}-")]
        named = [name for name in meant if name in names]
        if not named:
            message = f"{self.folder.location}: {_HINT} says {text!r}: there are no such metadata"
            raise CorruptError(message, path=location)
        return named[0]

    def _unclear(self, locations: Mapping[str, str], message: str, name: str) -> CorruptError:
        """Return the error for metadata files of which it is not known which is the newest."""
        where = self.folder.location
        hint = f"name the one that the catalog has: iceberg:{locations[name]}"
        return CorruptError(f"{where}: {message}", path=where, hint=hint)

    def _read(self, files: StoreIO) -> TableMetadata:
        from pyiceberg.serializers import FromInputFile

        with _understood(self._file):
            return FromInputFile.table_metadata(files.new_input(self._file))

    def mark(self, _version: int) -> str:
        """Return nothing: the id of the table is at hand."""
        return ""

    def newer_than(self, version: int) -> list[int] | None:
        """Return the snapshots that lead from one to the newest; None: some are not known."""
        newer: list[int] = []
        current = self._snapshot_or_none(self.latest)
        while current is not None and current.snapshot_id != version:
            newer.append(current.snapshot_id)
            parent = current.parent_snapshot_id
            if parent is None and version == _NOTHING:
                return newer[::-1]
            current = None if parent is None else self._snapshot_or_none(parent)
        if version == self.latest:
            return []
        return None if current is None else newer[::-1]

    def names_anew(self, version: int, digest: str) -> bool:
        """Return whether columns are named otherwise than those of a digest, in the same version.

        A schema may change without a snapshot.
        """
        columns = self._columns(self._metadata.schema())
        if version != self.latest or columns.digest() == digest:
            return False
        return self.has_renamed(digest, columns)

    def has_renamed(self, digest: str, columns: LakeColumns) -> bool:
        """Return whether columns have other names than those of a digest, or are not there."""
        if columns.digest() == digest:
            return False
        for schema in self._metadata.schemas:
            before = self._columns(schema)
            if before.digest() == digest:
                return has_other_names(before, columns)
        return True

    def change(self, version: int) -> LakeChange:
        """Return what a snapshot has changed; see :class:`sdb.lake.model.LakeChange`."""
        state = self._state(version, is_newest=version == self.latest)
        parent = self._snapshot(version).parent_snapshot_id
        before = self._files_of(parent) if parent is not None else {}
        added = [
            file
            for path, file in state.files.items()
            if path not in before or before[path].identity != file.identity
        ]
        removed = frozenset(before) - frozenset(state.files)
        return LakeChange(version, state.columns, tuple(added), removed, state.operation)

    def at(self, version: int | None = None) -> LakeVersion:
        """Return a snapshot, with the columns that it had; the newest, with those of now."""
        number = self.latest if version is None else version
        return self._state(number, is_newest=version is None)

    def _state(self, number: int, *, is_newest: bool) -> LakeVersion:
        if number == _NOTHING:
            columns = self._columns(self._metadata.schema())
            return LakeVersion(self.table_id, number, columns, {})
        snapshot = self._snapshot(number)
        with _understood(self._file):
            schema = self._metadata.schema()
            if not is_newest and snapshot.schema_id is not None:
                schema = self._schema(snapshot.schema_id)
            columns = self._columns(schema)
        summary = snapshot.summary
        operation = "" if summary is None else summary.operation.value
        return LakeVersion(self.table_id, number, columns, self._files_of(number), operation)

    def _schema(self, number: int) -> Schema:
        known = (schema for schema in self._metadata.schemas if schema.schema_id == number)
        return next(known, self._metadata.schema())

    def _snapshot_or_none(self, number: int) -> Snapshot | None:
        return self._metadata.snapshot_by_id(number)

    def _snapshot(self, number: int) -> Snapshot:
        snapshot = self._snapshot_or_none(number)
        if snapshot is None:
            where = self.folder.location
            known = [str(snapshot.snapshot_id) for snapshot in self._metadata.snapshots[-3:]]
            last = f"; the last ones are {', '.join(known)}" if known else ""
            raise NotFoundError(f"{where}: there is no snapshot {number}{last}", path=where)
        return snapshot

    def _columns(self, schema: Schema) -> LakeColumns:
        mapping = self._metadata.name_mapping()
        aliases: dict[int, Any] = {}
        for field in () if mapping is None else mapping.root:
            if field.field_id is not None:
                aliases[field.field_id] = field
        return LakeColumns(tuple([column_of(field, aliases) for field in schema.fields]))

    def _files_of(self, number: int) -> dict[str, LakeFile]:
        """Return the data files of a snapshot."""
        if number not in self._files:
            self._files[number] = self._planned(self._snapshot(number))
        return self._files[number]

    def _planned(self, snapshot: Snapshot) -> dict[str, LakeFile]:
        data: list[ManifestEntry] = []
        deleting: list[ManifestEntry] = []
        for manifest in self._listed(snapshot):
            for entry in self._entries(manifest):
                content = int(entry.data_file.content)
                (deleting if content else data).append(entry)
        by_path: dict[str, list[tuple[int, np.ndarray]]] = {}
        for entry in deleting:
            for path, positions in self._deleted_by(entry).items():
                by_path.setdefault(path, []).append((entry.sequence_number or 0, positions))
        files = [self._file_of(entry, by_path) for entry in data]
        return {file.path: file for file in files}

    def _listed(self, snapshot: Snapshot) -> list[ManifestFile]:
        with _understood(snapshot.manifest_list):
            return snapshot.manifests(self._io)

    def _entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        known = self._manifests.get(manifest.manifest_path)
        if known is None:
            with _understood(manifest.manifest_path):
                known = manifest.fetch_manifest_entry(self._io)
            self._manifests[manifest.manifest_path] = known
        return known

    def _file_of(
        self, entry: ManifestEntry, deleted: dict[str, list[tuple[int, np.ndarray]]]
    ) -> LakeFile:
        file = entry.data_file
        _check_parquet(file.file_format.value, file.file_path)
        path, location = self._io.resolve(file.file_path)
        sequence = entry.sequence_number or 0
        parts = [positions for number, positions in deleted.get(path, ()) if number >= sequence]
        rows = _together(parts) if parts else None
        values = self._values(file.spec_id, file.partition)
        return LakeFile(path, location, file.file_size_in_bytes, values, rows)

    def _values(self, spec_id: int, partition: Any) -> tuple[tuple[str, str | None], ...]:  # noqa: ANN401
        """Return the values of the columns that a table is partitioned by as they are."""
        from pyiceberg.transforms import IdentityTransform

        spec = self._metadata.specs()[spec_id]
        values: list[tuple[str, str | None]] = []
        for number, field in enumerate(spec.fields):
            source = self._source(field.source_id)
            if isinstance(field.transform, IdentityTransform) and source is not None:
                text = partition_text(str(source.field_type), partition[number])
                values.append((source.name, text))
        return tuple(values)

    def _source(self, field_id: int) -> Any:  # noqa: ANN401 - a field of pyiceberg
        for schema in reversed(self._metadata.schemas):
            for field in schema.fields:
                if field.field_id == field_id:
                    return field
        return None

    def _deleted_by(self, entry: ManifestEntry) -> dict[str, np.ndarray]:
        """Return the positions that a file of deletes has, by the data files that they are in."""
        file = entry.data_file
        if int(file.content) != 1:
            message = f"{file.file_path}: equality deletes of Iceberg cannot be read yet"
            hint = "rewrite the data files where the table is written (rewrite_data_files)"
            raise UnsupportedError(message, hint=hint)
        _check_parquet(file.file_format.value, file.file_path)
        if file.file_path not in self._deletes:
            self._deletes[file.file_path] = self._positions(file.file_path)
        return self._deletes[file.file_path]

    def _positions(self, uri: str) -> dict[str, np.ndarray]:
        from pyarrow import parquet

        from sdb.store.readerfile import ReaderFile

        location = self._io.resolve(uri)[1]
        with _understood(location), closing(self.folder.open(location)) as reader:
            with parquet.ParquetFile(ReaderFile(reader)) as file:
                table = file.read(columns=[_PATH, _POSITION]).combine_chunks()
            paths = table.column(_PATH).combine_chunks().dictionary_encode()
            positions = table.column(_POSITION).to_numpy()
            codes = paths.indices.to_numpy()
            names = paths.dictionary.to_pylist()
        return {
            self._io.resolve(name)[0]: positions[codes == number]
            for number, name in enumerate(names)
        }


def _check_parquet(kind: str, uri: str) -> None:
    if kind.upper() == "PUFFIN":
        message = f"{uri}: deletion vectors of Iceberg, version 3, cannot be read yet"
        raise UnsupportedError(message)
    if kind.upper() != "PARQUET":
        raise UnsupportedError(f"{uri}: data files of the format {kind.upper()} cannot be read")


def _together(parts: list[np.ndarray]) -> DeletedPositions:
    import hashlib

    import numpy as np

    positions = np.unique(np.concatenate(parts)).astype(np.int64)
    digest = hashlib.blake2b(positions.tobytes(), digest_size=16).hexdigest()
    return DeletedPositions(f"{len(positions)}-{digest}", positions)


@contextmanager
def _understood(where: str) -> Iterator[None]:
    """Report metadata that pyiceberg does not understand as damaged."""
    try:
        yield
    except (SdbError, ImportError, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise
        text = str(error).split("\n", 1)[0] or type(error).__name__
        message = f"{where}: the metadata are damaged: {text}"
        raise CorruptError(message, path=where) from error
