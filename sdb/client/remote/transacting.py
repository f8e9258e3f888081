"""Transactions on the tables of a server: statements that are sent together."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.query.syntax import writes
from sdb.statements.execute import bound_statements
from sdb.statements.transacting import TransactionContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from sdb.client.remote.connection import RemoteConnection


class RemoteTransaction(TransactionContext):
    """A transaction in the making, see :meth:`RemoteConnection.transaction`."""

    def __init__(self, connection: RemoteConnection, options: Mapping[str, Any]) -> None:
        self._connection = connection
        self._options = dict(options)
        self._texts: list[str] = []
        self._params: dict[str, object] = {}
        self.result = None

    def execute(self, text: str, params: Mapping[str, object] | None = None) -> None:
        """Add statements, with semicolons between them; they are parsed now.

        Raises `UsageError` for BEGIN or COMMIT, or a parameter that has had another value in this
        transaction.
        """
        statements = bound_statements(text, params or {})
        if any(isinstance(statement.write, writes.Control) for statement in statements):
            raise UsageError("BEGIN and COMMIT inside a transaction")
        for name, value in (params or {}).items():
            if name in self._params and self._params[name] != value:
                raise UsageError(
                    f"${name} has two values in one transaction",
                    hint="use different names for the parameters",
                )
            self._params[name] = value
        self._texts += [statement.text.strip().rstrip(";") for statement in statements]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Send the statements, unless there was an exception."""
        if kind is None and self._texts:
            text = f"BEGIN; {'; '.join(self._texts)}; COMMIT;"
            (self.result,) = self._connection.execute(
                text, **{**self._options, "params": self._params}
            )
