"""The parser of aggregates and window functions."""

from __future__ import annotations

from sdb.query.syntax import ast, operators
from sdb.query.syntax.clauses import windows
from sdb.query.syntax.lexer import AGGREGATES
from sdb.query.syntax.literals import words
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

_SHARES = 2  # where they stand among the arguments of a percentile
_PRECISION = range(4, 17)
_STAR = "'*'"
_COLLECTING = words("ARRAY_AGG STRING_AGG GROUP_CONCAT LISTAGG")
_IDEMPOTENT = words("MAX MIN ANY_VALUE BOOL_AND BOOL_OR BIT_AND BIT_OR EARLIEST LATEST")
"""Aggregates to which it is the same how often a value comes."""
_ENDS = frozenset({"FIRST", "LAST"})
WITHIN = {"PERCENTILE_CONT": "QUANTILE", "PERCENTILE_DISC": "QUANTILE_DISC"}
_OF_TWO = words(
    "APPROX_TOP_K ARG_MAX ARG_MIN CORR COVAR_POP COVAR_SAMP REGR_INTERCEPT REGR_R2 REGR_SLOPE"
)
_PARAMETRIC = words("APPROX_PERCENTILE APPROX_TOP_K QUANTILE QUANTILE_DISC")
_PERCENTILES = frozenset({"APPROX_PERCENTILE", "QUANTILE", "QUANTILE_DISC"})
SAME_AGGREGATES = {
    "APPROX_QUANTILE": "APPROX_PERCENTILE",
    "ARBITRARY": "ANY_VALUE",
    "COUNTIF": "COUNT_IF",
    "EVERY": "BOOL_AND",
    "GROUP_CONCAT": "STRING_AGG",
    "LISTAGG": "STRING_AGG",
    "LOGICAL_AND": "BOOL_AND",
    "LOGICAL_OR": "BOOL_OR",
    "MAX_BY": "ARG_MAX",
    "MIN_BY": "ARG_MIN",
    "PERCENTILE": "QUANTILE",
    "QUANTILE_CONT": "QUANTILE",
    "VAR_POP": "VARIANCE_POP",
    "VAR_SAMP": "VARIANCE_SAMP",
}


FOREIGN = {
    "ANY": "ANY_VALUE",
    "ANYHEAVY": "MODE",
    "ANYLAST": "ANY_VALUE",
    "APPROX_DISTINCT": "APPROX_COUNT_DISTINCT",
    "ARGMAX": "ARG_MAX",
    "ARGMIN": "ARG_MIN",
    "COLLECT_LIST": "ARRAY_AGG",
    "COLLECT_SET": "ARRAY_AGG",
    "COUNT_DISTINCT": "COUNT",
    "GROUPARRAY": "ARRAY_AGG",
    "GROUPUNIQARRAY": "ARRAY_AGG",
    "LIST": "ARRAY_AGG",
    "QUANTILEEXACT": "QUANTILE",
    "QUANTILES": "QUANTILE",
    "QUANTILETDIGEST": "APPROX_PERCENTILE",
    "STDDEVPOP": "STDDEV_POP",
    "STDDEVSAMP": "STDDEV_SAMP",
    "TOPK": "APPROX_TOP_K",
    "UNIQ": "COUNT",
    "UNIQCOMBINED": "COUNT",
    "UNIQEXACT": "COUNT",
    "UNIQHLL12": "COUNT",
    "VARPOP": "VARIANCE_POP",
    "VARSAMP": "VARIANCE_SAMP",
}
"""Aggregates of ClickHouse, Athena and Spark, whose names are no words of the language."""
_OF_VALUES = words("COLLECT_LIST COLLECT_SET GROUPARRAY GROUPUNIQARRAY")
"""Those that leave out NULL."""
_ONCE = words("COLLECT_SET GROUPUNIQARRAY COUNT_DISTINCT UNIQ UNIQCOMBINED UNIQEXACT UNIQHLL12")
"""Those that take each value once."""


def is_conditional(name: str) -> bool:
    """Return whether an aggregate has a condition as its last argument, as ClickHouse has it."""
    base = name.removesuffix("IF")
    return base != name and (base in FOREIGN or base in AGGREGATES) and name not in AGGREGATES


