"""Calls of connections and tables, alike for roots and servers: in threads, and by statements."""

from __future__ import annotations

from functools import partial

from sdb.query.rows.tablerows import TableRows, quoted_table
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from sdb.client.options import (
        AppendOptions,
        BranchAppendOptions,
        ExecuteOptions,
        Params,
        SqlOptions,
        WriteOptions,
    )
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.query.result.result import Result
    from sdb.statements.effects import Executed
    from sdb.table.insert.insert import Inserted


class ConnectionCalls(Protocol):
    """Calls of a connection in threads."""

    def sql(self, text: str, params: Params = None, **options: Unpack[SqlOptions]) -> Result:
        """Run a query."""

    def append(self, name: str, inputs: Inputs, **options: Unpack[AppendOptions]) -> Inserted:
        """Insert rows into a table."""

    def execute(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> list[Executed]:
        """Run statements that change tables."""

    async def asql(self, text: str, params: Params = None, **options: Unpack[SqlOptions]) -> Result:
        """Run a query in a thread, and return its result when all rows are computed.

        Cancelling the task interrupts the query. Arguments are those of :meth:`sql`.

        Examples
        --------
        >>> import asyncio
        >>> async def count():
        ...     with await db.asql("SELECT COUNT(*) AS n FROM web.gha@1") as result:
        ...         return result.head()
        >>> asyncio.run(count())
        [{'n': 1000}]
        """
        from sdb.client.awaited import queried

        return await queried(partial(self.sql, text, params, **options))

    async def aappend(
        self, name: str, inputs: Inputs, **options: Unpack[AppendOptions]
    ) -> Inserted:
        """Insert rows in a thread; arguments are those of :meth:`append`.

        Many tasks at once share commits. A task that is cancelled meanwhile ends when the rows are
        in: give a `txn_id` to be able to repeat it.
        """
        from sdb.client.awaited import finished

        return await finished(partial(self.append, name, inputs, **options))

    async def aexecute(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> list[Executed]:
        """Run statements in a thread; arguments are those of :meth:`execute`.

        A task that is cancelled meanwhile ends when the statements have run.
        """
        from sdb.client.awaited import finished

        return await finished(partial(self.execute, text, params, **options))


class TableCalls(TableRows, Protocol):
    """Changes of a table by statements, and calls in threads."""

    @property
    def _target(self) -> str:
        """Name of the branch that is written to."""

    def append(self, inputs: Inputs, **options: Unpack[BranchAppendOptions]) -> Inserted:
        """Insert rows."""

    def _execute(self, text: str, options: WriteOptions) -> Executed:
        """Run a statement that changes the table."""

    async def aappend(self, inputs: Inputs, **options: Unpack[BranchAppendOptions]) -> Inserted:
        """Insert rows in a thread; see :meth:`sdb.Connection.aappend`."""
        from sdb.client.awaited import finished

        return await finished(lambda: self.append(inputs, **options))

    def update(
        self,
        assignments: Mapping[str, str],
        where: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> Executed:
        """Set fields of rows, as the statement ``UPDATE``.

        Parameters
        ----------
        assignments : mapping
            For each path, as in ``"a.b"``, the expression of its value.
        where : str, optional
            The condition; all rows without it.
        params, author, message, txn_id, dry_run, missing, threads, memory_bytes, progress
            As in :func:`sdb.execute`.

        Returns
        -------
        Executed
            The result.

        Examples
        --------
        >>> table.update({"actor.gravatar_id": "MISSING"}, "type = 'PushEvent'").version
        4
        """
        setting = ", ".join(f"{path} = {value}" for path, value in assignments.items())
        text = f"UPDATE {self._written} SET {setting}{_condition(where)}"  # noqa: S608 - it is theirs
        return self._execute(text, options)

    def delete(self, where: str | None = None, **options: Unpack[WriteOptions]) -> Executed:
        """Delete rows for which a condition is TRUE, or all; see :meth:`update`."""
        text = f"DELETE FROM {self._written}{_condition(where)}"  # noqa: S608 - it is theirs
        return self._execute(text, options)

    @property
    def _written(self) -> str:
        behind = "" if self._target == "main" else f"@'{self._target}'"
        return f"{quoted_table(self.name)}{behind}"


def _condition(where: str | None) -> str:
    return "" if where is None else f" WHERE {where}"
