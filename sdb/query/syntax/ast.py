"""The syntax tree of a query.

Plain data: the parser builds it, the checker and the translator read it. Every node knows where
it stands in the text, which equality leaves aside, so that two spellings of one expression
(``a+1`` in the select list and ``a + 1`` under GROUP BY) are equal.
"""

from __future__ import annotations

from sdb.query.syntax.exprnodes import (
    Aggregate,
    Among,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Constant,
    Dot,
    Element,
    Exists,
    Expr,
    FrameEnd,
    In,
    Index,
    Instant,
    Interval,
    Is,
    Lambda,
    Literal,
    MakeList,
    MakeStruct,
    Match,
    Missing,
    Name,
    Node,
    Over,
    Param,
    Position,
    Quantified,
    Row,
    Sort,
    Span,
    Star,
    Subquery,
    TimeText,
    Unary,
    WindowFrame,
)
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "Aggregate",
    "Among",
    "Between",
    "Binary",
    "Call",
    "CallTable",
    "Case",
    "Cast",
    "ConcatTable",
    "Constant",
    "Dot",
    "Element",
    "Exists",
    "Expr",
    "FieldRead",
    "Fill",
    "FrameEnd",
    "In",
    "Index",
    "Instant",
    "Interval",
    "Is",
    "Item",
    "Lambda",
    "ListTable",
    "Literal",
    "MakeList",
    "MakeStruct",
    "Match",
    "Missing",
    "Name",
    "Node",
    "Over",
    "Param",
    "PathTable",
    "PivotTable",
    "Position",
    "Quantified",
    "QueryTable",
    "Row",
    "Sample",
    "Select",
    "SetTable",
    "Sort",
    "Source",
    "Span",
    "Star",
    "Statement",
    "Subquery",
    "Table",
    "TimeText",
    "Unary",
    "UnpivotTable",
    "WindowFrame",
]


@record
class PathTable(Node):
    """A table by name: a WITH name, a list of an earlier source (unnesting), or a file's path."""

    expr: Expr  # the path as it was written


@record
class CallTable(Node):
    """A table function: ``READ_FILE``, ``TABLE_GLOB`` or ``TABLE_PATTERN`` (upper case).

    ``READ_FILE_WITH`` has names and values of options behind the path.
    """

    name: str
    args: tuple[Expr, ...]


@record
class QueryTable(Node):
    """A sub-query as a table."""

    select: Select
    lateral: bool = False  # whether it sees the sources before it


@record
class ConcatTable(Node):
    """``a ++ b``: the rows of tables, one after the other."""

    tables: tuple[Table, ...]


@record
class UnpivotTable(Node):
    """``UNPIVOT table AS value AT key``: a row for each field of each row."""

    table: Table
    value: str | None
    key: str | None


@record
class PivotTable(Node):
    """``table PIVOT (aggregates FOR column IN (values))`` without its keys.

    They are all other columns of the table; it is written out before names are bound.
    """

    source: Source
    aggregates: tuple[Item, ...]
    column: Expr
    values: tuple[Item, ...]  # constants, each with the name of its column


@record
class SetTable(Node):
    """The rows of two queries as sets: ``a UNION b``; by itself it is the table of a `*`."""

    op: str  # ``UNION``, ``INTERSECT`` or ``EXCEPT``
    every: bool  # whether ALL was written: rows count as often as they occur
    left: Select
    right: Select
    by_name: bool = False  # whether columns are joined by their names: ``UNION BY NAME``


@record
class ListTable(Node):
    """``UNNEST(list, ...)``, ``GENERATE_SERIES(a, b)`` or ``RANGE(n)``: a row for each element."""

    name: str  # the function, in upper case
    args: tuple[Expr, ...]
    value: str  # the name of the element
    ordinal: str | None = None  # the name of its number, counted from 1
    more: tuple[str, ...] = ()  # names of the elements of further lists, which are beside these
    label: str | None = None  # the name in front of these, as u in AS u(x)


Table: TypeAlias = (
    PathTable
    | CallTable
    | QueryTable
    | ConcatTable
    | UnpivotTable
    | PivotTable
    | SetTable
    | ListTable
)


