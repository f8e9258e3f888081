"""Runs statements on an embedded DuckDB that sees nothing but the scans given to it."""

from __future__ import annotations

import importlib
from contextlib import contextmanager

from sdb import _core
from sdb.errors import QueryError, SdbError
from sdb.query.analyze.types import STRING
from sdb.query.exec.execution import Execution
from sdb.query.exec.metadata_totals import told_by_metadata
from sdb.query.exec.native import run as answered
from sdb.query.plan.choice import choose
from sdb.query.plan.scans import Column, Constants, Count, HashAggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import duckdb

    from sdb._core import LaneScan
    from sdb.query.catalog.dataset import Dataset, OpenDataset, SchemaOf, TableName, ValuePath
    from sdb.query.duckdb_sql.statement import Translation
    from sdb.query.plan.scans import Operation, Predicate, ScanNode
    from sdb.query.syntax import ast


def run(
    statement: ast.Statement,
    *,
    datasets: OpenDataset,
    threads: int = 0,
    memory_bytes: int | None = None,
    typed: bool = True,
    native: bool = True,
) -> Execution:
    """Run a statement, see :class:`StatementPlan`.

    * ``threads``: Number of threads; 0 for as many as there are cores.
    """
    plan = StatementPlan(statement, datasets=datasets, typed=typed, native=native)
    return plan.run(threads, memory_bytes)


class StatementPlan:
    """A statement with the scan or SQL that answers it, which runs once.

    * ``statement``: What the parser made of the query, parameters bound.
    * ``datasets``: Opens the tables of the query, see
      :data:`sdb.query.catalog.dataset.OpenDataset`.
    * ``typed``: Whether values of unknown type are wanted with their types; as JSON text otherwise.
    * ``native``: Whether scans answer on their own what they can.

    Raises `QueryError` if the query cannot be planned; so do its methods.
    """

    def __init__(
        self,
        statement: ast.Statement,
        *,
        datasets: OpenDataset,
        typed: bool = True,
        native: bool = True,
    ) -> None:
        self._statement, self._typed = statement, typed
        # What was opened to see whether a scan suffices is not opened again.
        self._tried = _Tried(datasets)
        self._chosen: Operation | None = None
        self._translation: Translation | None = None
        if native:
            schema_of = _schema_of(datasets)
            with _inside(statement):
                self._chosen = choose(statement, self._tried.open, typed=typed, schema_of=schema_of)

    def open_tables(self) -> None:
        """Open the tables that the statement reads, as far as running it needs them."""
        if self._chosen is None:
            self._translated()
        else:
            with _inside(self._statement):
                self._chosen.scan.dataset  # noqa: B018 - opened when it is first asked for

    def run(self, threads: int, memory_bytes: int | None) -> Execution:
        """Run it, see :func:`run`."""
        chosen = self._chosen
        if self._statement.explain is not None:
            return _explained(self._statement, self._translated(), chosen)
        if isinstance(chosen, Count):
            return _counted(chosen)
        if isinstance(chosen, Constants | HashAggregate):
            from_metadata = told_by_metadata(chosen)
            if from_metadata is not None:
                return from_metadata
            # What is constant is nothing that a scan finds out.
            if isinstance(chosen, Constants) or chosen.has_constants:
                chosen = self._chosen = None
        if chosen is None:
            return _executed(self._translated(), threads, memory_bytes)
        columns = chosen.columns

        def engine() -> Execution:
            return _executed(self._translated(), threads, memory_bytes, columns)

        return answered(chosen, engine, threads=threads, memory_bytes=memory_bytes)

    def _translated(self) -> Translation:
        if self._translation is None:
            from sdb.query.duckdb_sql.statement import translate

            scan = None if self._chosen is None else self._chosen.scan
            opened: OpenDataset = self._tried if scan is None else lambda *_: scan.dataset
            with _inside(self._statement):
                self._translation = translate(
                    self._statement, datasets=opened, holds=holds, typed=self._typed
                )
        return self._translation


def _schema_of(datasets: OpenDataset) -> SchemaOf:
    """Return what knows the schemas of the tables that a catalog opens."""
    catalog = getattr(datasets, "__self__", datasets)
    known: SchemaOf | None = getattr(catalog, "schema", None)
    return known or (lambda _: None)


