"""The nodes of expressions; `ast` has all of the tree.

`original` says of an operator that it is that of the original: its comment says what that means.
Texts never say so, but the dialect `sneller` does: :mod:`sdb.query.analyze.check` sets it.
"""

from __future__ import annotations

from sdb.packfile.prune import predicate
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TypeAlias

    from sdb.query.syntax.ast import Select

Span: TypeAlias = tuple[int, int]
"""Half-open range of byte offsets in the text of the query."""


class _Place:
    """Has room for the nodes right below, see `visitor.children`."""

    __slots__ = ("below",)
    below: tuple[Node, ...]


@record
class Node(_Place):
    """A node of the tree."""

    # Where the node stands in the text, in bytes
    span: Span = field(default=(0, 0), compare=False, repr=False, kw_only=True)


Instant = predicate.Instant
Constant: TypeAlias = predicate.Constant


class TimeText(str):
    """A text in a comparison that has the form of a time, and is one beside timestamps."""

    __slots__ = ("us",)
    us: int  # the time, in microseconds since 1970

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
    # Whether a source is known to have it, so that it is no alias of the select list
    certain: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Element(Node):
    """The element that a function of elements is called with, by the name that it has there."""

    name: str


@record
class Lambda(Node):
    """A function of an element: ``name -> body``."""

    name: str
    body: Expr


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
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Binary(Node):
    """An infix operator.

    `op` is one of ``OR AND = <> < <= > >= | ^ & << >> >>> + - * / % ||``; other spellings (``!=``,
    ``CONCAT``) are normalised.
    """

    op: str
    left: Expr
    right: Expr
    # NULL equals NULL, and what is no boolean is FALSE
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Between(Node):
    """``operand BETWEEN low AND high``."""

    operand: Expr
    low: Expr
    high: Expr
    # as that of its comparisons
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class In(Node):
    """``operand IN (items)``; items are expressions, or one sub-query."""

    operand: Expr
    items: tuple[Expr, ...] | Subquery
    # NULL equals NULL, and there is no third answer
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Row(Node):
    """``(a, b)``, which IN compares with the rows of a query."""

    values: tuple[Expr, ...]


@record
class Quantified(Node):
    """``operand op ANY (items)``, or ALL; items are expressions, or one sub-query."""

    op: str
    operand: Expr
    every: bool  # whether ALL was written
    items: tuple[Expr, ...] | Subquery  # expressions only as long as a parameter is among them
    # as that of its comparisons
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Among(Node):
    """A test that a path has one of some values, where blocks are chosen; no query has it."""

    path: Expr  # the path, which starts at the row
    values: tuple[Literal, ...]  # the values


@record
class Is(Node):
    """``operand IS [NOT] what``, `what` being ``NULL``, ``MISSING``, ``TRUE`` or ``FALSE``."""

    operand: Expr
    what: str
    negated: bool
    # MISSING is not NULL
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


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
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Call(Node):
    """A function call."""

    # In upper case. TRIM with a direction is ``TRIM``, ``LTRIM`` or ``RTRIM`` with the set of
    # characters as the second argument.
    name: str
    args: tuple[Expr, ...]  # the arguments, without the part
    # Part of a time, in upper case and singular (``MICROSECOND`` ... ``YEAR``, ``DOW``, ``DOY``),
    # of DATE_ADD, DATE_DIFF, DATE_TRUNC and EXTRACT; the stride text of DATE_BIN; ``ANY`` of
    # ARRAY_CONTAINS, which is ``x = ANY(list)`` then.
    part: str | None = None
    weekday: int | None = None  # first day of a week (0 is Sunday), for DATE_TRUNC(WEEK(day), t)
    # LEAST, GREATEST, CONTAINS, ARRAY_CONTAINS do without NULL
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Cast(Node):
    """``CAST(operand AS type)``, the type in upper case."""

    operand: Expr
    type: str
    # Whether it is TRY_CAST or ``::``, which read texts of fields as well
    reads_texts: bool = False
    # a number that no integer holds is the least one
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Case(Node):
    """``CASE [operand] WHEN condition THEN value ... [ELSE otherwise] END``."""

    operand: Expr | None
    limbs: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None
    # NULL equals NULL behind CASE x WHEN
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


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
    """A sort key; NULLs come last in both directions."""

    expr: Expr
    descending: bool = False
    nulls_last: bool = False
    # Whether NULLS FIRST was written: rows without a value come first too
    nulls_first: bool = False
    # NULLs come first, and rows without a key are left out, or last
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)

    @property
    def is_null_first(self) -> bool:
        """Return whether NULL comes before all other values, in both directions."""
        return not self.nulls_last if self.original else self.nulls_first


@record
class FrameEnd(Node):
    """One end of a frame."""

    side: str  # ``PRECEDING``, ``FOLLOWING`` or ``CURRENT ROW``
    distance: Expr | None = None  # a number or an interval; UNBOUNDED without it


@record
class WindowFrame(Node):
    """The rows around the present one that a window function is about."""

    unit: str  # ``ROWS``, ``RANGE`` or ``GROUPS``
    start: FrameEnd
    end: FrameEnd
    excluded: str = ""  # what EXCLUDE leaves out: ``CURRENT ROW``, ``GROUP`` or ``TIES``


@record
class Over(Node):
    """The window of a window function."""

    partition: tuple[Expr, ...]
    order: tuple[Sort, ...]
    frame: WindowFrame | None = None
    name: str = ""  # the named window that it begins with; the parser puts it in


@record
class Aggregate(Node):
    """An aggregate or a window function."""

    name: str  # in upper case; EVERY is ``BOOL_AND``
    args: tuple[Expr, ...]  # the arguments; none for ``*``
    star: bool = False  # whether the argument is ``*``
    distinct: bool = False  # whether DISTINCT precedes the argument
    where: Expr | None = None  # the condition of FILTER
    over: Over | None = None  # the window
    order: tuple[Sort, ...] = ()  # the order of the values, for ARRAY_AGG and STRING_AGG
    ignores_nulls: bool = False  # whether IGNORE NULLS was written
    most: int | None = None  # how many values ARRAY_AGG and STRING_AGG take, as LIMIT says
    # COUNT counts NULL, AVG cuts integers, STDDEV is of all
    original: bool = field(default=False, compare=False, repr=False, kw_only=True)


@record
class Star(Node):
    """``*`` beside other items or with changes, ``a.*``; it is written out before names are bound.

    The plain ``*`` is that of `Select`.
    """

    table: str | None = None  # the name of the source whose columns these are; None for all
    excluded: tuple[str, ...] = ()  # the names of EXCLUDE
    replaced: tuple[tuple[str, Expr], ...] = ()  # columns of REPLACE, and what they are
    renamed: tuple[tuple[str, str], ...] = ()  # columns of RENAME, and their names
    named: tuple[str, ...] = ()  # names of the first columns, as `t AS u(a, b)` gives them


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
    | Element
    | Lambda
    | Dot
    | Index
    | Unary
    | Binary
    | Between
    | In
    | Row
    | Quantified
    | Among
    | Is
    | Match
    | Call
    | Cast
    | Case
    | MakeList
    | MakeStruct
    | Aggregate
    | Star
    | Subquery
    | Exists
)
