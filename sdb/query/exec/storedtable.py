"""Tables below a root, as queries read them: from the index to the packfiles that matter."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import chain

from sdb import instants
from sdb.errors import UsageError
from sdb.packfile.prune.predicate import Anywhere
from sdb.packfile.prune.prune import blocks
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.query.plan.tablescan import IndexSteps
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.leases import hold
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys, flaw_of_name
from sdb.table.format.versionref import VersionReference, parse_time
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile
from sdb.table.packfiles.listed import ListedPackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.errors import NotFoundError
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor

_ANYWHERE = Anywhere()
_READERS = 16
_FEW = 3
"""Fewer lists are read one after the other."""


class StoredTable:
    """A table below a root, of which as little is read as a query needs.

    Parameters
    ----------
    handle : TableHandle
        The table.
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
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

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Give the packfiles that can hold rows for which a condition is TRUE.

        Parameters
        ----------
        test : Predicate
            The condition: lists of older packfiles that it rules out are not read.

        Returns
        -------
        list of Packfile
            Those of other lists whose times may fit, and those that the index itself has. None is
            open.

        Raises
        ------
        CorruptError
            A list is missing or damaged, or says what cannot be.
        """
        if self._inline is None:
            self._inline = [self._pack(one.checked()) for one in self._handle.index.inline]
        chosen = self._chosen(test)
        self._read(chosen)
        found = list(chain.from_iterable(self._members(number, test) for number in chosen))
        return [*found, *self._inline]

    @property
    def is_whole(self) -> bool:
        """True if all packfiles were looked at."""
        refs = self._handle.index.indirect.refs
        return self._looked_at == sum(ref.objects for ref in refs)

    def steps(self, test: Predicate) -> IndexSteps:
        """Tell what the index and its lists rule out by times."""
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
        found = []
        for pack in self.packs():
            with open_packfile(pack.path) as whole:
                found.append((pack.path, whole.trailer))
        return found

    def close(self) -> None:
        """Close what is open, and let collectors have what only this reader needs."""
        self._objects.close()
        self._lease.release()

    def _chosen(self, test: Predicate) -> list[int]:
        tree = self._handle.index.indirect
        indices = tree.indices if self._are_lists_ours else {}
        intervals = blocks(test, SparseIndex(len(tree.refs), indices=indices))
        return [number for start, stop in intervals for number in range(start, stop)]

    def _read(self, numbers: list[int]) -> None:
        """Read lists that were not read before, several at a time."""
        refs = self._handle.index.indirect.refs
        new = [number for number in numbers if number not in self._lists]
        if len(new) < _FEW:
            self._lists |= {number: self._handle.many(refs[number]) for number in new}
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_READERS, len(new))) as pool:
            found = pool.map(self._handle.many, [refs[number] for number in new])
            self._lists |= dict(zip(new, found, strict=True))

    def _members(self, number: int, test: Predicate) -> Iterator[Packfile]:
        """Go over the packfiles of a list that may fit, each the same object every time."""
        listed = self._lists[number]
        members = self._listed.setdefault(number, [None] * len(listed))
        listing = (self._handle.root, listed, self._objects)
        for start, stop in listed.chosen(test):
            for at in range(start, stop):
                found = members[at]
                if found is None:
                    found = members[at] = ListedPackfile(listing, at)
                    self._looked_at += 1
                    if at in listed.others:
                        found.told  # noqa: B018 - what is wrong with it is told now
                yield found

    def _pack(self, told: Descriptor) -> Packfile:
        return TablePackfile(self._handle.root, told, self._objects)


def stored_head(root: str, database: str, table: str) -> TableHandle | None:
    """Open a table as it is now; None: there is none.

    Parameters
    ----------
    root : str
        The root; the current folder when empty.
    database, table : str
        Its names.

    Returns
    -------
    TableHandle or None
        The table.

    Raises
    ------
    CorruptError
        Its index is damaged.
    """
    if flaw_of_name(database) or flaw_of_name(table):
        return None
    return find_table(table_root(root), database, table)


def stored_version(head: TableHandle, at: tuple[str, str | int]) -> TableHandle:
    """Open a version of a table as a query names it.

    Parameters
    ----------
    head : TableHandle
        The table as it is now.
    at : tuple
        By what, and which: see :class:`sdb.query.plan.dataset.TableName`.

    Returns
    -------
    TableHandle
        The table as it was.

    Raises
    ------
    BeforeFirstError, ExpiredError, UnknownReferenceError
        There is no such version.
    UsageError
        What is told is none.
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
    """Give the tables of a database whose names fit, by database and table, sorted.

    Parameters
    ----------
    root : str
        The root.
    database : str
        The database.
    pattern : str
        A shell pattern, or a regular expression of whole names.
    is_glob : bool
        Whether it is a shell pattern.

    Returns
    -------
    list of tuple
        The tables; none where there is no such database.

    Raises
    ------
    UsageError
        It is no regular expression.
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


def unknown_table(root: str, database: str, table: str) -> NotFoundError | None:
    """Make the error for a table that is not there; None: the root has no tables at all."""
    place = table_root(root)
    return place.absent(TableKeys(database, table)) if place.databases() else None
