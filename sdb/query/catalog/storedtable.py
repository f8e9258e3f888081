"""Tables below a root, as queries read them: from the index to the packfiles that matter."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import chain

from sdb import instants
from sdb.errors import UsageError
from sdb.log import Logger
from sdb.packfile.prune.predicate import Anywhere
from sdb.packfile.prune.prune import blocks
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.query.catalog.tablescan import IndexSteps
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.leases import hold
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys, flaw_of_name
from sdb.table.format.versionref import VersionReference, parse_time
from sdb.table.packfiles.lazy import ListedPackfile, OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.errors import NotFoundError, UnsupportedError
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.columns import TableSchema

_log = Logger("sdb.packfile.prune")
_ANYWHERE = Anywhere()
_READERS = 16
_FEW = 3
"""Fewer lists are read one after the other."""


class TableSource:
    """A table below a root, of which as little is read as a query needs.

    * ``is_raw``: Whether its rows are read as they are stored, whatever its schema says.
    """

    def __init__(self, handle: TableHandle, *, is_raw: bool = False) -> None:
        self._handle = handle
        self._is_raw = is_raw
        self._lease = hold(handle)
        self._objects = OpenObjects()
        self._lists: dict[int, DescriptorList] = {}
        self._listed: dict[int, list[Packfile | None]] = {}
        self._looked_at = 0
        self._inline: list[Packfile] | None = None
        # Another program that made lists of packfiles of ours took what they do not index for
        # what they do not have.
        state = handle.state
        self._are_lists_ours = state is None or not is_foreign(handle.index, state)

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return self._handle.name

    @property
    def handle(self) -> TableHandle:
        """The version that is read."""
        return self._handle

    @property
    def schema(self) -> TableSchema | None:
        """The schema of its rows; None: names are those of their fields."""
        return None if self._is_raw else self._handle.schema

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Return the packfiles that can hold rows for which a condition is TRUE.

        * ``test``: The condition: lists of older packfiles that it rules out are not read.

        Returns: Those of other lists whose times may fit, and those that the index itself has. None
        is open.
        Raises `CorruptError` if a list is missing or damaged, or says what cannot be.
        """
        if self._inline is None:
            self._inline = [
                self._pack(descriptor.checked()) for descriptor in self._handle.index.inline
            ]
        chosen = self._chosen(test)
        self._read(chosen)
        packs = list(chain.from_iterable(self._members(number, test) for number in chosen))
        return [*packs, *self._inline]

    @property
    def is_whole(self) -> bool:
        """True if all packfiles were looked at."""
        refs = self._handle.index.indirect.refs
        return self._looked_at == sum(ref.objects for ref in refs)

    def steps(self, test: Predicate) -> IndexSteps:
        """Report what the index and its lists rule out by times."""
        index = self._handle.index
        refs = index.indirect.refs
        return IndexSteps(
            len(self._chosen(test)),
            len(refs),
            len(self.packs(test)),
            sum(ref.objects for ref in refs) + len(index.inline),
        )

    def trailers(self) -> list[tuple[str, Trailer]]:
        """Read the trailers of all packfiles, which say more of fields than the index does."""
        listed = []
        for pack in self.packs():
            with open_packfile(pack.path) as whole:
                listed.append((pack.path, whole.trailer))
        return listed

    def close(self) -> None:
        """Close what is open, and let collectors have what only this reader needs."""
        self._objects.close()
        self._lease.release()

    def _chosen(self, test: Predicate) -> list[int]:
        tree = self._handle.index.indirect
        indices = tree.indices if self._are_lists_ours else {}
        intervals = blocks(test, SparseIndex(len(tree.refs), indices=indices))
        chosen = [number for start, stop in intervals for number in range(start, stop)]
        if _log.wants_debug:
            index, name = self._handle.index, self._handle.keys.index
            counts = len(chosen), len(tree.refs), len(index.inline)
            _log.debug("%s: %d of %d lists to read, and %d packfiles beside them", name, *counts)
        return chosen

    def _read(self, numbers: list[int]) -> None:
        """Read lists that were not read before, several at a time."""
        refs = self._handle.index.indirect.refs
        new = [number for number in numbers if number not in self._lists]
        if len(new) < _FEW:
            self._lists |= {number: self._handle.many(refs[number]) for number in new}
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_READERS, len(new))) as pool:
            lists = pool.map(self._handle.many, [refs[number] for number in new])
            self._lists |= dict(zip(new, lists, strict=True))

    def _members(self, number: int, test: Predicate) -> Iterator[Packfile]:
        """Iterate over the packfiles of a list that may fit, each the same object every time."""
        listed = self._lists[number]
        members = self._listed.setdefault(number, [None] * len(listed))
        listing = (self._handle.root, listed, self._objects)
        for start, stop in listed.chosen(test):
            for at in range(start, stop):
                packfile = members[at]
                if packfile is None:
                    packfile = members[at] = ListedPackfile(listing, at)
                    self._looked_at += 1
                    if at in listed.others:
                        packfile.descriptor  # noqa: B018 - raises if it is damaged
                yield packfile

    def _pack(self, descriptor: Descriptor) -> Packfile:
        return TablePackfile(self._handle.root, descriptor, self._objects)


