"""The parser of windows: OVER, frames, named windows, QUALIFY, and calls of window functions.

A name of a window is replaced by what it stands for when the SELECT has been read, so that trees
have no names of windows.
"""

from __future__ import annotations

from sdb.query.syntax import ast, hints, operators, visitor
from sdb.query.syntax.literals import words
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.errors import QueryError
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

    Named = tuple[tuple[str, ast.Over], ...]

VALUES = words("FIRST_VALUE LAG LAST_VALUE LEAD NTH_VALUE")
"""Window functions that give the value of another row."""

RANKS = words("CUME_DIST DENSE_RANK NTILE PERCENT_RANK RANK ROW_NUMBER")
FUNCTIONS = VALUES | RANKS
"""Functions that need a window."""

_UNITS = words("GROUPS RANGE ROWS")
_ARGUMENTS = {
    "CUME_DIST": (0, 0, "no argument"),
    "FIRST_VALUE": (1, 1, "one value"),
    "LAG": (1, 3, "a value, a number of rows and a default, as in LAG(x, 1, 0)"),
    "LAST_VALUE": (1, 1, "one value"),
    "LEAD": (1, 3, "a value, a number of rows and a default, as in LEAD(x, 1, 0)"),
    "NTH_VALUE": (2, 2, "a value and a number, as in NTH_VALUE(x, 2)"),
    "NTILE": (1, 1, "a number of parts, as in NTILE(4)"),
    "PERCENT_RANK": (0, 0, "no argument"),
}
# What comes behind an alias: before it the words QUALIFY and WINDOW are names.
_BEHIND_ALIAS = words(
    ", ) ] $end . AS CROSS FROM GROUP HAVING INNER INTO JOIN LEFT LIMIT OFFSET ON ORDER RIGHT"
    " UNION WHERE ++ @"
)


def _at_word(parser: ExpressionParser, *wanted: str) -> bool:
    """Return whether a word comes that is a keyword only here."""
    token = parser.token
    return parser.at("ID") and not token.quoted and str(token.value).upper() in wanted


def _expect_word(parser: ExpressionParser, *wanted: str) -> str:
    """Step over one of some words, or refuse the query."""
    if not _at_word(parser, *wanted) and parser.token.kind not in wanted:
        raise parser.unexpected(*wanted)
    token = parser.advance()
    return str(token.value).upper() if token.kind == "ID" else token.kind


def begins_clause(parser: ExpressionParser) -> bool:
    """Return whether a word that could be an alias begins QUALIFY or WINDOW."""
    if _at_word(parser, "WINDOW"):
        return parser.ahead() == "ID"
    return _at_word(parser, "QUALIFY") and parser.ahead() not in _BEHIND_ALIAS


def qualify(parser: ExpressionParser) -> ast.Expr | None:
    """Parse QUALIFY, if it comes."""
    if not _at_word(parser, "QUALIFY"):
        return None
    parser.advance()
    return parser.expression()


def named(parser: ExpressionParser) -> Named:
    """Parse ``WINDOW w AS (...), ...``, if it comes."""
    if not _at_word(parser, "WINDOW"):
        return ()
    parser.advance()
    windows: list[tuple[str, ast.Over]] = []
    while not windows or parser.accept(","):
        token = parser.expect("ID")
        if any(name == token.value for name, _ in windows):
            raise parser.fault(f"the window {token.value} is named twice", token)
        parser.expect("AS")
        window = _specification(parser)
        windows.append((str(token.value), _whole(parser, window, tuple(windows))))
    return tuple(windows)


def put_in(parser: ExpressionParser, select: ast.Select, windows: Named) -> ast.Select:
    """Return a SELECT in which windows stand for their names.

    Raises `QueryError` if there is no window of a name, or it may not be changed so.
    """
    if not parser.has_named_windows:
        return select

    def change(node: ast.Node) -> ast.Node:
        return _whole(parser, node, windows) if isinstance(node, ast.Over) else node

    def stop(node: ast.Node) -> ast.Node | None:
        return node if isinstance(node, ast.Select) and node is not select else None

    return visitor.rewrite(select, change, stop=stop)


def _whole(parser: ExpressionParser, over: ast.Over, windows: Named) -> ast.Over:
    """Return a window with what its name stands for."""
    if not over.name:
        return over
    known = dict(windows)
    base = known.get(over.name)
    is_alone = not (over.partition or over.order or over.frame)
    if base is None:
        near = hints.near(over.name, known)
        hint = f"did you mean {near}?" if near else f"as in WINDOW {over.name} AS (ORDER BY x)"
        raise _fault(parser, f"there is no window {over.name} in this SELECT", over, hint)
    if over.partition:
        raise _fault(parser, f"PARTITION BY cannot be added to the window {over.name}", over)
    if over.order and base.order:
        raise _fault(parser, f"the window {over.name} has an ORDER BY already", over)
    if base.frame is not None and not is_alone:
        raise _fault(parser, f"the window {over.name} has a frame: nothing can be added", over)
    return replace(base, order=over.order or base.order, frame=over.frame or base.frame)


