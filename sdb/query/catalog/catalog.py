"""Opens the tables of a query, each packfile once."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from itertools import chain

from sdb.errors import NotFoundError, SdbError, UnsupportedError, UsageError
from sdb.packfile.prune.predicate import Anywhere, Both, Instant, Nowhere
from sdb.packfile.prune.unknownfields import warn_no_times, warn_unknown
from sdb.packfile.read.reader import open_packfile
from sdb.query.analyze.folding import fold
from sdb.query.analyze.types import MISSING
from sdb.query.catalog.dataset import MixedSchemasError, table_name
from sdb.query.catalog.locations import candidates
from sdb.query.catalog.namedtables import NamedTables
from sdb.query.catalog.pseudo import is_pseudo, names_origins
from sdb.query.catalog.reduction import reduce
from sdb.query.catalog.tablescan import PackfileScan, TableScan
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.fields import Inventory
    from sdb.packfile.read.fieldstats import Statistics
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress
    from sdb.query.catalog.dataset import QueryRequest, TableName
    from sdb.query.catalog.lakefields import LakeFields
    from sdb.query.catalog.namedtables import OpenedTables
    from sdb.query.catalog.period import Period
    from sdb.query.catalog.views import UsedView
    from sdb.query.syntax import ast
    from sdb.table.catalog.root import Visible
    from sdb.table.schema.columns import TableSchema

_ANYWHERE = Anywhere()
_OPENERS = 16
_ALL_TABLES = ("sdb", "tables")
_SUFFIX = ".zion"


class Catalog:
    """Opens the tables of a query, each packfile once: an `OpenDataset`."""

    def __init__(self, request: QueryRequest) -> None:
        self._cancellation = request.cancellation
        self._root = request.root
        self._visible = request.visible
        self._at = request.at
        self._pinned = request.tables
        self._prune = request.prune
        self._now_us = request.now_us
        self._threads = request.threads
        self._progress = request.progress
        self._reading = request.reading
        self._period = request.period
        self._named = NamedTables(
            request.root, request.at, request.tables, request.known, request.visible
        )
        self._open: dict[tuple[str, ...], Packfile] = {}  # by the inputs that each is made of
        self._names_origins = False
        self._statement: ast.Statement | None = None  # what reads the tables
        self._found: dict[TableName, list[Packfile]] = {}
        self.tables: list[TableScan] = []
        self.views: list[UsedView] = []
        # What the condition asks of packfiles that are all that their table has
        self.tested: list[tuple[Predicate, tuple[PackfileScan, ...]]] = []
        self.is_closed = False

    def __call__(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> TableScan:
        """Find the rows of tables.

        * ``tables``: Their names; the rows of one follow on those of the other.
        * ``condition``: Only rows for which it is TRUE are wanted.

        Returns: The rows, and possibly others for which the condition is not TRUE.
        Raises `NotFoundError`, `AccessError` or `UsageError` if a packfile cannot be opened, or no
        file has such a name; `CorruptError` if a file is no packfile, or a damaged one.
        """
        self.check_cancelled()
        schema = self.schema(tables)
        if schema is not None:
            condition = self._stored(condition, schema)
        period = self._period_of(tables, schema)
        test, times = self._within_period(tables, self._reduced(condition), period)
        packs = self._packs(tables, test)
        if period is not None:  # the same in those that were not looked at before
            period.path(packs)
        name = " ++ ".join(name.text for name in tables)
        stored = chain.from_iterable(map(self._named.find, tables))
        steps = tuple([source.steps(test) for source in stored])
        table = TableScan(
            name, test, packs, prune=self._prune, times=times, steps=steps, schema=schema
        )
        self.tables.append(table)
        is_told = not any(map(self._is_below_a_view, tables)) and not self._is_renamed(schema)
        if is_told and all(map(self._named.is_whole, tables)):
            self.tested.append((test, table.parts))
        return table

    def schema(self, tables: Sequence[TableName]) -> TableSchema | None:
        """Return the schema of tables, whose rows follow each other; None: they have none.

        Raises `MixedSchemasError` if they have several.
        """
        listed = [source.schema for name in tables for source in self._named.find(name)]
        first = next((schema for schema in listed if schema is not None), None)
        if first is None:
            return None
        are_files = sum(not self._named.find(name) for name in tables)
        if are_files or any(
            other is None or (other.columns, other.eras) != (first.columns, first.eras)
            for other in listed
        ):
            raise MixedSchemasError(
                f"{' ++ '.join(name.text for name in tables)}: the tables have several schemas",
                hint="join SELECTs of each of them by UNION ALL",
            )
        return first

    def _stored(self, condition: ast.Expr | None, schema: TableSchema) -> ast.Expr | None:
        """Return a condition on columns as one on fields of stored rows."""
        from sdb.query.catalog.schemarows import SchemaRows

        if condition is None or not self._prune:
            return None
        return SchemaRows(schema, {schema.era}).condition(fold(condition, Instant(self._now_us)))

    def look(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> TableScan:
        """Find the rows of tables, as a call does, for something that is no part of the answer."""
        tables_before, tested_before = len(self.tables), len(self.tested)
        try:
            return self(tables, condition)
        finally:
            del self.tables[tables_before:]
            del self.tested[tested_before:]

    def forget_scans(self) -> None:
        """Forget what was to be read: the statement is planned anew, on the same tables."""
        self.tables.clear()
        self.tested.clear()

    def open_together(self, statement: ast.Statement) -> None:
        """Open the tables of a statement, so that they are of one moment."""
        self._named.open_together(statement)

    def name_queries(self, statement: ast.Statement) -> None:
        """Remember the names of the queries of WITH, which errors about tables suggest."""
        self._named.name_queries(statement)

    def with_views(self, statement: ast.Statement) -> ast.Statement:
        """Return a statement whose views are written out; see :mod:`sdb.query.catalog.views`."""
        self._names_origins = names_origins(statement)
        self._statement = statement
        if not self._named.any_view(statement):
            return statement
        from sdb.query.catalog.views import ViewExpansion

        if statement.described is not None:
            hint = "write SELECT * FROM the view; DESCRIBE the tables that it reads"
            raise UnsupportedError("DESCRIBE and SUMMARIZE take tables, and no views", hint=hint)
        times = None
        if self._period is not None:
            from sdb.query.catalog.viewperiod import ViewPeriod

            times = ViewPeriod(self._period, self._named.times_below)
        expansion = ViewExpansion(self._named.view, self._root, self._at, times)
        statement = expansion.statement(statement)
        self.views = expansion.used
        self._statement = statement
        return statement

    def check_cancelled(self) -> None:
        """Stop here if the query was cancelled. Raises `CancelledError` if it was."""
        if self._cancellation is not None:
            self._cancellation.check()

    def interrupting(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """Have a step of the query interrupted when the query is cancelled."""
        return (
            nullcontext()
            if self._cancellation is None
            else self._cancellation.interrupting(interrupt)
        )

    def _period_of(
        self, tables: tuple[TableName, ...], schema: TableSchema | None
    ) -> Period | None:
        """Return the times that rows of tables must have; of those in views the view's rows do."""
        period = self._period
        if period is None or any(name.through for name in tables):
            return None
        return period if schema is None else period.under(schema)

    def _within_period(
        self, tables: tuple[TableName, ...], test: Predicate, period: Period | None
    ) -> tuple[Predicate, tuple[Any, ...] | None]:
        """Add the times that rows must have to a condition, and give what scans decide of them."""
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
        """Return the packfiles of a table; below a root those that the test does not rule out."""
        stored = self._named.find(name)
        if stored:
            try:
                packs = list(chain.from_iterable(source.packs(test) for source in stored))
            except SdbError as error:
                raise self._named.within(error, name) from None
            before = self._found.get(name)
            self._found[name] = list(dict.fromkeys([*before, *packs])) if before else packs
            return packs
        if name.through:
            raise self._named.gone(name)
        if self._visible is not None:
            self._found[name] = self._seen(name, self._visible)
            return self._found[name]
        try:
            self._found[name] = self._files(name)
        except NotFoundError as error:
            if name.parts == _ALL_TABLES:
                self._found[name] = self._system(name.parts[1:])
            elif name.kind == "system":
                raise
            else:
                raise self._named.unknown(name) or self._named.hinted(error, name) from None
        return self._found[name]

    def _seen(self, name: TableName, visible: Visible) -> list[Packfile]:
        """Return a table about tables; files are not there for a query that names tables alone."""
        if name.kind == "system" or name.parts == _ALL_TABLES:
            return self._system(name.parts if name.kind == "system" else name.parts[1:])
        raise self._named.unseen(name, visible)

    def _system(self, parts: tuple[str, ...]) -> list[Packfile]:
        """Return a table about tables, which is made once."""
        run = (f"sdb.{parts}",)
        if run not in self._open:
            from sdb.query.catalog.systemtables import system_table

            packfile = system_table(
                self._root, parts, at=self._at, pinned=self._pinned, visible=self._visible
            )
            self._open[run] = packfile
        return [self._open[run]]

    def _files(self, name: TableName) -> list[Packfile]:
        if name.kind == "system":
            return self._system(name.parts)
        if name.at is not None:
            message = f"{name.text}: files have no versions"
            raise self._named.unknown(name) or UsageError(message, hint="tables do: FROM db.t@12")
        from sdb.query.catalog.ondemand import open_runs
        from sdb.query.catalog.smallinputs import runs_of

        files = candidates(name, self._root)
        named = runs_of(files, apart=self._names_origins)
        reading = replace(name.reading or self._reading, is_of_many=len(files) > 1)
        # One file may be read in several ways.
        keys = {run: (*run, *reading.texts()) for run in named}
        # What is packed for the query is so by all threads, one after the other, and in the thread
        # that Ctrl-C stops.
        loose = [run for run in named if not run[0].endswith(_SUFFIX)]
        loose = [run for run in loose if keys[run] not in self._open]
        for run, packfile in open_runs(
            loose,
            reading=reading,
            fields=self._lake_fields,
            threads=self._threads,
            progress=self._progress,
        ):
            self._open[keys[run]] = packfile
        new = [run for run in named if keys[run] not in self._open]
        if len(new) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(_OPENERS, len(new))) as pool:
                opened = [(run, pool.submit(open_packfile, run[0])) for run in new]
                for run, future in opened:
                    if future.exception() is None:
                        self._open[keys[run]] = future.result()
                for _, future in opened:
                    future.result()
        elif new:
            self._open[keys[new[0]]] = open_packfile(*new[0])
        return [self._open[keys[run]] for run in named]

    def _lake_fields(self, location: str) -> LakeFields | None:
        """Return what the query may need of a Delta or Iceberg table; None: all of it."""
        if self._statement is None or self._period is not None:
            return None
        from sdb.query.catalog.lakefields import fields_of

        return fields_of(self._statement, location, self._root)

    def _trailers(self, name: TableName) -> list[tuple[str, Trailer]]:
        """Return names and whole trailers of the packfiles of a table."""
        if stored := self._named.find(name):
            return list(chain.from_iterable(source.trailers() for source in stored))
        return [(pack.path, pack.trailer) for pack in self._find(name)]

    def fields(self, tables: tuple[TableName, ...]) -> Inventory:
        """Return the fields of tables, whose rows follow each other, from their trailers."""
        from sdb.packfile.read.fields import inventory

        return inventory(list(chain.from_iterable(map(self._trailers, tables))))

    def statistics(self, table: TableScan, progress: Progress) -> Statistics:
        """Find out what is in the fields of a table, from all of its rows."""
        from sdb.packfile.read.fieldstats import scan

        return scan([part.pack for part in table.parts], threads=self._threads, progress=progress)

    def top_fields(self, tables: tuple[TableName, ...]) -> list[str] | None:
        """Return the names of the columns, or fields at the top; None: they are not all known."""
        with suppress(MixedSchemasError):
            if (schema := self.schema(tables)) is not None:
                return [column.name for column in schema.columns]
        inventory = self.fields(tables)
        names = [str(field.path[0]) for field in inventory.fields if len(field.path) == 1]
        return names if inventory.complete else None

    def has_field(self, tables: tuple[TableName, ...], name: str) -> bool | None:
        """Return whether rows of tables have a field at the top; None: metadata does not tell."""
        from sdb.packfile.prune.unknownfields import has, is_absent
        from sdb.table.packfiles.knownfields import trailers_with_fields

        with suppress(MixedSchemasError):
            if (schema := self.schema(tables)) is not None:
                return any(column.name == name for column in schema.columns)
        table = self.look(tables, None)
        known = table.types((name,))
        if known is not None:
            return bool(known & ~MISSING)
        listed = trailers_with_fields([part.pack for part in table.read], [(name,)])
        if any(has(trailer, (name,)) for _, trailer in listed):
            return True
        return False if all(is_absent(trailer, name) for _, trailer in listed) else None

    @property
    def opened(self) -> OpenedTables:
        """The tables below the root that were opened, by names and version."""
        return self._named.opened

    @property
    def is_cut(self) -> bool:
        """Return whether rows count by their times, whatever the condition of the query is."""
        return self._period is not None

    def told_of(self, name: TableName) -> Sequence[Packfile]:
        """Return the packfiles of a table of which notes may tell.

        Empty where some of them were not looked at.
        """
        if self._is_below_a_view(name):
            return []
        packs = self._found.get(name, []) if self._named.is_whole(name) else []
        schemas = [source.schema for source in self._named.find(name)]
        if len(schemas) == 1 and self._is_renamed(schemas[0]) and packs:
            from sdb.query.catalog.schemarows import NamedPacks, SchemaRows

            rows = SchemaRows(schemas[0], {-1})  # type: ignore[arg-type]  # it is renamed
            return NamedPacks(packs, rows)
        return [] if any(map(self._is_renamed, schemas)) else packs

    @staticmethod
    def _is_renamed(schema: TableSchema | None) -> bool:
        """Return whether columns of a schema are something else than fields of their names."""
        if schema is None:
            return False
        from sdb.query.catalog.schemarows import is_plain

        return not is_plain(schema)

    def warn_absent_paths(self, statement: ast.Statement, *, strict: bool = False) -> None:
        """Warn of fields that a statement reads and no row of its tables has.

        Raises `UsageError` if there are some, and `strict` is set.
        """
        from sdb.table.packfiles.knownfields import trailers_with_fields

        fields: dict[tuple[TableName | None, ...], list[FieldPath]] = {}
        for read in statement.reads:
            path = tuple([step if isinstance(step, str) else None for step in read.steps])
            names = tuple(map(table_name, read.tables))
            has_schema = any(
                source.schema is not None
                for name in names
                if name is not None
                for source in self._named.find(name)
            )
            if not is_pseudo(path) and not has_schema and not self._is_hidden(read.tables):
                fields.setdefault(names, []).append(path)
        for tables, paths in fields.items():
            opened = [self._found[name] for name in tables if name in self._found]
            # What was not looked at may have the field.
            if len(opened) == len(tables) and all(map(self._named.is_whole, filter(None, tables))):
                stored = [self._named.find(name) for name in tables if name]
                of = " and ".join(dict.fromkeys(source.name for some in stored for source in some))
                of = of if all(stored) else ""
                packs = list(chain.from_iterable(opened))
                warn_unknown(paths, trailers_with_fields(packs, paths), of=of, strict=strict)
        if self._period is not None:
            self._tell_absent_time(self._period, strict=strict)
        is_system = any(name.kind == "system" for name in self._found)
        if self._at and not is_system and not self._named.is_any_read:
            raise UsageError(f"the query reads no table that {self._at} may be a version of")

    def _is_hidden(self, tables: Sequence[ast.Table]) -> bool:
        """Return whether a view reads tables that the query itself may not name."""
        return any(name and self._is_below_a_view(name) for name in map(table_name, tables))

    def _is_below_a_view(self, name: TableName) -> bool:
        """Return whether a view reads a table that the query itself may not name."""
        visible = self._visible
        return visible is not None and bool(name.through) and not visible(*name.parts[:2])

    def _tell_absent_time(self, period: Period, *, strict: bool) -> None:
        if not self.tables:
            raise UsageError("the query reads no table of which since and until choose rows")
        if period.field is None:
            return
        if not all(map(self._named.is_whole, self._found)):
            return
        for table in self.tables:
            if table.under is not None or table.times is None:
                continue
            packs = [part.pack for part in table.parts]
            if (path := period.path(packs)) is not None:
                files = [(pack.path, pack.trailer) for pack in packs]
                warn_unknown([path], files, strict=strict)
                warn_no_times(path, files)

    def close(self) -> None:
        """Close all packfiles."""
        self.is_closed = True
        self._named.close()
        while self._open:
            self._open.popitem()[1].close()
