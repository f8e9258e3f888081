"""A query, and all that its answer and its cost depend on."""

from __future__ import annotations

import time

from sdb.packfile.inputs.rawreading import USUAL
from sdb.progress import silent
from sdb.query.syntax import ast
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.cancellation import Cancellation
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.progress import Progress
    from sdb.query.catalog.namedtables import OpenedTables
    from sdb.query.catalog.period import Period
    from sdb.query.catalog.storedtable import TableSource
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible

_NOTHING = ast.Statement(ast.Select((), star=True))


def now() -> int:
    """Return the present, in microseconds since 1970."""
    return time.time_ns() // 1000


@record
class QueryRequest:
    """A query that was parsed, with its parameters, and where and how it is to be answered.

    What is not said here has the meaning that :func:`sdb.query.run.api.sql` gives it.
    """

    statement: ast.Statement = field(default=_NOTHING, repr=False)
    root: str = ""  # folder or URL where relative paths start; the current folder when empty
    dialect: str | None = None
    reading: RawReading = USUAL  # how files are read that are no packfiles
    period: Period | None = None  # times that the rows of all tables must have
    at: str = ""  # the version of tables of which the query names none; the newest when empty
    # Tables as they were read, by names with that of the database
    tables: Mapping[str, TableHandle] = field(default_factory=dict)
    # Tables that have a meaning of their own here, by the parts of their names, and ``@`` with the
    # name of a branch behind them
    known: Mapping[tuple[str, ...], TableSource] = field(default_factory=dict)
    visible: Visible | None = None  # the tables that it may name; it may name no file then
    opened: OpenedTables | None = None  # tables as a plan has opened them, which it sees
    now_us: int = field(default_factory=now)  # the instant of UTCNOW()
    prune: bool = True  # whether blocks are left out where the condition cannot be TRUE
    typed: bool = True  # whether values of unknown type are wanted with their types
    strict: bool = False  # whether a field that no row has is an error
    threads: int | None = None
    memory_bytes: int | None = None
    cancellation: Cancellation | None = None  # stops it, also before there are rows
    progress: Progress = silent
