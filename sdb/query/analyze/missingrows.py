"""Rows without a key: left out, or kept as in standard SQL.

The nearest to the statement counts: its own SET, then the option of the call or command, then
the variable of the environment, which settings of files become.
"""

from __future__ import annotations

import os

from sdb.errors import UsageError
from sdb.query.syntax.clauses.settings import MODES
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax import ast

VARIABLE = "SDB_MISSING"
DROP, KEEP = MODES


def settled(statement: ast.Statement, option: str | None = None) -> ast.Statement:
    """Return a statement that says what becomes of rows without a key.

    Raises
    ------
    UsageError
        The option or the variable is neither ``drop`` nor ``keep``.
    """
    check(option)
    return replace(statement, missing=statement.missing or option or _of_environment() or DROP)


def check(option: str | None) -> None:
    """Require that an option is one of the modes, or none.

    Raises
    ------
    UsageError
        It is something else.
    """
    if option is not None and option not in MODES:
        raise UsageError(f"missing is {option[:40]!r}", expected="drop or keep")


def is_by_setting(statement: ast.Statement, option: str | None) -> bool:
    """Return whether nothing but the environment says that rows are kept."""
    return not (statement.missing or option) and _of_environment() == KEEP


def note() -> str:
    """Say that rows are kept although the query does not tell."""
    return f"note: rows without a key are kept: {VARIABLE} is {KEEP} (see sdb config)"


def _of_environment() -> str:
    mode = os.environ.get(VARIABLE, "")
    if mode and mode not in MODES:
        raise UsageError(f"{VARIABLE}={mode[:40]}", expected="drop or keep")
    return mode
