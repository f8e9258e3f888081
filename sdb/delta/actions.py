"""Actions of a Delta log: what commits and checkpoints say, as records."""

from __future__ import annotations

import json
import re

from sdb.delta.deletionvectors import DeletionVector
from sdb.errors import CorruptError, UnsupportedError
from sdb.lake.model import LakeFile
from sdb.records import changing_record, field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sdb.lake.access import LakeFolder

_SPACE = re.compile(r"[ \t\r\n]*")
_NO_COLUMNS = '{"type": "struct", "fields": []}'
_READER_VERSION = 3
_WITH_FEATURES = 3
FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
"""The features of tables that this program can read."""


@record
class DeltaProtocol:
    """The protocol that a reader of a table has to know."""

    version: int
    features: tuple[str, ...] = ()

    def check(self, where: str) -> None:
        """Check that this program knows it. Raises `UnsupportedError` if it does not."""
        if self.version > _READER_VERSION or self.version < 1:
            message = f"{where}: the table needs version {self.version} of the Delta protocol"
            raise UnsupportedError(f"{message} for readers; up to {_READER_VERSION} can be read")
        unknown = sorted(set(self.features) - FEATURES)
        if self.version >= _WITH_FEATURES and unknown:
            features = "the feature" if len(unknown) == 1 else "the features"
            message = f"{where}: the table needs {features} {', '.join(unknown)} of Delta"
            raise UnsupportedError(f"{message}, which cannot be read yet")


@record
class DeltaMetadata:
    """The metadata of a table."""

    table_id: str
    schema: str  # a text of JSON
    partitions: tuple[str, ...]
    configuration: Mapping[str, str]


@record
class DeltaAdd:
    """A data file that comes in, and what the log says of it."""

    file: LakeFile
    changes_data: bool = True  # whether its rows are new, and not those of files that go


@changing_record
class DeltaActions:
    """The actions of a commit or a checkpoint."""

    adds: list[DeltaAdd] = field(default_factory=list)
    removes: list[tuple[str, str]] = field(default_factory=list)  # paths, and ids of vectors
    metadata: DeltaMetadata | None = None
    protocol: DeltaProtocol | None = None
    info: dict[str, Any] = field(default_factory=dict)  # who has committed, and why
    transactions: dict[str, int] = field(default_factory=dict)  # versions of applications
    sidecars: list[str] = field(default_factory=list)  # files of a checkpoint with more actions

    def take(self, action: Mapping[str, Any], folder: LakeFolder) -> None:
        """Add an action; those that do not matter to readers are passed over.

        Raises `KeyError`, `TypeError` or `ValueError` if it is malformed.
        """
        if (add := action.get("add")) is not None:
            self.adds.append(_add(add, folder))
        elif (remove := action.get("remove")) is not None:
            path, _ = folder.resolve(_text(remove["path"]))
            vector = _vector(remove.get("deletionVector"))
            self.removes.append((path, "" if vector is None else vector.unique_id))
        elif (metadata := action.get("metaData")) is not None:
            self.metadata = _metadata(metadata)
        elif (protocol := action.get("protocol")) is not None:
            features = protocol.get("readerFeatures") or ()
            version = int(protocol["minReaderVersion"])
            self.protocol = DeltaProtocol(version, tuple(map(_text, features)))
        elif (info := action.get("commitInfo")) is not None:
            self.info = dict(info)
        elif (transaction := action.get("txn")) is not None:
            self.transactions[_text(transaction["appId"])] = int(transaction["version"])
        elif (sidecar := action.get("sidecar")) is not None:
            self.sidecars.append(_text(sidecar["path"]))

    @property
    def operation(self) -> str:
        """The operation that the commit says it is; empty: it does not."""
        operation = self.info.get("operation")
        return operation if isinstance(operation, str) else ""


def actions_of_json(data: bytes, folder: LakeFolder, where: str) -> DeltaActions:
    """Read the actions of a file of JSON.

    Raises `CorruptError` if the file is cut off, or malformed.
    """
    actions = DeltaActions()
    if not data.strip():
        raise CorruptError(f"{where}: the commit is empty", path=where)
    text, at, decoder = "", 0, json.JSONDecoder()
    try:
        text = data.decode("utf-8-sig")
        # An action has a separate line, and several in logs that a program has made readable.
        while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            action, at = decoder.raw_decode(text, at)
            actions.take(action, folder)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CorruptError | UnsupportedError):
            raise
        line = text.count("\n", 0, at) + 1
        message = f"{where}, line {line}: cut off or malformed"
        raise CorruptError(message, path=where, line=line) from None
    return actions


def actions_of_rows(
    rows: Iterable[Mapping[str, Any]], actions: DeltaActions, folder: LakeFolder, where: str
) -> None:
    """Add the actions that a Parquet file of a checkpoint has.

    Raises `CorruptError` if it is malformed.
    """
    try:
        for row in rows:
            actions.take(row, folder)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, CorruptError | UnsupportedError):
            raise
        raise CorruptError(f"{where}: the checkpoint is malformed: {error!r}", path=where) from None


def _add(add: Mapping[str, Any], folder: LakeFolder) -> DeltaAdd:
    path, location = folder.resolve(_text(add["path"]))
    values = add.get("partitionValues") or {}
    pairs = values.items() if isinstance(values, dict) else values  # a map of Parquet
    vector = _vector(add.get("deletionVector"))
    file = LakeFile(path, location, int(add["size"]), tuple(pairs), vector)
    return DeltaAdd(file, add.get("dataChange") is not False)


def _vector(descriptor: Mapping[str, Any] | None) -> DeletionVector | None:
    if descriptor is None or descriptor.get("storageType") is None:
        return None
    offset = descriptor.get("offset")
    return DeletionVector(
        _text(descriptor["storageType"]),
        _text(descriptor["pathOrInlineDv"]),
        None if offset is None else int(offset),
        int(descriptor["sizeInBytes"]),
        int(descriptor["cardinality"]),
    )


def _metadata(metadata: Mapping[str, Any]) -> DeltaMetadata:
    pairs = metadata.get("configuration") or {}
    configuration = dict(pairs.items() if isinstance(pairs, dict) else pairs)
    partitions = tuple(map(_text, metadata.get("partitionColumns") or ()))
    # A table may be made before anybody knows its columns.
    schema = _text(metadata.get("schemaString") or _NO_COLUMNS)
    return DeltaMetadata(_text(metadata["id"]), schema, partitions, configuration)


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is no text")
    return value
