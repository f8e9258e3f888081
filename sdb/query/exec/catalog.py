"""Opens the tables of a query, each packfile once."""

from __future__ import annotations

from itertools import chain

from sdb.errors import NotFoundError, UsageError
from sdb.packfile.prune.predicate import Anywhere, Both, Instant, Nowhere, path_tests
from sdb.packfile.prune.unknownfields import tell
from sdb.packfile.read.reader import open_packfile
from sdb.progress import silent
from sdb.query.analyze.folding import fold
from sdb.query.exec.namedtables import NamedTables
from sdb.query.exec.ondemand import open_table
from sdb.query.plan.leftout import added, left_out
from sdb.query.plan.locations import candidates
from sdb.query.plan.losses import losses
from sdb.query.plan.mismatches import mismatches
from sdb.query.plan.pseudo import is_pseudo
from sdb.query.plan.reduction import reduce
from sdb.query.plan.tables import table_name
from sdb.query.plan.tablescan import PackfileScan, TableScan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.fields import Inventory
    from sdb.packfile.read.fieldstats import Statistics
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress
    from sdb.query.exec.storedtable import StoredTable
    from sdb.query.plan.columns import Execution
    from sdb.query.plan.dataset import TableName
    from sdb.query.plan.period import Period
    from sdb.query.plan.scans import Predicate as Plan
    from sdb.query.syntax import ast
    from sdb.table.catalog.handle import TableHandle

_ANYWHERE = Anywhere()
_OPENERS = 16
_ALL_TABLES = ("sdb", "tables")
_SUFFIX = ".zion"


