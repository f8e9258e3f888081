"""Arguments of a function of the dialect."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.query.duckdb_sql.functions.growth import Growth
    from sdb.query.duckdb_sql.values.lanes import Value
    from sdb.query.syntax import ast

    Function: TypeAlias = Callable[["Arguments"], Value]


@record
class Arguments:
    """A call."""

    node: ast.Call  # as it stands in the query
    values: list[Value]  # the arguments
    growth: Growth  # what texts of the statement may grow to
