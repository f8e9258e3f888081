"""The dialect of a statement: `standard`, or the original's meaning, `sneller`.

The nearest to the statement counts: its own SET, then the option of the call or command, then
the variable of the environment, which settings of files become.
"""

from __future__ import annotations

import os

from sdb.errors import UsageError
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.parser import DIALECTS
from sdb.records import replace

VARIABLE = "SDB_DIALECT"
STANDARD, SNELLER = DIALECTS


def settled(statement: ast.Statement, option: str | None = None) -> ast.Statement:
    """Return a statement that says its dialect.

    Raises `UsageError` if the option or the variable is neither ``standard`` nor ``sneller``.
    """
    check(option)
    return replace(statement, dialect=nearest(statement.dialect, option))


def nearest(said: str, option: str | None = None) -> str:
    """Return the dialect of a statement.

    * ``said``: What SET says; empty without one.
    """
    return said or option or _of_environment() or STANDARD


def is_standard(select: ast.Select, around: str) -> bool:
    """Return whether a select is in `standard`.

    * ``around``: The dialect of what it is part of.
    """
    return (select.dialect or around) != SNELLER


def marked(statement: ast.Statement, dialect: str) -> ast.Statement:
    """Return the query of a view, which keeps its dialect wherever it stands."""

    def mark(node: ast.Node) -> ast.Node:
        return replace(node, dialect=dialect) if isinstance(node, ast.Select) else node

    return visitor.rewrite(statement, mark)


def check(option: str | None) -> None:
    """Require that an option is one of the dialects, or none.

    Raises `UsageError` if it is something else.
    """
    if option is not None and option not in DIALECTS:
        raise UsageError(f"dialect is {option[:40]!r}", expected="standard or sneller")


def is_by_setting(statement: ast.Statement, option: str | None) -> bool:
    """Return whether nothing but the environment says that the dialect is the original's."""
    return not (statement.dialect or option) and _of_environment() == SNELLER


def note() -> str:
    """Say which dialect it is although the query does not tell."""
    return f"note: the dialect is {SNELLER}: {VARIABLE} says so (see sdb config)"


def _of_environment() -> str:
    mode = os.environ.get(VARIABLE, "")
    if mode and mode not in DIALECTS:
        raise UsageError(f"{VARIABLE}={mode[:40]}", expected="standard or sneller")
    return mode
