"""Joins: the words in front of JOIN, and ON or USING behind the table."""

from __future__ import annotations

from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax import ast
    from sdb.query.syntax.tableparser import TableParser

_WORDS = frozenset({"FULL", "NATURAL", "SEMI", "ANTI", "ASOF"})
_LONGER = frozenset({"FULL", "NATURAL"})
_KINDS = ("JOIN", "INNER", "LEFT", "RIGHT")
OUTER = frozenset({"LEFT", "RIGHT", "FULL", "ASOF LEFT"})
"""Joins that bring rows without a partner."""
HIDDEN = frozenset({"SEMI", "ANTI"})
"""Joins that bring nothing of the table behind them."""


def coming(parser: TableParser) -> bool:
    """Return whether a join with a condition comes, and no alias."""
    word = _word(parser)
    if word not in _WORDS:
        return parser.at(*_KINDS)
    return parser.ahead() in _KINDS or (word in _LONGER and parser.ahead() == "ID")


def ends(parser: TableParser) -> bool:
    """Return whether a word is no alias, since it belongs to a join."""
    return coming(parser) or (_word(parser) == "USING" and parser.ahead() == "(")


def join(parser: TableParser) -> ast.Source:
    """Parse a join and the table behind it."""
    natural = _accept(parser, "NATURAL")
    kind = _kind(parser)
    parser.expect("JOIN")
    source = parser.source(kind)
    if natural:
        if kind.startswith("ASOF"):
            raise parser.fault("NATURAL ASOF JOIN has no order", hint="write ASOF JOIN ... ON")
        return replace(source, natural=True)
    if _word(parser) == "USING" and parser.ahead() == "(":
        parser.advance()
        parser.advance()
        names = [parser.name()]
        while parser.accept(","):
            names.append(parser.name())
        parser.expect(")", saying=(",", ")"))
        return replace(source, using=tuple(names), span=parser.since(source))
    parser.expect("ON", saying=("ON", "USING"))
    on = parser.expression()
    return replace(source, on=on, span=parser.since(source))


def _kind(parser: TableParser) -> str:
    """Parse the words in front of JOIN."""
    if _accept(parser, "ASOF"):
        if not parser.at("JOIN", "INNER", "LEFT"):
            raise parser.unexpected("JOIN", "LEFT")
        is_left = parser.at("LEFT")
        if not parser.at("JOIN"):
            parser.advance()
            _accept(parser, "OUTER")
        return "ASOF LEFT" if is_left else "ASOF"
    for word in ("SEMI", "ANTI"):
        if _accept(parser, word):
            return word
    kind = "FULL" if _accept(parser, "FULL") else "INNER"
    if kind != "FULL" and (token := parser.accept("INNER", "LEFT", "RIGHT")):
        kind = token.kind
    if kind == "LEFT" and _word(parser) in HIDDEN:
        return str(parser.advance().value).upper()
    if kind != "INNER":
        _accept(parser, "OUTER")
    return kind


def _word(parser: TableParser) -> str:
    """Return the word that comes if it may be a name, in upper case."""
    token = parser.token
    return str(token.value).upper() if parser.at("ID") and not token.quoted else ""


def _accept(parser: TableParser, word: str) -> bool:
    if _word(parser) != word:
        return False
    parser.advance()
    return True