def _fault(
    parser: ExpressionParser, message: str, node: ast.Node, hint: str | None = None
) -> QueryError:
    start, stop = node.span
    return parser.lexer.fault(message, start, stop - start, hint=hint, said=stop)


def over(parser: ExpressionParser) -> ast.Over:
    """Parse what follows OVER: the name of a window, or a window in parentheses."""
    if parser.at("ID"):
        token = parser.advance()
        parser.has_named_windows = True
        return ast.Over((), (), name=str(token.value), span=(token.start, token.stop))
    return _specification(parser)


def _specification(parser: ExpressionParser) -> ast.Over:
    """Parse a window in parentheses."""
    start = parser.expect("(").start
    name = ""
    if parser.at("ID") and not _at_word(parser, *_UNITS):
        name = parser.name()
        parser.has_named_windows = True
    partition: tuple[ast.Expr, ...] = ()
    if parser.accept("PARTITION"):
        parser.expect("BY")
        partition = parser.expressions()
    order = parser.sort_keys()
    frame = _frame(parser) if _at_word(parser, *_UNITS) else None
    if not parser.at(")"):
        raise parser.unexpected(*_continuations(partition, order, frame))
    parser.advance()
    return ast.Over(partition, order, frame, name, span=(start, parser.last.stop))


def _continuations(
    partition: tuple[ast.Expr, ...], order: tuple[ast.Sort, ...], frame: ast.WindowFrame | None
) -> tuple[str, ...]:
    """Return what could follow in a window."""
    if frame is not None:
        return (")",) if frame.excluded else ("EXCLUDE", ")")
    if order:
        return (",", "ROWS", "RANGE", "GROUPS", ")")
    return (",", "ORDER", ")") if partition else ("PARTITION", "ORDER", "ROWS", ")")


def _frame(parser: ExpressionParser) -> ast.WindowFrame:
    """Parse a frame: with BETWEEN, or the short form that ends with the present row."""
    start = parser.token.start
    unit = _expect_word(parser, *_UNITS)
    if parser.accept("BETWEEN"):
        first = _frame_end(parser)
        parser.expect("AND")
        last = _frame_end(parser)
    else:
        first = _frame_end(parser)
        last = ast.FrameEnd("CURRENT ROW", span=first.span)
    excluded = _excluded(parser)
    frame = ast.WindowFrame(unit, first, last, excluded, span=(start, parser.last.stop))
    if fault := _order_fault(first, last):
        raise _fault(parser, fault, frame)
    return frame


def _frame_end(parser: ExpressionParser) -> ast.FrameEnd:
    start = parser.token.start
    if _at_word(parser, "CURRENT") and parser.ahead() == "ID":
        parser.advance()
        _expect_word(parser, "ROW")
        return ast.FrameEnd("CURRENT ROW", span=(start, parser.last.stop))
    distance = None
    if _at_word(parser, "UNBOUNDED") and parser.ahead() == "ID":
        parser.advance()
    else:
        distance = parser.expression(operators.BIT_OR)
    side = _expect_word(parser, "PRECEDING", "FOLLOWING")
    return ast.FrameEnd(side, distance, span=(start, parser.last.stop))


def _excluded(parser: ExpressionParser) -> str:
    """Parse EXCLUDE, if it comes."""
    if not _at_word(parser, "EXCLUDE"):
        return ""
    parser.advance()
    match _expect_word(parser, "CURRENT", "GROUP", "TIES", "NO"):
        case "CURRENT":
            _expect_word(parser, "ROW")
            return "CURRENT ROW"
        case "NO":
            _expect_word(parser, "OTHERS")
            return ""
        case word:
            return word


def _order_fault(first: ast.FrameEnd, last: ast.FrameEnd) -> str | None:
    """Say what is wrong when a frame begins behind its end."""
    if first.side == "FOLLOWING" and first.distance is None:
        return "a frame cannot begin with UNBOUNDED FOLLOWING"
    if last.side == "PRECEDING" and last.distance is None:
        return "a frame cannot end with UNBOUNDED PRECEDING"
    sides = ["PRECEDING", "CURRENT ROW", "FOLLOWING"]
    if sides.index(first.side) > sides.index(last.side):
        return f"a frame that begins with {first.side} cannot end with {last.side}"
    return None


def ignores_nulls(parser: ExpressionParser) -> bool:
    """Parse ``IGNORE NULLS`` or ``RESPECT NULLS``, if it comes."""
    if not _at_word(parser, "IGNORE", "RESPECT") or parser.ahead() != "NULLS":
        return False
    word: Token = parser.advance()
    parser.expect("NULLS")
    return str(word.value).upper() == "IGNORE"


def arguments_fault(call: ast.Aggregate) -> str | None:
    """Say what is wrong with the form of the arguments of a window function."""
    if call.star or call.distinct:
        return f"does not accept {'DISTINCT' if call.distinct else repr('*')}"
    if call.name not in _ARGUMENTS:  # the checker has words for these
        return "does not accept arguments" if len(call.args) > 1 else None
    least, most, takes = _ARGUMENTS[call.name]
    return None if least <= len(call.args) <= most else f"takes {takes}"