def foreign(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse an aggregate of others, the name of which has been read."""
    written = str(token.value).upper()
    base = written.removesuffix("IF") if is_conditional(written) else written
    kind = FOREIGN.get(base, base)
    call = aggregate(parser, replace(token, kind=kind), base, has_test=base != written)
    if base in _OF_VALUES and isinstance(call, ast.Aggregate):
        known = ast.Is(call.args[0], "NULL", negated=True, span=call.span)
        where = known if call.where is None else ast.Binary("AND", known, call.where)
        call = replace(call, where=where)
    return call


def _arguments(
    parser: ExpressionParser, kind: str, written: str, *, has_test: bool = False
) -> tuple[tuple[ast.Expr, ...], bool, bool]:
    """Parse what stands in the parentheses: the arguments, and whether these are DISTINCT or *."""
    distinct = bool(parser.accept("DISTINCT")) or written in _ONCE
    star = bool(parser.accept("*"))
    if star and not parser.accept(","):
        return (), distinct, star
    is_row = distinct and kind == "COUNT" and not has_test
    return _distinct_rows(parser) if is_row else parser.expressions(), distinct, star


def _parametric(parser: ExpressionParser, shares: tuple[ast.Expr, ...]) -> tuple[ast.Expr, ...]:
    """Parse the arguments behind parameters: those of ``quantile(0.9)(x)`` stand behind here."""
    parser.advance()
    parser.expect("(")
    first, *others = parser.expressions()
    return (first, shares[0] if len(shares) == 1 else ast.MakeList(shares), *others)


def aggregate(
    parser: ExpressionParser, token: Token, written: str = "", *, has_test: bool = False
) -> ast.Expr:
    """Parse an aggregate or window function, the name of which has been read.

    * ``written``: Its name elsewhere.
    * ``has_test``: Whether the last argument is a condition.
    """
    parser.expect("(")
    distinct = star = False
    args: tuple[ast.Expr, ...] = ()
    if not parser.at(")"):
        args, distinct, star = _arguments(parser, token.kind, written, has_test=has_test)
    elif token.kind == "COUNT":
        star = True  # COUNT() of others
    if token.kind in _PARAMETRIC and parser.at(")") and parser.ahead() == "(":
        args = _parametric(parser, args)
    args, test = (args[:-1], args[-1]) if has_test and args else (args, None)
    star = star or (test is not None and not args)
    order = parser.sort_keys() if token.kind in _COLLECTING | _ENDS else ()
    ignores_nulls = windows.ignores_nulls(parser)
    most = parser.count() if token.kind in _COLLECTING and parser.accept("LIMIT") else None
    parser.expect(")")
    name = SAME_AGGREGATES.get(token.kind, token.kind)
    if token.kind in WITHIN:
        name, args = WITHIN[token.kind], (_within_group(parser).expr, *args)
    elif name == "MODE" and not args:
        args = (_within_group(parser).expr,)
    elif name == "STRING_AGG" and not order and _is_within(parser):
        order = (_within_group(parser, descending=True),)
    end = parser.token.stop
    where = _filter(parser)
    where = test if where is None else where
    end = end if where is None else parser.token.stop
    ignores_nulls = windows.ignores_nulls(parser) or ignores_nulls
    over = None
    if parser.accept("OVER"):
        over = windows.over(parser)
        end = parser.last.stop
    span = (token.start, parser.last.stop)
    distinct = distinct and name not in _IDEMPOTENT
    call = ast.Aggregate(
        name, args, star, distinct, where, over, order, ignores_nulls, most, span=span
    )
    if name in _PERCENTILES and len(args) == _SHARES and isinstance(args[1], ast.MakeList):
        return _several(parser, call, args[1], end)
    form_fault = windows.arguments_fault if name in windows.FUNCTIONS else _aggregate_fault
    if fault := form_fault(call):
        raise parser.fault(f"{name}: {fault}", end)
    return call


def _filter(parser: ExpressionParser) -> ast.Expr | None:
    """Parse FILTER and its condition, if it comes."""
    if not parser.accept("FILTER"):
        return None
    parser.expect("(")
    parser.accept("WHERE")  # which DuckDB lets out
    where = parser.expression()
    parser.expect(")")
    return where


def _several(
    parser: ExpressionParser, call: ast.Aggregate, shares: ast.MakeList, end: int
) -> ast.MakeList:
    """Return a list of percentiles, one for each of several shares."""
    made: list[ast.Expr] = []
    for share in shares.items:
        if fault := _percentile_fault((share,)):
            raise parser.fault(f"{call.name}: {fault}", end)
        made.append(replace(call, args=(call.args[0], share)))
    return ast.MakeList(tuple(made), span=call.span)


def _is_within(parser: ExpressionParser) -> bool:
    """Return whether WITHIN GROUP comes."""
    return parser.at_word("WITHIN") and parser.ahead() == "GROUP"


def _within_group(parser: ExpressionParser, *, descending: bool = False) -> ast.Sort:
    """Parse ``WITHIN GROUP (ORDER BY x)`` and return the key."""
    start = parser.token
    if _is_within(parser):
        parser.advance()
        parser.advance()
        parser.expect("(")
        sorts = parser.sort_keys()
        parser.expect(")")
        if len(sorts) == 1 and (descending or not sorts[0].descending):
            return sorts[0]
    hint = "it is written PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"
    raise parser.fault("WITHIN GROUP with one ascending key is needed", start, hint=hint)


def _distinct_rows(parser: ExpressionParser) -> tuple[ast.Expr, ...]:
    """Parse the values of COUNT(DISTINCT a, b): one structure of them, in rows that have all."""
    first = parser.expression()
    if not parser.at(","):
        return (first,)
    values = [first]
    while parser.accept(","):
        values.append(parser.expression())
    span = (first.span[0], parser.last.stop)
    members = [(str(number), value) for number, value in enumerate(values)]
    row = ast.MakeStruct(tuple(members), span=span)
    tests: list[ast.Expr] = [ast.Is(v, "NULL", negated=True, span=span) for v in values]
    has_all = operators.balanced("AND", tests)
    return (ast.Case(None, ((has_all, row),), None, span=span),)


def _aggregate_fault(call: ast.Aggregate) -> str | None:
    """Say what is wrong with the form of the arguments of an aggregate."""
    if call.ignores_nulls and call.name not in windows.VALUES:
        return f"does not accept IGNORE NULLS, which {', '.join(sorted(windows.VALUES))} take"
    match call.name:
        case "SNELLER_DATASHAPE":
            return None if call.star and not call.args else "accepts only *"
        case "COUNT":
            return _count_fault(call)
        case name if name in _COLLECTING:
            return _collecting_fault(call)
    if call.star or (call.distinct and call.name not in {"SUM", "AVG"}):
        return f"does not accept {'DISTINCT' if call.distinct else _STAR}"
    return _arguments_fault(call)


def _arguments_fault(call: ast.Aggregate) -> str | None:
    count = len(call.args)
    match call.name:
        case "GROUPING":
            return (
                None
                if call.over is None and call.where is None
                else "takes neither OVER nor FILTER"
            )
        case "FIRST" | "LAST":
            is_right = count == 1 and call.order
            return None if is_right else "needs one value and ORDER BY, as in FIRST(x ORDER BY at)"
        case "APPROX_COUNT_DISTINCT":
            return _precision_fault(call.args[1:])
        case name if name in _PERCENTILES:
            return _percentile_fault(call.args[1:])
        case name if name in _OF_TWO:
            return None if count == 2 else "takes two arguments"  # noqa: PLR2004
    return "does not accept arguments" if count > 1 else None


def _collecting_fault(call: ast.Aggregate) -> str | None:
    if call.star:
        return f"does not accept {_STAR}"
    if call.distinct and [sort.expr for sort in call.order] not in ([], [call.args[0]]):
        return "takes no key beside DISTINCT but the value itself"
    if call.name == "ARRAY_AGG":
        return "does not accept arguments" if len(call.args) > 1 else None
    match call.args[1:]:
        case () | (ast.Literal(value=str()),):
            return None
    return "takes a constant text to stand between two others"


def _count_fault(call: ast.Aggregate) -> str | None:
    if call.star and call.distinct:
        return "does not accept DISTINCT and '*' together"
    return "does not accept arguments" if len(call.args) + call.star > 1 else None


def _precision_fault(args: tuple[ast.Expr, ...]) -> str | None:
    match args:
        case ():
            return None
        case (ast.Literal(value=value),) if type(value) is int:
            return None if value in _PRECISION else "precision has to be in range [4, 16]"
        case (_,):
            return "precision has to be a constant integer"
    return "accepts at most one additional argument"


def _percentile_fault(args: tuple[ast.Expr, ...]) -> str | None:
    match args:
        case (ast.Literal(value=int() | float() as value),) if not isinstance(value, bool):
            if 0 <= value <= 1:
                return None
            return f"percentile p={value:g} has to be in range [0.0, 1.0]"
    return "needs a percentile, a constant number"
