"""Transactions in Python: statements that are collected in a ``with`` block."""

from __future__ import annotations

from sdb.statements.execute import bound_statements, execute_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any, Self

    from sdb.query.syntax.writes import WriteStatement
    from sdb.statements.effects import Executed
    from sdb.table.catalog.root import TableRoot


class TransactionContext:
    """A transaction in the making. Use :meth:`sdb.client.connection.Connection.transaction`.

    Nothing is done before the end of the block; after an exception in it nothing is.

    Parameters
    ----------
    root : TableRoot
        The root that the tables are below.
    options : dict
        Those of :func:`sdb.execute`.

    Attributes
    ----------
    result : Executed or None
        What was done, after the block; None: no statement was given.
    """

    def __init__(self, root: TableRoot, options: dict[str, Any]) -> None:
        self._root = root
        self._options = options
        self._statements: list[WriteStatement] = []
        self.result: Executed | None = None

    def execute(self, text: str, params: Mapping[str, object] | None = None) -> None:
        """Add statements, with semicolons between them; they are parsed now.

        Raises
        ------
        QueryError
            A statement is not in the language.
        """
        self._statements += bound_statements(text, params or {})

    def __enter__(self) -> Self:
        """Return the transaction itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Carry the statements out, unless there was an exception."""
        if kind is None and self._statements:
            self.result = execute_together(self._statements, self._root, **self._options)
