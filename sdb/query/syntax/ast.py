"""The syntax tree of a query.

Plain data: the parser builds it, the checker and the translator read it. Every node knows where
it stands in the text, which equality leaves aside, so that two spellings of one expression
(``a+1`` in the select list and ``a + 1`` under GROUP BY) are equal.
"""

from __future__ import annotations

from sdb.packfile.prune import predicate
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TypeAlias

Span: TypeAlias = tuple[int, int]
"""Half-open range of byte offsets in the text of the query."""


@record
class Node:
    """A node of the tree.

    Attributes
    ----------
    span : (int, int)
        Where the node stands in the text, in bytes.
    """

    span: Span = field(default=(0, 0), compare=False, repr=False, kw_only=True)


Instant = predicate.Instant
Constant: TypeAlias = predicate.Constant


class TimeText(str):
    """A text in a comparison that has the form of a time, and is one beside timestamps.

    Attributes
    ----------
    us : int
        The time, in microseconds since 1970.
    """

    __slots__ = ("us",)
    us: int

    def __new__(cls, text: str, us: int) -> Self:
        """Make the text."""
        made = super().__new__(cls, text)
        made.us = us
        return made


@record
class Literal(Node):
    """A number, string, timestamp, TRUE, FALSE or NULL (``None``).

    Equality is by value, so that of literals must also compare types: ``1``, ``1.0`` and ``TRUE``
    are different constants.
    """

    value: Constant
    type: type = field(init=False)

    def __post_init__(self) -> None:
        """Keep the type beside the value, for equality."""
        object.__setattr__(self, "type", type(self.value))


@record
class Missing(Node):
    """The word MISSING."""


@record
class Param(Node):
    """A value given beside the query, ``$name``; bound before the query is checked."""

    name: str


@record
class Position(Node):
    """An item of the select list by its number, from 1: a key of GROUP BY or ORDER BY."""

    number: int


@record
class Interval(Node):
    """A span of time, ``INTERVAL '1 day'``; the parser makes DATE_ADD of it and of a time."""

    months: int
    us: int


@record
class Name(Node):
    """A bare name: a field, an alias, a table; which one is for the binder to find out."""

    name: str


@record
class Dot(Node):
    """A field of a structure: ``base.name`` or ``base['name']``."""

    base: Expr
    name: str


@record
class Index(Node):
    """An element of a list: ``base[index]``, counted from 0."""

    base: Expr
    index: int


@record
class Unary(Node):
    """A prefix operator: ``NOT``, ``~`` (bit complement) or ``-``."""

    op: str
    operand: Expr


@record
class Binary(Node):
    """An infix operator.

    `op` is one of ``OR AND = <> < <= > >= | ^ & << >> >>> + - * / % ||``; other spellings (``!=``,
    ``CONCAT``) are normalised.
    """

    op: str
    left: Expr
    right: Expr


@record
class Between(Node):
    """``operand BETWEEN low AND high``."""

    operand: Expr
    low: Expr
    high: Expr


@record
class In(Node):
    """``operand IN (items)``; items are expressions, or one sub-query."""

    operand: Expr
    items: tuple[Expr, ...] | Subquery


@record
class Among(Node):
    """A test that a path has one of some values, where blocks are chosen; no query has it.

    Attributes
    ----------
    path : Expr
        The path, which starts at the row.
    values : tuple of Literal
        The values.
    """

    path: Expr
    values: tuple[Literal, ...]


@record
class Is(Node):
    """``operand IS [NOT] what``, `what` being ``NULL``, ``MISSING``, ``TRUE`` or ``FALSE``."""

    operand: Expr
    what: str
    negated: bool


@record
class Match(Node):
    """A pattern match.

    `op` is one of ``LIKE``, ``ILIKE``, ``SIMILAR TO``, ``~`` and ``~*``.
    """

    op: str
    operand: Expr
    pattern: str
    escape: str | None
    negated: bool


@record
class Call(Node):
    """A function call.

    Attributes
    ----------
    name : str
        In upper case. TRIM with a direction is ``TRIM``, ``LTRIM`` or ``RTRIM`` with the set of
        characters as the second argument.
    args : tuple of Expr
        The arguments, without the part.
    part : str or None
        Part of a time, in upper case and singular (``MICROSECOND`` ... ``YEAR``, ``DOW``, ``DOY``),
        of DATE_ADD, DATE_DIFF, DATE_TRUNC and EXTRACT; the stride text of DATE_BIN.
    weekday : int or None
        First day of a week (0 is Sunday), for DATE_TRUNC(WEEK(day), t).
    """

    name: str
    args: tuple[Expr, ...]
    part: str | None = None
    weekday: int | None = None


@record
class Cast(Node):
    """``CAST(operand AS type)``, the type in upper case."""

    operand: Expr
    type: str


@record
class Case(Node):
    """``CASE [operand] WHEN condition THEN value ... [ELSE otherwise] END``."""

    operand: Expr | None
    limbs: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None


@record
class MakeList(Node):
    """``[a, b]``."""

    items: tuple[Expr, ...]


@record
class MakeStruct(Node):
    """``{'k': a}``."""

    members: tuple[tuple[str, Expr], ...]


@record
class Sort(Node):
    """A sort key; NULLs come first in both directions unless `nulls_last`."""

    expr: Expr
    descending: bool = False
    nulls_last: bool = False


@record
class Over(Node):
    """The window of a window function."""

    partition: tuple[Expr, ...]
    order: tuple[Sort, ...]


