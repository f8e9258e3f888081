"""Opens the tables of a query, each packfile once."""

from __future__ import annotations

from itertools import chain

from sdb.packfile.absent import tell
from sdb.packfile.ondemand import open_table
from sdb.packfile.predicate import Anywhere, Instant
from sdb.packfile.reader import open_packfile
from sdb.progress import silent
from sdb.query.analyze.folding import fold
from sdb.query.plan.absentees import fields_of
from sdb.query.plan.leftout import left_out
from sdb.query.plan.locations import candidates
from sdb.query.plan.mismatches import mismatches
from sdb.query.plan.reduction import reduce
from sdb.query.plan.tablescan import TableScan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.predicate import Predicate
    from sdb.packfile.reader import Packfile
    from sdb.progress import Progress
    from sdb.query.plan.dataset import TableName
    from sdb.query.syntax import ast

_OPENERS = 16
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

    Attributes
    ----------
    tables : list of TableScan
        What was opened.
    notes : list of str
        What their users should know.
    """

    def __init__(
        self,
        root: str = "",
        *,
        prune: bool = True,
        now_us: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        self._root = root
        self._prune = prune
        self._now_us = now_us
        self._threads = threads
        self._progress = progress
        self._open: dict[str, Packfile] = {}
        self._found: dict[TableName, list[Packfile]] = {}
        self.tables: list[TableScan] = []
        self.notes: list[str] = []

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
        test = self._reduced(condition)
        packs = list(chain.from_iterable(map(self._find, tables)))
        name = " ++ ".join("/".join(name.parts) for name in tables)
        table = TableScan(name, test, packs, prune=self._prune)
        self.tables.append(table)
        self.notes += mismatches(test, table.parts)
        return table

    def _reduced(self, condition: ast.Expr | None) -> Predicate:
        if condition is None or not self._prune:
            return Anywhere()
        return reduce(fold(condition, Instant(self._now_us)))

    def _find(self, name: TableName) -> list[Packfile]:
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
        self._found[name] = [self._open[path] for path in paths]
        return self._found[name]

    def notes_on(self, statement: ast.Statement) -> list[str]:
        """Give what users should know of the answer to a statement."""
        return self.notes + left_out(statement, lambda name: self._found.get(name, []))

    def tell_absent(self, statement: ast.Statement, *, strict: bool = False) -> None:
        """Warn of fields that a statement reads and no row of its tables has.

        Raises
        ------
        UsageError
            There are some, and `strict` is set.
        """
        for tables, fields in fields_of(statement).items():
            if all(name in self._found for name in tables):
                packs = chain.from_iterable(self._found[name] for name in tables)
                tell(fields, [(pack.path, pack.trailer) for pack in packs], strict=strict)

    def close(self) -> None:
        """Close all packfiles."""
        while self._open:
            self._open.popitem()[1].close()
