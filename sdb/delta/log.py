"""The log of a Delta table: read from its newest checkpoint on, and continued.

A commit is an object ``_delta_log/<20 digits>.json`` that is put where its name is free: so one of
two writers wins, as the protocol asks for.
"""

from __future__ import annotations

import json
import re

from sdb.delta.checkpoints import checkpoint
from sdb.errors import ConflictError, CorruptError, NotFoundError, UncertainError, UnsupportedError
from sdb.records import changing_record, field
from sdb.store.base import child
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.lake.columntypes import Columns
    from sdb.lake.mirrorlog import LogAction

FOLDER = "_delta_log"
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
CHECKPOINT_COMMITS = 100
"""Commits after which a checkpoint is written."""

_COMMIT = re.compile(r"(\d{20})\.json\Z")
_POINTER = "_last_checkpoint"


@changing_record
class DeltaLog:
    """The state of a Delta table, as its log tells it up to a commit."""

    location: str  # folder or URL of the table
    version: int = -1  # number of the newest commit that was read; -1: the log is empty
    # The ``add`` of each file of the table, by its path.
    files: dict[str, LogAction] = field(default_factory=dict, repr=False)
    # The newest version of each application that writes to it.
    transactions: dict[str, int] = field(default_factory=dict)
    metadata: LogAction = field(default_factory=dict, repr=False)  # the newest ``metaData``
    protocol: LogAction = field(default_factory=dict)  # the newest ``protocol``

    def refresh(self) -> None:
        """Read the commits that are newer.

        Raises `CorruptError` if the log has a gap, or an entry that is no JSON; `UnsupportedError`
        if a checkpoint is of a kind that is not known.
        """
        if self.version < 0:
            self._read_checkpoint()
        while True:
            try:
                data = self._read(self.entry(self.version + 1))
            except NotFoundError:
                break
            self._apply_commit(self.version + 1, data)
        if self.version < 0 and self._first() is not None:
            where = child(self.location, FOLDER)
            raise CorruptError(f"{where} has no commit 0, and no checkpoint", path=where)

    def entry(self, number: int) -> str:
        """Return where a commit is."""
        return child(child(self.location, FOLDER), f"{number:020d}.json")

    def prepare(self, columns: Columns) -> None:  # noqa: ARG002 - they are in the commit
        """Make the folder of the log."""
        store_of(self.location).make_folder(child(self.location, FOLDER))

    def place(self, path: str) -> str:
        """Return where a file is."""
        return child(self.location, path)

    def tend(self) -> None:
        """Write a checkpoint after each hundred commits."""
        if self.version % CHECKPOINT_COMMITS == 0 and self.version:
            checkpoint(self.location)

    def flaw(self) -> tuple[str, str] | None:
        """Return why nothing can be written to the table, and a hint; None: it can."""
        reader = self.protocol.get("minReaderVersion", 1)
        writer = self.protocol.get("minWriterVersion", 2)
        if reader <= PROTOCOL["minReaderVersion"] and writer <= PROTOCOL["minWriterVersion"]:
            return None
        what = f"reader version {reader}, writer version {writer}"
        text = f" uses features of Delta that sdb does not write: {what}"
        return text, "export to another place"

    def refusal(self) -> str:
        """Return why a column cannot get another type: it can, if its files are written again."""
        return ""

    def takes_schemas(self) -> bool:
        """Return whether commits may have the columns of schemas: they may."""
        return True

    def put(self, actions: list[LogAction]) -> bool:
        """Put the next commit, if its number is free, and apply it.

        Returns: False: another writer was faster, or may have been; :meth:`refresh` tells.
        """
        store = store_of(self.location)
        text = "".join(f"{_line(action)}\n" for action in actions)
        number = self.version + 1
        try:
            store.put_if_match(self.entry(number), text.encode(), None)
        except (ConflictError, UncertainError):
            return False
        self._apply(actions)
        self.version = number
        return True

    def _first(self) -> str | None:
        listed = store_of(self.location).list(child(self.location, FOLDER), most=1)
        return next((entry.name for entry in listed if _COMMIT.match(entry.name)), None)

    def _read(self, location: str) -> bytes:
        reader = store_of(location).open(location)
        try:
            return reader.read(0, reader.size_bytes)
        finally:
            reader.close()

    def _apply_commit(self, number: int, data: bytes) -> None:
        try:
            actions = [json.loads(line) for line in data.splitlines() if line.strip()]
            self._apply(actions)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            where = self.entry(number)
            raise CorruptError(f"{where} is no commit of Delta: {error}", path=where) from None
        self.version = number

    def _apply(self, actions: Iterable[LogAction]) -> None:
        for action in actions:
            if (added := action.get("add")) is not None:
                self.files[added["path"]] = added
            elif (removed := action.get("remove")) is not None:
                self.files.pop(removed["path"], None)
            elif (transaction := action.get("txn")) is not None:
                self.transactions[transaction["appId"]] = transaction["version"]
            elif (metadata := action.get("metaData")) is not None:
                self.metadata = metadata
            elif (protocol := action.get("protocol")) is not None:
                self.protocol = protocol

    def _read_checkpoint(self) -> None:
        where = child(child(self.location, FOLDER), _POINTER)
        try:
            pointer = json.loads(self._read(where))
            number, parts = int(pointer["version"]), pointer.get("parts")
        except NotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            return  # a hint, as the protocol says: without it all commits are read
        names = [f"{number:020d}.checkpoint.parquet"]
        if parts is not None:
            names = [
                f"{number:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"
                for part in range(1, parts + 1)
            ]
        for name in names:
            location = child(child(self.location, FOLDER), name)
            try:
                data = self._read(location)
            except NotFoundError:
                if store_of(self.location).head(self.entry(0)) is None:
                    what = f"{where}: no checkpoint {name}"
                    raise UnsupportedError(what, hint="--restart begins the mirror anew") from None
                self.files, self.transactions, self.metadata, self.protocol = {}, {}, {}, {}
                return
            self._apply(_rows(data))
        self.version = number


def _rows(data: bytes) -> Iterator[LogAction]:
    """Yield the actions of a checkpoint."""
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(data))
    kinds = {"add", "txn", "metaData", "protocol"}
    columns = [name for name in file.schema_arrow.names if name in kinds]
    for batch in file.iter_batches(columns=columns):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            for name in columns:
                if (content := row[name]) is not None:
                    yield {name: content}


def _line(action: LogAction) -> str:
    return json.dumps(action, ensure_ascii=False, separators=(",", ":"))
