"""Spellings of other dialects, where there is no doubt what they mean here."""

from __future__ import annotations

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.query.syntax.ast import Expr, Span

    Rewrite: TypeAlias = Callable[[tuple[Expr, ...], Span], Expr | None]

_NAMES = {
    "ARRAY_LENGTH": "ARRAY_SIZE",
    "ENDSWITH": "ENDS_WITH",
    "IFNULL": "COALESCE",
    "LEN": "CHAR_LENGTH",
    "LENGTH": "CHAR_LENGTH",
    "LIST_CONTAINS": "ARRAY_CONTAINS",
    "LIST_POSITION": "ARRAY_POSITION",
    "NOW": "UTCNOW",
    "NVL": "COALESCE",
    "REGEXP_CONTAINS": "REGEXP_LIKE",
    "STARTSWITH": "STARTS_WITH",
}
_TYPES = {
    "BIGINT": "INTEGER",
    "BOOL": "BOOLEAN",
    "DOUBLE": "FLOAT",
    "FLOAT64": "FLOAT",
    "FLOAT8": "FLOAT",
    "INT": "INTEGER",
    "INT64": "INTEGER",
    "INT8": "INTEGER",
    "TEXT": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
    "VARCHAR": "STRING",
}


def type_name(name: str) -> str:
    """Give the type of CAST that a word means; the word itself when it is of no other dialect.

    Examples
    --------
    >>> type_name("varchar"), type_name("integer"), type_name("blob")
    ('STRING', 'INTEGER', 'BLOB')
    """
    return _TYPES.get(name.upper(), name.upper())


def call(name: str, args: tuple[Expr, ...], span: Span) -> Expr:
    """Give what a call means.

    Parameters
    ----------
    name : str
        The function, in upper case.
    args : tuple of Expr
        Its arguments.
    span : (int, int)
        Where it stands.

    Returns
    -------
    Expr
        A call of a function of this dialect, or an expression that gives the same; the call as it
        is when nothing is known of such a function.

    Examples
    --------
    >>> call("LEN", (ast.Name("a"),), (0, 6)).name
    'CHAR_LENGTH'
    """
    name = _NAMES.get(name, name)
    rewrite = _REWRITES.get(name)
    found = None if rewrite is None else rewrite(args, span)
    return ast.Call(name, args, span=span) if found is None else found


def _if(args: tuple[Expr, ...], span: Span) -> Expr | None:
    if len(args) != 3:  # noqa: PLR2004 - a condition and two values
        return None
    return ast.Case(None, ((args[0], args[1]),), args[2], span=span)


def _remainder(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return ast.Binary("%", *args, span=span) if len(args) == 2 else None  # noqa: PLR2004


_REWRITES: Mapping[str, Rewrite] = {"IF": _if, "IIF": _if, "MOD": _remainder}
