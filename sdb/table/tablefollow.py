"""Following inputs: syncs for ever, each of what is new since the last one.

Nothing is kept in memory but where each folder was listed to, so that a program that was killed
goes on where the table is.
"""

from __future__ import annotations

import time

from sdb.errors import SdbError
from sdb.records import record
from sdb.table import names
from sdb.table.commit import check_writable
from sdb.table.inputwatch import ANEW_SECONDS, InputWatch
from sdb.table.references import MAIN
from sdb.table.retention import retire
from sdb.table.syncplan import plan_some
from sdb.table.tablehandle import find_table, read_definition
from sdb.table.tablesync import tables_to_sync, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event
    from typing import Any

    from sdb.table.definition import Definition
    from sdb.table.inputnodes import TakenInput
    from sdb.table.inputstree import InputsTree
    from sdb.table.syncresult import Synced
    from sdb.table.tableroot import TableRoot

INTERVAL_SECONDS = 5.0


@record
class Trouble:
    """A table that cannot be synced now, or that can again.

    Attributes
    ----------
    database, table : str
        Its names; the second one is empty when the database cannot be listed.
    error : SdbError or None
        What is wrong; None: it works again.
    """

    database: str
    table: str
    error: SdbError | None


def follow(
    root: TableRoot,
    database: str,
    pattern: str = "*",
    *,
    stop: Event,
    tell: Callable[[Synced | Trouble], None],
    interval_seconds: float = INTERVAL_SECONDS,
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> None:
    """Take new inputs of tables as they appear, until it is told to stop.

    Each table gets at most one version in each interval. What goes wrong is told once, and tried
    again: nothing is lost, and nothing taken twice.

    Parameters
    ----------
    root : TableRoot
        The root that the tables are below.
    database : str
        Their database.
    pattern : str
        Their names; tables that are made meanwhile are followed too.
    stop : Event
        Set to stop: before the next table, or at once while it waits.
    tell : callable
        Told of each version, and of trouble when it begins, changes and ends.
    interval_seconds : float
        The time from round to round.
    branch : str
        The branch that takes them.
    author : str
        Who takes them; the versions tell it.
    options
        Others of :func:`sdb.pack`.

    Raises
    ------
    UsageError
        There is no key to sign with.
    """
    check_writable(root)
    followed: dict[str, _Followed] = {}
    listing = _Teller(database, "", tell)
    while not stop.is_set():
        began = time.monotonic()
        has_more = False
        try:
            tables = tables_to_sync(root, database, pattern)
        except SdbError as error:
            listing.trouble(error)
            tables = list(followed)
        else:
            listing.well()
        for table in tables:
            if stop.is_set():
                return
            if table not in followed:
                followed[table] = _Followed(
                    root, names.TableKeys(database, table), tell, (branch, author), options
                )
            has_more |= followed[table].round()
        if not has_more:
            stop.wait(max(0.0, began + interval_seconds - time.monotonic()))


class _Teller:
    """Tells of trouble with a table: when it begins, becomes another one, and ends."""

    def __init__(self, database: str, table: str, tell: Callable[[Synced | Trouble], None]) -> None:
        self._names = (database, table)
        self._tell = tell
        self._told = ""

    def trouble(self, error: SdbError) -> None:
        if error.message != self._told:
            self._tell(Trouble(*self._names, error))
        self._told = error.message

    def well(self) -> None:
        if self._told:
            self._tell(Trouble(*self._names, None))
        self._told = ""


class _Followed:
    """A table whose inputs are followed."""

    def __init__(
        self,
        root: TableRoot,
        keys: names.TableKeys,
        tell: Callable[[Synced | Trouble], None],
        who: tuple[str, str],
        options: dict[str, Any],
    ) -> None:
        self._root = root
        self._keys = keys
        self._branch, self._author = who
        self._tell = tell
        self._trouble = _Teller(keys.database, keys.table, tell)
        self._options = options
        self._definition: Definition | None = None
        self._watch = InputWatch()
        self._retire_at = 0.0

    def round(self) -> bool:
        """Take what is new; tells whether nothing was, and not everything was looked at."""
        try:
            synced = self._round()
        except SdbError as error:
            self._trouble.trouble(error)
            return False
        self._trouble.well()
        if synced is not None:
            self._tell(synced)
        return self._watch.has_more and synced is None

    def _round(self) -> Synced | None:
        root, keys = self._root, self._keys
        definition = read_definition(root, keys)
        if definition != self._definition:
            self._definition, self._watch = definition, InputWatch()
        if time.monotonic() >= self._retire_at:
            retire(root, keys, definition, branch=self._branch, author=self._author)
            self._retire_at = time.monotonic() + ANEW_SECONDS
        self._watch.begin()
        plan = plan_some(root, definition, _Known(root, keys, self._branch).lookup, self._watch)
        done = 0
        if plan.new:
            synced = take(
                root,
                keys,
                definition,
                plan,
                branch=self._branch,
                author=self._author,
                **self._options,
            )
            done = len(synced.taken) + len(synced.rejected)
        self._watch.end(missed=plan.left_out > 0 or done < len(plan.new))
        return synced if done else None


class _Known:
    """The inputs that a table knows; its index is read when the first one is asked for."""

    def __init__(self, root: TableRoot, keys: names.TableKeys, branch: str) -> None:
        self._root = root
        self._keys = keys
        self._branch = branch
        self._is_read = False
        self._tree: InputsTree | None = None

    def lookup(self, uri: str) -> TakenInput | None:
        """Find an input."""
        if not self._is_read:
            keys = self._keys
            handle = find_table(self._root, keys.database, keys.table, branch=self._branch)
            self._tree = None if handle is None else handle.inputs
            self._is_read = True
        return None if self._tree is None else self._tree.lookup(uri)
