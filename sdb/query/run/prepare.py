"""A query before it runs: the one way from its text to what is run, explained and tagged."""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import UsageError
from sdb.query.analyze import dialects
from sdb.query.analyze.check import check
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import MixedSchemasError
from sdb.query.plan.numbertexts import numbers_read
from sdb.query.plan.resolution import resolved
from sdb.query.plan.stars import expanded, warn_hidden
from sdb.query.plan.tablenames import named
from sdb.query.syntax import ast, printer, visitor
from sdb.records import changing_record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.catalog.dataset import QueryRequest, TableName, ValuePath

# Years, days, hours, minutes and seconds from now: no part of a time is the same then.
_LATER_US = ((4 * 366 + 33) * 86_400 + 5 * 3_600 + 7 * 60 + 11) * 1_000_000 + 13


@changing_record
class PreparedQuery:
    """A query whose names, types and tables are known; who has it closes its catalog."""

    request: QueryRequest
    catalog: Catalog  # has its tables open
    whole: ast.Statement  # with its views written out
    written: ast.Statement  # and with its stars and names
    statement: ast.Statement  # and checked, as of now: the one that runs
    readings: list[str]  # parts of it that are taken for something else than is written

    @property
    def text(self) -> str:
        """The statement as it runs: with parameters, stars, views and the present written out."""
        return printer.statement(self.statement)

    @property
    def depends_on_now(self) -> bool:
        """Return whether it is another statement at another time."""
        if not any(map(_may_tell_time, visitor.nodes(self.written))):
            return False
        later = check(self.written, self.request.now_us + _LATER_US)
        return printer.statement(later) != self.text


def prepare(request: QueryRequest) -> PreparedQuery:
    """Find out what a query means, and open its tables.

    Raises `SdbError` if it has no meaning, or a table cannot be opened.
    """
    statement = dialects.settled(request.statement, request.dialect)
    if statement.described is not None and request.period is not None:
        raise UsageError("DESCRIBE and SUMMARIZE take all rows: leave out since and until")
    catalog = Catalog(request)
    try:
        whole = catalog.with_views(statement)
        if whole.described is not None:
            return PreparedQuery(request, catalog, whole, whole, whole, [])
        # Tables are opened after a look at the query, but for those whose fields matter to it.
        written = _written_out(_in_period(whole, request), catalog, strict=request.strict)
        written, readings = _with_numbers(written, catalog)
        checked = check(written, request.now_us)
        catalog.open_together(checked)
        catalog.check_cancelled()
    except BaseException:
        catalog.close()
        raise
    return PreparedQuery(request, catalog, whole, written, checked, readings)


def _may_tell_time(node: ast.Node) -> bool:
    """Return whether the value of a node can be another one at another time."""
    return isinstance(node, ast.Cast) or (isinstance(node, ast.Call) and node.name == "UTCNOW")


def _with_numbers(statement: ast.Statement, catalog: Catalog) -> tuple[ast.Statement, list[str]]:
    """Return a statement whose texts are numbers beside fields that have nothing else."""
    if statement.dialect == dialects.SNELLER:
        return statement, []

    def types(table: TableName, path: ValuePath) -> int | None:
        with suppress(MixedSchemasError):
            if catalog.schema((table,)) is None:
                return catalog.look((table,), None).types(path)
        return None

    return numbers_read(statement, types)


def _in_period(statement: ast.Statement, request: QueryRequest) -> ast.Statement:
    """Return a statement whose FILL makes buckets of the whole period."""
    period = request.period
    if period is None:
        return statement
    return between(statement, period.start_us, period.stop_us, period.field)


def _written_out(statement: ast.Statement, catalog: Catalog, *, strict: bool) -> ast.Statement:
    """Return a statement in which stars are the fields they mean, and names those of sources."""
    catalog.name_queries(statement)
    named_tables = named(statement, catalog.top_fields)
    warn_hidden(named_tables, catalog.top_fields)
    whole = expanded(named_tables, catalog.top_fields)

    def has(tables: tuple[TableName, ...], name: str) -> bool:
        known = catalog.has_field(tables, name)
        if known is not None:
            return known
        from sdb.query.exec.engine import holds

        return holds(catalog.look(tables, None), (name,))

    return resolved(whole, has, strict=strict)


# FILL: the times between which there are buckets, where since or until say them.


def between(
    statement: ast.Statement,
    start_us: int | None,
    stop_us: int | None,
    field: str | Sequence[str] | None,
) -> ast.Statement:
    """Return a statement whose FILLs begin and end with times, where rows have them in a field."""
    path = tuple(field.split(".")) if isinstance(field, str) else tuple(field or ())

    def change(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Fill):
            return node
        return replace(node, start_us=start_us, stop_us=stop_us, path=path)

    return visitor.rewrite(statement, change)