@record
class Aggregate(Node):
    """An aggregate or a window function.

    Attributes
    ----------
    name : str
        In upper case; EVERY is ``BOOL_AND``.
    args : tuple of Expr
        The arguments; none for ``*``.
    star : bool
        Whether the argument is ``*``.
    distinct : bool
        Whether DISTINCT precedes the argument.
    where : Expr or None
        The condition of FILTER.
    over : Over or None
        The window.
    order : tuple of Sort
        The order of the values, for ARRAY_AGG and STRING_AGG.
    """

    name: str
    args: tuple[Expr, ...]
    star: bool = False
    distinct: bool = False
    where: Expr | None = None
    over: Over | None = None
    order: tuple[Sort, ...] = ()


@record
class Subquery(Node):
    """A query as a value."""

    select: Select


@record
class Exists(Node):
    """``EXISTS (SELECT ...)``."""

    select: Select


Expr: TypeAlias = (
    Literal
    | Missing
    | Param
    | Position
    | Interval
    | Name
    | Dot
    | Index
    | Unary
    | Binary
    | Between
    | In
    | Among
    | Is
    | Match
    | Call
    | Cast
    | Case
    | MakeList
    | MakeStruct
    | Aggregate
    | Subquery
    | Exists
)


@record
class PathTable(Node):
    """A table by name: a WITH name, a list of an earlier source (unnesting), or a file's path.

    Attributes
    ----------
    expr : Name, Dot or Index
        The path as it was written.
    """

    expr: Expr


@record
class CallTable(Node):
    """A table function: ``READ_FILE``, ``TABLE_GLOB`` or ``TABLE_PATTERN`` (upper case)."""

    name: str
    args: tuple[Expr, ...]


@record
class QueryTable(Node):
    """A sub-query as a table."""

    select: Select


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


Table: TypeAlias = PathTable | CallTable | QueryTable | ConcatTable | UnpivotTable


@record
class Source(Node):
    """One entry of FROM.

    Attributes
    ----------
    table : Table
        What is read.
    alias : str or None
        Its name in the query.
    join : str
        How it meets the sources before it: ``FIRST``, ``CROSS`` (a comma too), ``INNER``, ``LEFT``
        or ``RIGHT``.
    on : Expr or None
        The condition of the join.
    keys : tuple of Among
        What rows have that anything comes of: keys of other sources, once they are known.
    """

    table: Table
    alias: str | None
    join: str = "FIRST"
    on: Expr | None = None
    keys: tuple[Among, ...] = field(default=(), compare=False, repr=False)


@record
class Item(Node):
    """An entry of the select list or of GROUP BY."""

    expr: Expr
    alias: str | None = None


@record
class Select(Node):
    """One SELECT.

    Attributes
    ----------
    items : tuple of Item
        The select list; none for ``*``.
    star : bool
        Whether the select list is ``*``.
    excluded : tuple of str
        The names of EXCLUDE behind it.
    distinct : bool
        Whether DISTINCT (or DISTINCT ON) was written.
    distinct_on : tuple of Expr
        The keys of DISTINCT ON.
    sources : tuple of Source
        FROM; none when it is left out.
    where, having : Expr or None
        The conditions.
    group_by : tuple of Item or None
        The keys of GROUP BY.
    order_by : tuple of Sort
        The sort keys.
    limit, offset : int or None
        The numbers after LIMIT and OFFSET; the checker refuses negative ones.
    names : tuple of str
        Names of the columns, the empty one for a whole row; the binder gives them.
    """

    items: tuple[Item, ...]
    star: bool = False
    distinct: bool = False
    distinct_on: tuple[Expr, ...] = ()
    sources: tuple[Source, ...] = ()
    where: Expr | None = None
    group_by: tuple[Item, ...] | None = None
    having: Expr | None = None
    order_by: tuple[Sort, ...] = ()
    limit: int | None = None
    offset: int | None = None
    excluded: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)


@record
class FieldRead:
    """A field that a query reads of tables.

    Attributes
    ----------
    tables : tuple of Table
        The tables, whose rows follow each other.
    steps : tuple of str, int or None
        The way from a row: names of fields, numbers of elements, None for each element of a list.
    """

    tables: tuple[Table, ...]
    steps: tuple[str | int | None, ...]


@record
class Statement(Node):
    """A whole query.

    Attributes
    ----------
    select : Select
        The first SELECT.
    with_ : tuple of (str, Select)
        The entries of WITH, in order.
    unions : tuple of (bool, Select)
        Further SELECTs, each with whether UNION ALL joins it.
    explain : str or None
        Form of EXPLAIN: ``text``, ``list``, ``gv``; ``None`` without it.
    into : Expr or None
        The path after INTO.
    text : str
        The query as it was written.
    reads : tuple of FieldRead
        The fields that it certainly reads, once its names are bound.
    described : Table or None
        The table of DESCRIBE or SUMMARIZE, which are no queries.
    is_summary : bool
        Whether it is SUMMARIZE.
    """

    select: Select
    with_: tuple[tuple[str, Select], ...] = ()
    unions: tuple[tuple[bool, Select], ...] = ()
    explain: str | None = None
    into: Expr | None = None
    text: str = field(default="", compare=False, repr=False)
    reads: tuple[FieldRead, ...] = field(default=(), compare=False, repr=False)
    described: Table | None = None
    is_summary: bool = False
