"""The actions of ``ALTER TABLE``: columns that are added, dropped, renamed, widened, moved."""

from __future__ import annotations

from sdb.errors import InputError
from sdb.query.syntax import ast, operators, writes
from sdb.table.schema.types import type_before

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.writeparser import WriteParser
    from sdb.table.schema.types import ColumnType


def column_action(parser: WriteParser) -> writes.ColumnAction:
    """Parse one action, up to a comma or the end.

    Raises `QueryError` if it is no action, or its type no type.
    """
    start = parser.token.start
    word = parser.expect_word("ADD", "DROP", "RENAME", "ALTER")
    parser.skip_word("COLUMN")
    actions = {"ADD": _added, "DROP": _dropped, "RENAME": _renamed, "ALTER": _altered}
    return actions[word](parser, start)


def defined_column(parser: WriteParser) -> writes.AddedColumn:
    """Parse a column of a table that is made: its name, type and what else there is of it."""
    if parser.at_word("PRIMARY", "FOREIGN", "UNIQUE", "CONSTRAINT", "CHECK"):
        hint = "columns have types, NOT NULL and DEFAULT"
        raise parser.fault("tables have no keys and constraints", parser.token, hint=hint)
    return _column(parser, parser.token.start, is_lenient=False)


def _added(parser: WriteParser, start: int) -> writes.ColumnAction:
    is_lenient = parser.skip_word("IF")
    if is_lenient:
        parser.expect("NOT")
        parser.expect("EXISTS")
    return _column(parser, start, is_lenient=is_lenient)


def _column(parser: WriteParser, start: int, *, is_lenient: bool) -> writes.AddedColumn:
    path = parser.written_field()
    kind = _type(parser)
    default: ast.Expr | None = None
    required = False
    position: tuple[str | None] | None = None
    while True:
        if parser.skip_word("DEFAULT"):
            default = parser.expression(operators.BIT_OR)
        elif parser.accept("NOT"):
            parser.expect("NULL")
            required = True
        elif parser.accept("FIRST"):
            position = (None,)
        elif parser.skip_word("AFTER"):
            position = (parser.name(),)
        elif not parser.accept("NULL"):
            break
    span = (start, parser.last.stop)
    return writes.AddedColumn(path, kind, default, required, position, is_lenient, span=span)


def _dropped(parser: WriteParser, start: int) -> writes.ColumnAction:
    is_lenient = _if_exists(parser)
    path = parser.written_field()
    return writes.DroppedColumn(path, is_lenient, span=(start, parser.last.stop))


def _renamed(parser: WriteParser, start: int) -> writes.ColumnAction:
    is_lenient = _if_exists(parser)
    path = parser.written_field()
    parser.expect("TO")
    name = parser.name()
    return writes.RenamedColumn(path, name, is_lenient, span=(start, parser.last.stop))


def _altered(parser: WriteParser, start: int) -> writes.ColumnAction:
    path = parser.written_field()
    if parser.accept("FIRST"):
        return writes.MovedColumn(path, None, span=(start, parser.last.stop))
    word = parser.expect_word("TYPE", "SET", "DROP", "AFTER", "COMMENT")
    if word == "AFTER":
        return writes.MovedColumn(path, parser.name(), span=(start, parser.last.stop))
    if word == "COMMENT":
        text = str(parser.expect("STRING").value)
        return writes.DescribedColumn(path, text, span=(start, parser.last.stop))
    if word == "TYPE" or (word == "SET" and parser.skip_word("DATA")):
        if word == "SET":
            parser.expect_word("TYPE")
        return writes.WidenedColumn(path, _type(parser), span=(start, parser.last.stop))
    if parser.at_word("DEFAULT"):
        hint = "rows without the field show the default: drop the column, and add another one"
        raise parser.fault("the default of a column does not change", parser.token, hint=hint)
    parser.expect("NOT")
    parser.expect("NULL")
    return writes.RequiredColumn(path, word == "SET", span=(start, parser.last.stop))


def _if_exists(parser: WriteParser) -> bool:
    is_lenient = parser.skip_word("IF")
    if is_lenient:
        parser.expect("EXISTS")
    return is_lenient


def _type(parser: WriteParser) -> ColumnType:
    """Parse a type, whose text has brackets that are none of the language elsewhere."""
    token = parser.token
    if token.kind == "$end":
        raise parser.unexpected("a type")
    rest = parser.lexer.text.encode()[token.start :]
    try:
        kind, letters = type_before(rest.decode())
    except InputError as error:
        raise parser.fault(error.message, token, hint=error.hint) from None
    end = token.start + len(rest.decode()[:letters].encode())
    while parser.token.kind != "$end" and parser.token.start < end:
        parser.advance()
    return kind