class _Tried:
    """Opens tables, and gives those again that were opened to try something."""

    def __init__(self, datasets: OpenDataset) -> None:
        self._datasets = datasets
        self._kept: list[tuple[tuple[TableName, ...], ast.Expr | None, Dataset]] = []

    def open(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> Dataset:
        """Open tables, and keep them."""
        dataset = self._datasets(tables, condition)
        self._kept.append((tables, condition, dataset))
        return dataset

    def __call__(self, tables: tuple[TableName, ...], condition: ast.Expr | None) -> Dataset:
        """Return tables that are kept, each once; open the others."""
        for number, (names, where, dataset) in enumerate(self._kept):
            if (names, where) == (tables, condition):
                del self._kept[number]
                return dataset
        return self._datasets(tables, condition)


@contextmanager
def _inside(statement: ast.Statement) -> Iterator[None]:
    """Make errors say where in the query they are."""
    try:
        yield
    except RecursionError as error:
        raise QueryError("the query is nested too deeply", query=statement.text) from error
    except QueryError as error:
        raise error.inside(statement.text) from None


def holds(dataset: Dataset, path: ValuePath) -> bool:
    """Return whether any row of a data set has a value at a path."""
    types = dataset.types(path)
    if types is not None:
        return bool(types & 0x7F)
    if not dataset.sources:
        return False
    present: Predicate = ("is", list(path), 0x7F)
    return _core.LaneScan(list(dataset.sources), [], predicate=present, limit=1).count() > 0


def _lane_scan(scan: ScanNode, threads: int) -> _core.LaneScan:
    # DuckDB wants a column even where only the number of rows counts.
    wanted = list(scan.lanes) or [(len(scan.explode), (), "t")]
    return _core.LaneScan(
        list(scan.dataset.streamed(scan.limit)),
        [(level, list(path), letter) for level, path, letter in wanted],
        explode=[(level, list(path), kind) for level, path, kind in scan.explode],
        predicate=scan.predicate,
        threads=threads,
        limit=scan.limit,
        origins=scan.origins(scan.lanes),
    )


def _counted(count: Count) -> Execution:
    scan = count.scan
    width = len(count.columns)
    rows = scan.dataset.row_count() if scan.predicate is None else None
    if rows is not None:
        return Execution(count.columns, None, ((rows,) * width,))
    lanes = _lane_scan(scan, 0)
    result = Execution(count.columns, None, scans=(lanes,), interrupt=lanes.interrupt)
    result.count = lambda: ((lanes.count(),) * width,)
    return result


def _explained(statement: ast.Statement, plan: Translation, chosen: Operation | None) -> Execution:
    from sdb.query.plan.explain import steps

    lines = [f"DIALECT {statement.dialect}"] if statement.dialect == "sneller" else []
    text = "\n".join([*lines, *steps(plan.scans, chosen, plan.sql)])
    name = {"list": "plan-lines", "gv": "graphviz"}.get(str(statement.explain), "plan")
    columns = (Column("query", {"s": 0}, STRING), Column(name, {"s": 1}, STRING))
    return Execution(columns, None, ((statement.text, text),), is_plan=True)


def _executed(
    plan: Translation,
    threads: int,
    memory_bytes: int | None,
    columns: tuple[Column, ...] | None = None,
) -> Execution:
    """Run SQL; the lanes of the result stand where `columns` have them."""
    import duckdb

    from sdb.query.exec.engines import QuerySession

    session = QuerySession(threads, memory_bytes)
    try:
        scans = []
        for scan in plan.scans:
            lanes = _lane_scan(scan, threads)
            scans.append(lanes)
            register(session.connection, scan, lanes, plan.sql)
        session.add_functions(plan.natives)
        relation = session.connection.sql(plan.sql)
        if columns is not None:
            relation = relation.project(_placed(plan.columns, columns))
    except BaseException as error:
        session.close()
        if isinstance(error, duckdb.Error):
            raise failure(error) from error
        raise

    def interrupt() -> None:
        # A scan that finds no row does not return to the engine, which would look.
        for lanes in scans:
            lanes.interrupt()
        session.interrupt()

    result = Execution(columns or plan.columns, relation, None, tuple(scans), interrupt)
    result.on_close(session.release)
    return result


def _placed(have: tuple[Column, ...], wanted: tuple[Column, ...]) -> str:
    """Put the lanes of columns in another order."""
    places = {
        at: old.lanes[letter]
        for old, new in zip(have, wanted, strict=True)
        for letter, at in new.lanes.items()
    }
    return ", ".join(f"c{places[number]} AS p{number}" for number in sorted(places))


def failure(error: Exception) -> SdbError:
    """Return what an error of the engine means to the user."""
    from sdb.query.exec.exhausted import exhausted

    text = str(error).splitlines()[0]
    return exhausted(error) or QueryError(f"cannot run the query: {text}")


# Scans as relations of DuckDB: it orders joins by what is known of their rows.

MOST_ROWS = 1_000_000
MOST_BYTES = 64 << 20
"""What is larger, decompressed, is read as a stream."""

_FEWEST_JOINS = 2
_JOIN = " JOIN "


def register(
    connection: duckdb.DuckDBPyConnection, scan: ScanNode, lanes: LaneScan, sql: str
) -> None:
    """Make a scan a relation under its name.

    * ``lanes``: The rows, a `_core.LaneScan`.
    * ``sql``: The statement that reads it.
    """
    rows = None if scan.explode else scan.dataset.row_count()
    if rows is None or _JOIN not in sql:
        connection.register(scan.name, lanes)
    elif sql.count(_JOIN) < _FEWEST_JOINS or not _is_small(scan, rows):
        _register_counted(connection, scan.name, lanes, rows)
    else:
        stream = f"{scan.name}_stream"
        connection.register(stream, lanes)
        connection.execute(f"CREATE TEMP TABLE {scan.name} AS FROM {stream}")
        connection.unregister(stream)


def _is_small(scan: ScanNode, rows: int) -> bool:
    """Return whether rows may be kept in memory, whatever is read of them."""
    size: int | None = getattr(scan.dataset, "decompressed_bytes", None)
    return rows <= MOST_ROWS and size is not None and size <= MOST_BYTES


def _register_counted(
    connection: duckdb.DuckDBPyConnection, name: str, lanes: LaneScan, rows: int
) -> None:
    """Register a stream with the number of its rows, where this DuckDB has a place for it."""
    try:
        module: Any = importlib.import_module("duckdb._sources.arrow")
        stream = module.ArrowStreamSource(lanes)
        register: Any = connection._register_arrow_source  # noqa: SLF001 - there is no public one
    except (ImportError, AttributeError):
        connection.register(name, lanes)
        return
    stream.rows = lambda: rows
    register(name, stream)
