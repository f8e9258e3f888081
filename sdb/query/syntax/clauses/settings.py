"""``SET dialect = sneller;`` in front of a query, or as a statement of its own."""

from __future__ import annotations

from sdb.query.syntax.cursor import Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.lexer import Token

DIALECTS = ("standard", "sneller")
"""What SQL may mean."""

_HOW = "SET dialect = standard; or SET dialect = sneller;"


def leading(cursor: Cursor) -> str:
    """Parse the settings in front of a query.

    Returns: The dialect; empty without a SET.
    """
    mode = ""
    while _is_setting(cursor.token):
        mode = _setting(cursor)
        if cursor.at("$end"):
            hint = "a SET in front of a query is for that query; in sdb shell and sdb exec it stays"
            raise cursor.fault("SET needs a query behind it", cursor.last, hint=hint)
    return mode


def alone(text: str) -> str | None:
    """Return what a statement that is nothing but a SET says; None: it is something else.

    Raises
    ------
    QueryError
        It begins like a SET statement, and is malformed.

    Examples
    --------
    >>> alone("SET dialect = sneller"), alone("SELECT 1")
    ('sneller', None)
    """
    cursor = Cursor(text)
    if not _is_setting(cursor.token):
        return None
    mode = _setting(cursor)
    return mode if cursor.at("$end") else None


def _is_setting(token: Token) -> bool:
    return token.kind == "ID" and not token.quoted and str(token.value).upper() == "SET"


def _setting(cursor: Cursor) -> str:
    """Parse one SET, and the semicolon behind it."""
    cursor.lexer.at_setting = True
    cursor.advance()
    name = cursor.token
    if name.kind != "ID":
        raise cursor.unexpected("ID")
    cursor.advance()
    if str(name.value).lower() != "dialect":
        raise cursor.fault(f"there is no setting {name.value}", name, hint=_HOW)
    if not cursor.accept("EQ", "TO"):
        raise cursor.unexpected("EQ")
    value = cursor.token
    mode = str(value.value).lower() if value.kind in {"ID", "STRING"} else ""
    if mode not in DIALECTS:
        raise cursor.fault("dialect is standard or sneller", value, hint=_HOW)
    cursor.advance()
    if not cursor.at("$end"):
        cursor.expect(";")
    cursor.lexer.at_setting = False
    return mode