class Catalog:
    """Opens the tables of a query, each packfile once: an `OpenDataset`.

    Parameters
    ----------
    root : str
        Folder or URL that relative paths start at; the current folder when empty.
    prune : bool
        Whether blocks are left out where the condition cannot be TRUE.
    now_us : int
        The instant of UTCNOW(), in microseconds since 1970.
    threads : int, optional
        Threads that pack tables which are no packfiles yet.
    progress : Progress, optional
        Told how far packing one is.
    period : Period, optional
        Times that the rows of all tables must have.
    at : str
        The version of tables of which a query does not name one; the newest when empty.
    pinned : mapping, optional
        Tables as they were read, by names with that of the database: what the query sees of them.
    known : mapping, optional
        Tables that have a meaning of their own here, by the parts of their names, and ``@`` with
        the name of a branch behind them.

    Attributes
    ----------
    tables : list of TableScan
        What was opened.
    notes : list of str
        What their users should know.
    """

    def __init__(  # noqa: PLR0913 - by name
        self,
        root: str = "",
        *,
        prune: bool = True,
        now_us: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
        period: Period | None = None,
        at: str = "",
        pinned: Mapping[str, TableHandle] | None = None,
        known: Mapping[tuple[str, ...], StoredTable] | None = None,
    ) -> None:
        self._root = root
        self._at = at
        self._pinned = pinned or {}
        self._prune = prune
        self._now_us = now_us
        self._threads = threads
        self._progress = progress
        self._period = period
        self._named = NamedTables(root, at, self._pinned, known or {})
        self._open: dict[str, Packfile] = {}
        self._found: dict[TableName, list[Packfile]] = {}
        self.tables: list[TableScan] = []
        self.notes: list[str] = []
        self._tested: list[tuple[Predicate, list[Packfile]]] = []
        self._is_closed = False

    def __call__(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> TableScan:
        """Find the rows of tables.

        Parameters
        ----------
        tables : tuple of TableName
            Their names; the rows of one follow on those of the other.
        condition : Expr or None
            Only rows for which it is TRUE are wanted.

        Returns
        -------
        TableScan
            The rows, and possibly others for which the condition is not TRUE.

        Raises
        ------
        NotFoundError, AccessError, UsageError
            A packfile cannot be opened, or no file has such a name.
        CorruptError
            A file is no packfile, or a damaged one.
        """
        test, times = self._within_period(tables, self._reduced(condition))
        packs = self._packs(tables, test)
        if self._period is not None:
            self._period.path(packs)  # the same in those that were not looked at before
        name = " ++ ".join(name.text for name in tables)
        stored = chain.from_iterable(map(self._named.find, tables))
        steps = tuple([found.steps(test) for found in stored])
        table = TableScan(name, test, packs, prune=self._prune, times=times, steps=steps)
        self.tables.append(table)
        if all(map(self._named.is_whole, tables)):
            self.notes += mismatches(test, table.parts)
            self._tested.append((test, [part.pack for part in table.parts]))
        return table

    def look(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> TableScan:
        """Find the rows of tables, as a call does, for something that is no part of the answer."""
        found, told, tested = len(self.tables), len(self.notes), len(self._tested)
        try:
            return self(tables, condition)
        finally:
            del self.tables[found:]
            del self.notes[told:]
            del self._tested[tested:]

    def open_together(self, statement: ast.Statement) -> None:
        """Open the tables of a statement, so that they are of one moment."""
        self._named.open_together(statement)

    def _within_period(
        self, tables: tuple[TableName, ...], test: Predicate
    ) -> tuple[Predicate, Plan | None]:
        """Add the times that rows must have to a condition, and give what scans decide of them."""
        period = self._period
        if period is None:
            return test, None
        path = period.path(self._packs(tables, Nowhere())) or period.path(self._packs(tables, test))
        if path is None:
            return test, None
        both = Both((period.test(path), test)) if self._prune else test
        return both, period.predicate(path)

    def _reduced(self, condition: ast.Expr | None) -> Predicate:
        if condition is None or not self._prune:
            return Anywhere()
        return reduce(fold(condition, Instant(self._now_us)))

    def _packs(self, tables: tuple[TableName, ...], test: Predicate) -> list[Packfile]:
        return list(chain.from_iterable(self._find(name, test) for name in tables))

    def _find(self, name: TableName, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Give the packfiles of a table; below a root those that the test does not rule out."""
        stored = self._named.find(name)
        if stored:
            packs = list(chain.from_iterable(one.packs(test) for one in stored))
            before = self._found.get(name)
            self._found[name] = list(dict.fromkeys([*before, *packs])) if before else packs
            return packs
        try:
            self._found[name] = self._files(name)
        except NotFoundError as error:
            if name.parts == _ALL_TABLES:
                self._found[name] = self._system(name.parts[1:])
            elif name.kind == "system":
                raise
            else:
                raise self._named.unknown(name) or error from None
        return self._found[name]

    def _system(self, parts: tuple[str, ...]) -> list[Packfile]:
        """Give a table about tables, which is made once."""
        path = f"sdb.{parts}"
        if path not in self._open:
            from sdb.query.exec.systemtables import system_table

            found = system_table(self._root, parts, at=self._at, pinned=self._pinned)
            self._open[path] = found
        return [self._open[path]]

    def _files(self, name: TableName) -> list[Packfile]:
        if name.kind == "system":
            return self._system(name.parts)
        if name.at is not None:
            message = f"{name.text}: files have no versions"
            raise self._named.unknown(name) or UsageError(message, hint="tables do: FROM db.t@12")
        paths = candidates(name, self._root)
        # What is packed for the query is so by all threads, one after the other, and in the thread
        # that Ctrl-C stops.
        for path in paths:
            if path not in self._open and not path.endswith(_SUFFIX):
                self._open[path] = open_table(path, threads=self._threads, progress=self._progress)
        new = [path for path in paths if path not in self._open]
        if len(new) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(_OPENERS, len(new))) as pool:
                opened = [(path, pool.submit(open_packfile, path)) for path in new]
                for path, future in opened:
                    if future.exception() is None:
                        self._open[path] = future.result()
                for _, future in opened:
                    future.result()
        elif new:
            self._open[new[0]] = open_packfile(new[0])
        return [self._open[path] for path in paths]

    def _trailers(self, name: TableName) -> list[tuple[str, Trailer]]:
        """Give names and whole trailers of the packfiles of a table."""
        if stored := self._named.find(name):
            return list(chain.from_iterable(one.trailers() for one in stored))
        return [(pack.path, pack.trailer) for pack in self._find(name)]

    def fields(self, tables: tuple[TableName, ...]) -> Inventory:
        """Give the fields of tables, whose rows follow each other, from their trailers."""
        from sdb.packfile.read.fields import inventory

        return inventory(list(chain.from_iterable(map(self._trailers, tables))))

    def statistics(self, table: TableScan, progress: Progress) -> Statistics:
        """Find out what is in the fields of a table, from all of its rows."""
        from sdb.packfile.read.fieldstats import scan

        return scan([part.pack for part in table.parts], threads=self._threads, progress=progress)

    def top_fields(self, tables: tuple[TableName, ...]) -> list[str] | None:
        """Give the names of these fields at the top; None when they are not all known."""
        found = self.fields(tables)
        names = [str(one.path[0]) for one in found.fields if len(one.path) == 1]
        return names if found.complete else None

    def notes_on(self, statement: ast.Statement, result: Execution) -> list[str]:
        """Give what users should know of the answer to a statement, as scans have seen its rows.

        Where no scan has counted a row, types of fields that an index does not have are read.
        """
        from sdb.table.packfiles.knownfields import with_types

        def packs(name: TableName) -> list[Packfile]:
            # Nothing is told of what was not looked at.
            return self._found.get(name, []) if self._named.is_whole(name) else []

        is_cut = self._period is not None
        told = added(left_out(statement, packs, result.seen, is_cut=is_cut), result.left_out())
        whole = (lambda packs: packs) if self._is_closed else with_types
        return [
            *self.notes,
            *self._untold(result.rows_found()),
            *losses(statement, packs, whole),
            *told,
        ]

    def _untold(self, found: int) -> list[str]:
        """Tell of comparisons as `mismatches` does, where an index knows too little for that."""
        from sdb.table.packfiles.knownfields import are_cut, with_types

        if found or self._is_closed:
            return []
        return [
            line
            for test, packs in self._tested
            if are_cut(packs) and any(True for _ in path_tests(test))
            for line in mismatches(test, [PackfileScan(one, ()) for one in with_types(packs)])
        ]

    def tell_absent(self, statement: ast.Statement, *, strict: bool = False) -> None:
        """Warn of fields that a statement reads and no row of its tables has.

        Raises
        ------
        UsageError
            There are some, and `strict` is set.
        """
        from sdb.table.packfiles.knownfields import telling_trailers

        fields: dict[tuple[TableName | None, ...], list[FieldPath]] = {}
        for read in statement.reads:
            path = tuple([step if isinstance(step, str) else None for step in read.steps])
            if not is_pseudo(path):
                fields.setdefault(tuple(map(table_name, read.tables)), []).append(path)
        for tables, paths in fields.items():
            found = [self._found[name] for name in tables if name in self._found]
            # What was not looked at may have the field.
            if len(found) == len(tables) and all(map(self._named.is_whole, filter(None, tables))):
                stored = [self._named.find(name) for name in tables if name]
                of = " and ".join(dict.fromkeys(one.name for some in stored for one in some))
                of = of if all(stored) else ""
                packs = list(chain.from_iterable(found))
                tell(paths, telling_trailers(packs, paths), of=of, strict=strict)
        if self._period is not None:
            self._tell_absent_time(self._period, strict=strict)
        is_system = any(name.kind == "system" for name in self._found)
        if self._at and not is_system and not self._named.is_any_read:
            raise UsageError(f"the query reads no table that {self._at} may be a version of")

    def _tell_absent_time(self, period: Period, *, strict: bool) -> None:
        if not self.tables:
            raise UsageError("the query reads no table of which since and until choose rows")
        if period.field is None:
            return
        if not all(map(self._named.is_whole, self._found)):
            return
        for table in self.tables:
            packs = [part.pack for part in table.parts]
            if (path := period.path(packs)) is not None:
                tell([path], [(pack.path, pack.trailer) for pack in packs], strict=strict)

    def close(self) -> None:
        """Close all packfiles."""
        self._is_closed = True
        self._named.close()
        while self._open:
            self._open.popitem()[1].close()