def stored_head(root: str, database: str, table: str) -> TableHandle | None:
    """Open a table as it is now; None: it does not exist.

    * ``root``: The root; the current folder when empty.

    Raises `CorruptError` if its index is damaged.
    """
    if flaw_of_name(database) or flaw_of_name(table):
        return None
    return find_table(table_root(root), database, table)


def stored_version(head: TableHandle, at: tuple[str, str | int]) -> TableHandle:
    """Open a version of a table as a query names it.

    * ``at``: By what, and which: see :class:`sdb.query.catalog.dataset.TableName`.

    Raises `BeforeFirstError`, `ExpiredError` or `UnknownReferenceError` if there is no such
    version; `UsageError` if the reference names no version.
    """
    kind, value = at
    if kind == "TIMESTAMP":
        us = value if isinstance(value, int) else parse_time(value)
        shown = instants.text(us) if isinstance(value, int) else value
        return head.at(VersionReference("time", us, text=shown))
    if kind in {"TAG", "BRANCH"}:
        return head.at(VersionReference(kind.lower(), name=str(value), text=str(value)))
    return head.at(value)


def fitting_tables(
    root: str, database: str, pattern: str, *, is_glob: bool
) -> list[tuple[str, str]]:
    """Return the tables of a database whose names fit, by database and table, sorted.

    * ``pattern``: A shell pattern, or a regular expression of whole names.

    Raises `UsageError` if it is no regular expression.
    """
    if flaw_of_name(database):
        return []
    names = table_root(root).tables(database)
    if is_glob:
        return [(database, name) for name in names if fnmatchcase(name, pattern)]
    try:
        fits = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from None
    return [(database, name) for name in names if fits.fullmatch(name)]


def visible_tables(root: str, visible: Visible) -> list[str]:
    """Return the names of the tables that a query may name, with those of their databases."""
    below = table_root(root)
    return [
        f"{database}.{table}"
        for database in below.databases()
        for table in below.tables(database)
        if visible(database, table)
    ]


def unknown_table(
    root: str, database: str, table: str, *, is_quoted: bool
) -> NotFoundError | UnsupportedError | None:
    """Make the error for a name that means neither a file nor a table.

    * ``is_quoted``: Whether it stands in quotes, as names of files do; without quotes that of the
      file would be another one.

    Returns: None where the root has no tables at all, and the name is that of a file.
    """
    opened = table_root(root)
    has_tables = bool(opened.databases())
    if is_quoted and not has_tables:
        return None
    error = opened.absent(TableKeys(database, table))
    if not has_tables:
        file = f"there is no file {database}/{table}.zion"
        error.message = f"{file}, and {error.message.removeprefix('there is ')}"
    return error


def stored_names(root: str) -> list[str]:
    """Return the names of the tables below a root, with those of their databases."""
    catalog = table_root(root)
    return [
        f"{database}.{name}"
        for database in catalog.databases()
        for name in catalog.tables(database)
    ]


def same_table(root: str, table: str) -> str | None:
    """Return the name of a table, with its database, that a table's name alone may mean."""
    opened = table_root(root)
    for database in opened.databases():
        if table in opened.tables(database):
            return f"{database}.{table}"
    return None
