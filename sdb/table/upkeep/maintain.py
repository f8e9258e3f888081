"""Rounds of upkeep over tables, once or for ever."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import durations, notes
from sdb.errors import NotFoundError, SdbError
from sdb.records import changing_record, field, record
from sdb.table.commit.commit import check_writable
from sdb.table.feed.events import Trouble, TroubleReporter
from sdb.table.format.keys import TableKeys
from sdb.table.upkeep.actions import Action, Request
from sdb.table.upkeep.budget import MIN_FREE_BYTES, Budget, StoppedError
from sdb.table.upkeep.steps import TableUpkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from sdb.table.catalog.root import TableRoot
    from sdb.table.upkeep.actions import Exporting

INTERVAL_SECONDS = 60.0
_MOST_PAUSE_SECONDS = 300.0
_MOST_DOUBLINGS = 10
_LISTING_SECONDS = 60.0


@record
class Maintained:
    """The result of rounds of upkeep.

    Attributes
    ----------
    actions : tuple of Action
        What was done, or would have been, in its order.
    failures : tuple of SdbError
        Why tables could not be maintained.
    """

    actions: tuple[Action, ...]
    failures: tuple[SdbError, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "actions": [action.as_dict() for action in self.actions],
            "failures": [failure.message for failure in self.failures],
        }


@record
class TableChoice:
    """Tables by name."""

    database: str = ""  # empty: all databases
    pattern: str = "*"  # of the names of tables

    def tables(self, root: TableRoot) -> list[TableKeys]:
        """Return the tables of a root that are meant, as they are now."""
        databases = [self.database] if self.database else root.databases()
        return [
            TableKeys(database, table)
            for database in databases
            for table in root.folders(database)
            if table == self.pattern or fnmatchcase(table, self.pattern)
        ]

    def check(self, root: TableRoot) -> TableChoice:
        """Require that there is one, where a database is named.

        Raises `NotFoundError` if there is no such database or table; the hint names what may be
        meant.
        """
        if not self.database or self.tables(root):
            return self
        if set(self.pattern).isdisjoint("*?["):
            raise root.absent(TableKeys(self.database, self.pattern))
        raise NotFoundError(
            f"no table of {self.database} below {root.location} fits {self.pattern!r}",
            hint="sdb ls lists the tables",
        )


@changing_record
class _Tended:
    """A table that is maintained round after round, and when it is its turn again."""

    upkeep: TableUpkeep
    trouble: TroubleReporter
    failures: int = 0
    due_at: float = 0.0


@changing_record
class Maintainer:
    """Maintains tables: one `round`, or rounds until it is stopped (`run`)."""

    root: TableRoot
    chosen: TableChoice
    request: Request
    trouble: Callable[[Trouble], None]
    _tended: dict[TableKeys, _Tended] = field(default_factory=dict)
    _listed_at: float | None = None

    def round(self) -> Maintained:
        """Do for each table what there is to do. A table that fails stops no other."""
        actions: list[Action] = []
        failures: list[SdbError] = []
        for tended in self._all(failures):
            elapsed = self.request.env.elapsed()
            if elapsed < tended.due_at:
                continue
            try:
                actions += tended.upkeep.round()
            except StoppedError:
                break
            except SdbError as error:
                failures.append(error.within(tended.upkeep.name))
                tended.trouble.report(error)
                tended.failures += 1
                tended.due_at = elapsed + self._pause(tended.failures)
            else:
                tended.trouble.clear()
                tended.failures = 0
        return Maintained(tuple(actions), tuple(failures))

    def run(self) -> None:
        """Do one round after the other, until the event of the budget is set."""
        stop, env = self.request.budget.stop, self.request.env
        while stop is None or not stop.is_set():
            began = env.elapsed()
            self.round()
            pause = max(0.0, began + self.request.interval_seconds - env.elapsed())
            if stop is None:
                env.sleep(pause)
            else:
                stop.wait(pause)

    def _all(self, failures: list[SdbError]) -> list[_Tended]:
        """Return the tables, those that are new among them, now and then."""
        elapsed = self.request.env.elapsed()
        if self._listed_at is not None and elapsed - self._listed_at < _LISTING_SECONDS:
            return list(self._tended.values())
        try:
            keys = self.chosen.tables(self.root)
        except SdbError as error:
            failures.append(error)
            if not self._tended:
                TroubleReporter(self._report, self.chosen.database).report(error)
            return list(self._tended.values())
        self._listed_at = elapsed
        self._tended = {table: self._tended.get(table) or self._tend(table) for table in keys}
        return list(self._tended.values())

    def _tend(self, keys: TableKeys) -> _Tended:
        reporter = TroubleReporter(self._report, keys.database, keys.table)
        return _Tended(TableUpkeep(self.root, keys, self.request), reporter)

    def _report(self, event: object) -> None:
        if isinstance(event, Trouble):
            self.trouble(event)

    def _pause(self, failures: int) -> float:
        """Return how long a table that failed rests: twice as long each time, at random."""
        longest = self.request.interval_seconds * 2 ** min(failures, _MOST_DOUBLINGS)
        longest = min(longest, max(_MOST_PAUSE_SECONDS, self.request.interval_seconds))
        return self.request.env.uniform(longest / 2, longest)


def maintain_tables(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    chosen: TableChoice,
    *,
    interval: str | float | None = None,
    stop: Event | None = None,
    tell: Callable[[Action], None] | None = None,
    dry_run: bool = False,
    grace: str | float | None = None,
    cpu_share: float | None = None,
    min_free_bytes: int = MIN_FREE_BYTES,
    author: str = "",
    export: Exporting | None = None,
) -> Maintained:
    """Maintain tables once, or round after round until an event is set.

    * ``interval``: Time between rounds, as in ``1m`` or in seconds; None: there is one round.
    * ``stop``: Set to stop. What is under way ends soon, and leaves its table whole.
    * ``tell``: Called with each step that was done, and with notes on what stays undone.
    * ``grace``: Grace period of collections; that of the definition, or ``24h``, if not given.
    * ``cpu_share``: Of one processor, on average; None: as much as there is.
    * ``min_free_bytes``: Free space that compactions leave on the disk.
    * ``author``: Recorded in the versions.
    * ``export``: Brings a mirror up to date that a definition declares.

    Returns: What was done in the one round; nothing of rounds after each other.
    Raises `NotFoundError` if there is no such database or table; `UsageError` if there is no key to
    sign with, or an option is malformed; the error of the first table that failed in the one round;
    the other tables are done, and warned of if they failed, too. Rounds after each other try again,
    and warn.
    """
    is_once = interval is None or dry_run
    request = Request(
        tell or _nobody,
        Budget(cpu_share, min_free_bytes, stop),
        author,
        is_dry=dry_run,
        is_once=is_once,
        interval_seconds=INTERVAL_SECONDS if interval is None else _seconds(interval),
        grace_seconds=None if grace is None else _seconds(grace),
        export=export,
    )
    upkeep = maintainer(root, chosen.check(root), request, _ignored if is_once else _warned)
    if not is_once:
        upkeep.run()
        return Maintained(())
    done = upkeep.round()
    for failure in done.failures[1:]:
        notes.warn(failure.message)
    if done.failures:
        raise done.failures[0]
    return done


def _seconds(span: str | float) -> float:
    return durations.seconds(span) if isinstance(span, str) else float(span)


def _nobody(_: Action) -> None:
    """Report nothing."""


def _ignored(_: Trouble) -> None:
    """Leave trouble to who raises it."""


def _warned(event: Trouble) -> None:
    message = "it works again" if event.error is None else event.error.message
    notes.warn(f"{event.database}.{event.table}: {message}")


def maintainer(
    root: TableRoot, chosen: TableChoice, request: Request, trouble: Callable[[Trouble], None]
) -> Maintainer:
    """Return what maintains tables. Raises `UsageError` if there is no key to sign with."""
    if not request.is_dry:
        check_writable(root)
    request.budget.begin()
    return Maintainer(root, chosen, request, trouble)
