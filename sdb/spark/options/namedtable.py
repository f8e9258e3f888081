"""Tables of a data source: which one is meant, and its index as it was when it was loaded."""

from __future__ import annotations

from dataclasses import dataclass

from sdb.errors import UsageError
from sdb.store.objectstore_base import ObjectReaderBase
from sdb.store.url import absolute
from sdb.table.catalog.handle import TableHandle, dropped, find_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.format.index import decoded
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import split_reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Self

_EXPECTED = 'spark.read.format("zion").option("root", "s3://bucket").load("db.table")'


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table as options name it."""

    location: str  # the root: a folder or URL, the same on every machine
    # Its names
    database: str
    table: str
    at: str = ""  # its version, see :mod:`sdb.table.format.versionref`; empty: the newest

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self | None:
        """Read the options ``root``, ``path`` and ``at``.

        Returns: None: there is no root, so that paths are those of packfiles.
        Raises `UsageError` if there is not one name of a table, or a version twice.
        """
        at = options.get("at", "")
        if "root" not in options:
            if at:
                raise UsageError(
                    "at names a version of a table, which needs a root", hint=_EXPECTED
                )
            return None
        name, reference = split_reference(options.get("path", ""))
        database, dot, table = name.partition(".")
        if not (database and dot and table) or "paths" in options:
            raise UsageError(f"invalid table name {name!r}", hint=_EXPECTED)
        if at and reference:
            raise UsageError(f"two versions: {reference} in the name, and at={at}")
        keys = TableKeys(database, table)
        return cls(absolute(options["root"]), keys.database, keys.table, at or reference)

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return f"{self.database}.{self.table}"

    @property
    def keys(self) -> TableKeys:
        """Its names, and the keys of its objects."""
        return TableKeys(self.database, self.table)

    def root(self) -> TableRoot:
        """Return the root, with the keys for indexes that this process has."""
        return table_root(self.location)

    def find(self) -> TableHandle | None:
        """Open the table; None if it does not exist.

        Raises `NotFoundError` if there is a table, and no such version; `CorruptError` if its index
        is damaged.
        """
        handle = find_table(self.root(), self.database, self.table)
        if handle is None or handle.is_dropped:
            return None
        return handle.at(self.at) if self.at else handle

    def open(self) -> TableHandle:
        """Open the table.

        Raises `NotFoundError` if there is no such table, or no such version; `CorruptError` if its
        index is damaged.
        """
        handle = self.find()
        if handle is None:
            root = self.root()
            is_there = find_table(root, self.database, self.table) is not None
            raise dropped(root, self.keys) if is_there else root.absent(self.keys)
        return handle


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table as it was when it was loaded: later plans are for the same version."""

    named: NamedTable  # the table
    data: bytes  # its index; empty when there was no table

    @classmethod
    def of(cls, named: NamedTable) -> Self:
        """Load a table."""
        handle = named.find()
        return cls(named, b"" if handle is None else handle.data)

    def handle(self) -> TableHandle:
        """Return the table as it was; no object is read.

        Raises `NotFoundError` if there was no such table and `CorruptError` if its index is not
        signed with a key of this process.
        """
        if not self.data:
            return self.named.open()
        root, keys = self.named.root(), self.named.keys
        index = decoded(self.data, root.keyring)
        reader = _KnownReader(root.place(keys.index), self.data)
        return TableHandle(root, keys, index, self.data, reader)


class _KnownReader(ObjectReaderBase):
    """An object whose content is known; see :class:`sdb.store.base.Reader`."""

    __slots__ = ("_data", "etag", "path", "size_bytes")

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.etag, self.size_bytes = path, "", len(data)
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range."""
        return self._data[start:stop]

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece."""
        yield self._data[start:stop]
