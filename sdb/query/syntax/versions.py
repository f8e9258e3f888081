"""Versions of tables, as queries name them, and the tables that tell of tables.

``db.t@12``, ``db.t AT (VERSION => 12)``, ``db.t FOR TIMESTAMP AS OF '2026-11-01'``,
``db.t('2026-11-01 10:00:00')``; ``sdb.versions('db.t')``.
"""

from __future__ import annotations

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.tableparser import TableParser

SYSTEM = "sdb"
SYSTEM_TABLES = (
    *("versions", "packfiles", "blocks", "inputs", "refs", "garbage", "tables"),
    *("columns", "table_versions", "table_packfiles"),
)
AT = "TABLE_AT"
OF = "TABLE_OF"
THROUGH = "TABLE_THROUGH"
"""A table that a view names: its path, the view, and word and value of `AT` if it has a version."""
_AT_WORDS = ("VERSION", "TIMESTAMP", "TAG", "BRANCH")
_FOR_WORDS = {
    "VERSION": "VERSION",
    "TIMESTAMP": "TIMESTAMP",
    "SYSTEM_VERSION": "VERSION",
    "SYSTEM_TIME": "TIMESTAMP",
}


def behind(parser: TableParser, table: ast.PathTable | ast.CallTable) -> ast.Table:
    """Parse what stands behind the name of a table, and says which version is meant.

    * ``table``: The table, of `READ_FILE` when its name is in quotes.

    Returns: The version: a call of `TABLE_AT` with the name, a word (``ANY``, ``VERSION``,
    ``TIMESTAMP``, ``TAG``, ``BRANCH``) and a value; of a system table, one of `TABLE_OF`; the table
    itself where no version is named.
    """
    name = table.expr if isinstance(table, ast.PathTable) else table.args[0]
    last, token = parser.last, parser.token
    if isinstance(name, ast.Dot) and last.kind == "ID" and not last.quoted and "@" in name.name:
        word, _, text = name.name.partition("@")
        if word:
            plain = ast.Dot(name.base, word, span=name.span)
            return _version(parser, plain, "ANY", _literal(text, name))
    is_next = token.kind == "ID" and not token.quoted and token.start == last.stop
    if is_next and str(token.value).startswith("@"):
        parser.advance()
        return _version(parser, name, "ANY", _literal(str(token.value)[1:], name))
    if isinstance(name, ast.Dot) and parser.at("("):
        return _called(parser, name)
    if parser.at("AT") and parser.ahead() == "(":
        parser.advance()
        parser.advance()
        word = _word(parser, _AT_WORDS)
        parser.expect("EQ", saying=("=>",))
        parser.expect("GT", saying=("=>",))
        version = _version(parser, name, word, _value(parser))
        parser.expect(")")
        return version
    if _is_for(parser):
        parser.advance()
        word = _FOR_WORDS[_word(parser, tuple(_FOR_WORDS))]
        parser.expect("AS")
        _word(parser, ("OF",))
        return _version(parser, name, word, _value(parser))
    return table


def _is_for(parser: TableParser) -> bool:
    token = parser.token
    is_word = token.kind == "ID" and not token.quoted and str(token.value).upper() == "FOR"
    return is_word and parser.ahead() == "ID"


def _word(parser: TableParser, words: tuple[str, ...]) -> str:
    word = str(parser.token.value).upper()
    if not parser.at("ID") or word not in words:
        raise parser.unexpected(*words)
    parser.advance()
    return word


def _value(parser: TableParser) -> ast.Expr:
    """Parse the value of a version; a bare name is its text."""
    value = parser.expression()
    return ast.Literal(value.name, span=value.span) if isinstance(value, ast.Name) else value


def _literal(text: str, name: ast.Expr) -> ast.Literal:
    return ast.Literal(unquoted(text), span=name.span)


def unquoted(text: str) -> str:
    """Return what stands behind the @ of a table, without quotes around it."""
    is_quoted = len(text) > 1 and text[0] in "'\"" and text[0] == text[-1]
    return text[1:-1] if is_quoted else text


def _version(parser: TableParser, name: ast.Expr, word: str, value: ast.Expr) -> ast.CallTable:
    span = (name.span[0], parser.last.stop)
    if isinstance(name, ast.Name):
        parser.refuse_version(name)
    return ast.CallTable(AT, (name, ast.Literal(word, span=span), value), span=span)


def _called(parser: TableParser, name: ast.Dot) -> ast.CallTable:
    """Parse what stands in parentheses behind a name: a time, or a table."""
    is_system = name.base == ast.Name(SYSTEM) and name.name in SYSTEM_TABLES
    if name.base == ast.Name(SYSTEM) and not is_system:
        known = ", ".join(SYSTEM_TABLES)
        raise parser.fault(
            f"there is no sdb.{name.name}()", name.span[0], hint=f"there are {known}"
        )
    parser.advance()
    if is_system:
        args = [ast.Literal(name.name, span=name.span)]
        if parser.at("STRING"):
            token = parser.advance()
            args.append(ast.Literal(token.value, span=(token.start, token.stop)))
        parser.expect(")")
        return ast.CallTable(OF, tuple(args), span=(name.span[0], parser.last.stop))
    token = parser.expect("STRING")
    value = ast.Literal(token.value, span=(token.start, token.stop))
    parser.expect(")")
    return _version(parser, name, "TIMESTAMP", value)
