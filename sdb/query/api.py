"""`sdb.sql`: queries on packfiles."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sdb import instants
from sdb.errors import UsageError
from sdb.query import ast
from sdb.query.dataset import Catalog
from sdb.query.parser import parse
from sdb.query.results import Result
from sdb.query.translate.rewrite import replaced

if TYPE_CHECKING:
    from collections.abc import Mapping


def sql(
    text: str,
    *,
    params: Mapping[str, object] | None = None,
    root: str = "",
    threads: int | None = None,
    memory_bytes: int | None = None,
    prune: bool = True,
    typed: bool = True,
) -> Result:
    """Run a query on packfiles.

    Parameters
    ----------
    text : str
        The query, see docs/sql.md.
    params : mapping, optional
        Values of the parameters ``$name`` in the query: text, numbers, booleans, ``None`` and
        aware datetimes.
    root : str, optional
        Folder or URL where relative paths start; the current folder if not given.
    threads : int, optional
        How many threads decode and compute; without it one for each processor.
    memory_bytes : int, optional
        How much memory groups, joins and sorts may take; without it four fifths of what there is.
    prune : bool
        Whether to leave out blocks that cannot hold a row for which WHERE is TRUE. Time indexes of
        the original tool may claim too much; without pruning they are not used.
    typed : bool
        Whether fields of unknown type are wanted as typed values. Without it they come as JSON
        text, which is faster when lines of JSON are all that is wanted.

    Returns
    -------
    Result
        The rows, which are computed when they are asked for.

    Raises
    ------
    QueryError
        The query is not in the language, or makes no sense.
    NotFoundError, AccessError, CorruptError
        A packfile cannot be opened.

    Examples
    --------
    >>> for row in sdb.sql("SELECT type FROM 'gha.zion' WHERE id = $id", params={"id": 5}):
    ...     print(row)                                  # doctest: +SKIP
    """
    from sdb.query import engine

    statement = _bound(parse(text), dict(params or {}))
    catalog = Catalog(root, prune=prune)
    try:
        result = engine.run(
            statement,
            datasets=catalog,
            threads=threads or 0,
            memory_bytes=memory_bytes,
            typed=typed,
        )
    except BaseException:
        catalog.close()
        raise
    result.on_close(catalog.close)
    return Result(text, result, catalog.tables)


def _bound(statement: ast.Statement, params: dict[str, object]) -> ast.Statement:
    """Put values in the place of parameters."""
    used = set()

    def change(node: ast.Node) -> ast.Node | None:
        if not isinstance(node, ast.Param):
            return None
        if node.name not in params:
            raise UsageError(
                f"the query has a parameter ${node.name} without a value",
                hint=f"--param {node.name}=VALUE",
            )
        used.add(node.name)
        return ast.Literal(_constant(node.name, params[node.name]), span=node.span)

    bound: ast.Statement = replaced(statement, change)
    if unused := sorted(params.keys() - used):
        raise UsageError(f"the query has no parameter ${unused[0]}")
    return bound


def _constant(name: str, value: object) -> Any:  # noqa: ANN401 - a constant
    if isinstance(value, datetime):
        return ast.Instant(instants.to_us(value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UsageError(f"the parameter ${name} is a {type(value).__name__}: not a value of a query")
