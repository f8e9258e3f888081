"""Descriptions of tables: what their indexes say of them and of their packfiles."""

from __future__ import annotations

from sdb import instants
from sdb.packfile.inspect.describe import file_dict, file_lines, index_descriptions, total_lines
from sdb.packfile.inspect.records import Description, FileDescription
from sdb.records import record, replace
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import time_path
from sdb.table.commit.chain import told_rows
from sdb.table.format.index import ZERO_US

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor


@record
class TableFacts:
    """Facts of a table, for which no packfile is opened.

    Attributes
    ----------
    database, table : str
        Its names.
    version : int or None
        Number of the version; None: no `sdb` has written it.
    rows : int or None
        Number of rows; None when a packfile does not say.
    packfiles : int
        Number of packfiles.
    size_bytes : int or None
        Size of all packfiles; None when the lists of older ones would have to be read.
    newest_path : tuple of str or None
        Where the time of a row is; None when that is not obvious.
    newest_us : int or None
        The newest of these times.
    synced_us : int or None
        When the table was changed last; None: never.
    """

    database: str
    table: str
    version: int | None
    rows: int | None
    packfiles: int
    size_bytes: int | None
    newest_path: Path | None
    newest_us: int | None
    synced_us: int | None

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return f"{self.database}.{self.table}"

    @property
    def newest_at(self) -> datetime | None:
        """The newest time of a row."""
        return None if self.newest_us is None else instants.from_us(self.newest_us)

    @property
    def synced_at(self) -> datetime | None:
        """The time when the table was changed last; None: never."""
        return None if self.synced_us is None else instants.from_us(self.synced_us)

    def as_dict(self) -> dict[str, object]:
        """Return the facts as plain values with stable names, for JSON."""
        return {
            "database": self.database,
            "table": self.table,
            "version": self.version,
            "rows": self.rows,
            "packfiles": self.packfiles,
            "size_bytes": self.size_bytes,
            "newest_path": None if self.newest_path is None else list(self.newest_path),
            "newest_at": None if self.newest_us is None else instants.text(self.newest_us),
            "synced_at": None if self.synced_us is None else instants.text(self.synced_us),
        }


@record
class TableDescription:
    """A table with each of its packfiles.

    Attributes
    ----------
    facts : TableFacts
        The facts of the whole.
    packfiles : Description
        The packfiles, the oldest first.
    indirect : int
        How many of them are listed by separate objects, and not by the index.
    """

    facts: TableFacts
    packfiles: Description
    indirect: int

    def text(self) -> str:
        """Write the text of `describe`, the same as that of the original."""
        lines: list[str] = []
        for number, file in enumerate(self.packfiles.files):
            remark = " (indirect)" if number < self.indirect else ""
            lines += file_lines(file, remark=remark)
        lines += total_lines(self.packfiles)
        return "".join(f"{line}\n" for line in lines)

    def as_dict(self) -> dict[str, object]:
        """Return the facts as plain values with stable names, for JSON."""
        files = [
            file_dict(file) | {"indirect": number < self.indirect}
            for number, file in enumerate(self.packfiles.files)
        ]
        return {**self.facts.as_dict(), "files": files}


def facts(handle: TableHandle) -> TableFacts:
    """Return the facts of a table; no other object than the index is read."""
    index, state = handle.index, handle.state
    # When another program has written the index since, the state is old.
    counts = None if state is None or is_foreign(index, state) else state
    listed = None if index.indirect.refs else index.inline
    counted = None if counts is None else counts.rows
    path = time_path(handle)
    return TableFacts(
        handle.keys.database,
        handle.keys.table,
        None if counts is None else counts.version,
        counted if counts is not None and counts.is_own else told_rows(index, counted),
        sum(ref.objects for ref in index.indirect.refs) + len(index.inline),
        _size(listed) if listed is not None or counts is None else counts.size_bytes,
        path,
        None if path is None else _newest_us(handle, path),
        None if index.created_us == ZERO_US else index.created_us,
    )


def facts_without_rows(database: str, table: str) -> TableFacts:
    """Return the facts of a table that has a definition, and no rows yet."""
    return TableFacts(database, table, None, 0, 0, 0, None, None, None)


def describe_table(handle: TableHandle) -> TableDescription:
    """Describe a table: the index is read, and the lists of older packfiles.

    Raises `CorruptError` if a list is missing or damaged, or says what cannot be.
    """
    descriptors = list(handle.descriptors())
    files = tuple(_file(handle, descriptor.checked()) for descriptor in descriptors)
    packfiles = Description(files)
    whole = replace(facts(handle), size_bytes=packfiles.size_bytes, rows=packfiles.rows)
    return TableDescription(whole, packfiles, len(descriptors) - len(handle.index.inline))


def _newest_us(handle: TableHandle, path: Path) -> int | None:
    indices = [descriptor.trailer.sparse.indices.get(path) for descriptor in handle.index.inline]
    indices.append(handle.index.indirect.indices.get(path))
    times = [index.last_us for index in indices if index is not None and not index.is_empty]
    return max(times, default=None)


def _size(descriptors: tuple[Descriptor, ...] | None) -> int | None:
    return None if descriptors is None else sum(descriptor.size_bytes for descriptor in descriptors)


def _file(handle: TableHandle, descriptor: Descriptor) -> FileDescription:
    root = handle.root
    url = root.place(descriptor.key) if root.store.is_remote else f"file://{descriptor.key}"
    return FileDescription(
        descriptor.key,
        url,
        descriptor.etag,
        descriptor.size_bytes,
        descriptor.trailer,
        index_descriptions(descriptor.trailer),
    )
