"""Arguments of a function of the dialect."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.query.duckdb_sql.lanes import Value
    from sdb.query.syntax import ast

    Function: TypeAlias = Callable[["Arguments"], Value]


@record
class Arguments:
    """A call.

    Attributes
    ----------
    node : Call
        As it stands in the query.
    values : list of Value
        The arguments.
    """

    node: ast.Call
    values: list[Value]
