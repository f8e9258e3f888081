"""Tables of a query that are opened together, so that they are of one moment."""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import QueryError, SdbError
from sdb.query.catalog.tables import table_name
from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.query.catalog.dataset import TableName
    from sdb.table.catalog.handle import TableHandle


def read_tables(statement: ast.Statement) -> list[TableName]:
    """Return the tables that a statement names in FROM, each as often as it does."""
    nodes = list(visitor.nodes(statement))
    aliases = {node.alias for node in nodes if isinstance(node, ast.Source)}
    aliases |= {name for name, _ in statement.with_}
    return [name for name in _names(nodes) if name.parts[0] not in aliases]


def named_tables(statement: ast.Statement) -> Iterator[TableName]:
    """Iterate over all names in FROM of a statement, also those of lists and queries of WITH."""
    return _names(list(visitor.nodes(statement)))


def _names(nodes: list[ast.Node]) -> Iterator[TableName]:
    for node in nodes:
        if isinstance(node, ast.PathTable | ast.CallTable):
            with suppress(QueryError):  # told when it is planned
                name = table_name(node)
                if name is not None:
                    yield name


def settle(
    opened: Callable[[], list[TableHandle | None]], forget: Callable[[TableHandle], None]
) -> None:
    """Read tables again as long as a transaction is in one of them and not in another.

    * ``opened``: Gives the tables, which are opened then if they are not yet.
    """
    from sdb.table.catalog.snapshot import head_key, read_together

    def by_key() -> dict[str, TableHandle | None]:
        return {
            key: handle for handle in opened() if handle is not None and (key := head_key(handle))
        }

    with suppress(SdbError):  # told when it is planned
        handles = by_key()

        def reopen(key: str) -> TableHandle | None:
            handle = handles.get(key)
            if handle is not None:
                forget(handle)
            handles.update(by_key())
            return handles.get(key)

        if len(handles) > 1:
            read_together(dict(handles), reopen)