@record
class Source(Node):
    """One entry of FROM."""

    table: Table  # what is read
    alias: str | None  # its name in the query
    # How it meets the sources before it: ``FIRST``, ``CROSS`` (a comma too), ``INNER``, ``LEFT``,
    # ``RIGHT``, ``FULL``, ``SEMI``, ``ANTI``, ``ASOF`` or ``ASOF LEFT``
    join: str = "FIRST"
    on: Expr | None = None  # the condition of the join
    using: tuple[str, ...] = ()  # the fields of USING, which are equal on both sides
    natural: bool = False  # whether these are the fields that both sides have
    # What rows have that anything comes of: keys of other sources, once they are known
    keys: tuple[Among, ...] = field(default=(), compare=False, repr=False)


@record
class Item(Node):
    """An entry of the select list or of GROUP BY."""

    expr: Expr
    alias: str | None = None


@record
class Fill(Node):
    """``FILL(value)`` behind a key of times: what aggregates are in buckets without rows."""

    key: int  # the place of the key in GROUP BY
    value: Constant  # the value there, if it is not that of the bucket before
    is_previous: bool = False  # whether it is ``FILL(PREVIOUS)``
    # The times between which there are buckets at least, in microseconds since 1970
    start_us: int | None = None
    stop_us: int | None = None
    path: tuple[str, ...] = ()  # where rows have these times; nothing where it is obvious


@record
class Sample(Node):
    """A part of the rows of FROM, taken by chance."""

    amount: float  # percent, or rows
    is_rows: bool
    seed: int | None = None  # that of REPEATABLE


@record
class Select(Node):
    """One SELECT."""

    items: tuple[Item, ...]  # the select list; none for ``*``
    star: bool = False  # whether the select list is ``*``
    distinct: bool = False  # whether DISTINCT (or DISTINCT ON) was written
    distinct_on: tuple[Expr, ...] = ()  # the keys of DISTINCT ON
    sources: tuple[Source, ...] = ()  # FROM; none when it is left out
    # The conditions
    where: Expr | None = None
    group_by: tuple[Item, ...] | None = None  # the keys of GROUP BY
    # The places of the keys in each set of GROUPING SETS, ROLLUP or CUBE; none for plain keys
    grouping_sets: tuple[tuple[int, ...], ...] = ()
    fill: Fill | None = None  # FILL behind a key
    having: Expr | None = None
    order_by: tuple[Sort, ...] = ()  # the sort keys
    # The numbers after LIMIT and OFFSET; the checker refuses negative ones
    limit: int | None = None
    offset: int | None = None
    ties: bool = False  # whether rows equal to the last one in the order come too
    excluded: tuple[str, ...] = ()  # the names of EXCLUDE behind it
    qualify: Expr | None = None  # the condition after window functions
    sample: Sample | None = None  # that of TABLESAMPLE, where nothing else is asked of a table
    # ``standard`` or ``sneller`` where it is part of a view; else that of what is around it
    dialect: str = ""
    # Names of the columns, the empty one for a whole row; the binder gives them
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    # Whether it is that of the original: rows without a key of GROUP BY and DISTINCT are left out,
    # what has no value is MISSING, UNION goes by name
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class FieldRead:
    """A field that a query reads of tables."""

    tables: tuple[Table, ...]  # the tables, whose rows follow each other
    # The way from a row: names of fields, numbers of elements, None for each element of a list
    steps: tuple[str | int | None, ...]


@record
class Statement(Node):
    """A whole query."""

    select: Select  # the first SELECT
    with_: tuple[tuple[str, Select], ...] = ()  # the entries of WITH, in order
    # Further SELECTs, each with whether UNION ALL joins it
    unions: tuple[tuple[bool, Select], ...] = ()
    explain: str | None = None  # form of EXPLAIN: ``text``, ``list``, ``gv``; ``None`` without it
    into: Expr | None = None  # the path after INTO
    text: str = field(default="", compare=False, repr=False)  # the query as it was written
    # The fields that it certainly reads, once its names are bound
    reads: tuple[FieldRead, ...] = field(default=(), compare=False, repr=False)
    described: Table | None = None  # the table of DESCRIBE or SUMMARIZE, which are no queries
    is_summary: bool = False  # whether it is SUMMARIZE
    recursive: tuple[str, ...] = ()  # names of entries of WITH that read their own rows
    # ``standard`` or ``sneller``; empty where nothing was said
    dialect: str = ""
