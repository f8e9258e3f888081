"""A mirror of a table as a Delta table: one Parquet file a packfile, one commit a version.

A file is named by the content id of its packfile and by its columns, so that whatever an export has
written before it was killed, the next one uses. A commit says which version it is in a ``txn``
action: two exporters of one mirror write each version once.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from sdb import notes
from sdb.delta.log import DeltaLog
from sdb.errors import ConflictError, ExistsError, UncertainError, UnsupportedError
from sdb.exchange.fieldcommits import FieldCommits, WiderError
from sdb.exchange.mirrorcommit import MirrorCommits
from sdb.exchange.mirrorfiles import held, is_ours
from sdb.exchange.mirrorplan import MirrorPlan
from sdb.exchange.mirrorrun import MirrorRun
from sdb.exchange.pending import pending
from sdb.exchange.schemacommits import SchemaCommits
from sdb.log import Logger
from sdb.records import changing_record, field, record
from sdb.retry import Backoff
from sdb.store.url import check_scheme
from sdb.table.catalog.handle import open_table
from sdb.table.commit.environment import REAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event

    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.exchange.schemacommits import ReadColumns
    from sdb.lake.columntypes import Columns
    from sdb.lake.mirrorlog import MirrorLog
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment

_BATCH = 512  # versions that are planned at once: their columns are joined
_logger = Logger("sdb.exchange")


@record
class MirrorReport:
    """The result of an export.

    Attributes
    ----------
    name, location : str
        The table, and its mirror.
    version : int
        The newest version that the mirror has.
    delta_version : int
        The newest commit of the mirror.
    versions, files, rows, size_bytes : int
        Numbers of versions, of files written now, of their rows and bytes.
    """

    name: str
    location: str
    version: int
    delta_version: int
    versions: int = 0
    files: int = 0
    rows: int = 0
    size_bytes: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.name,
            "mirror": self.location,
            "version": self.version,
            "delta_version": self.delta_version,
            "versions": self.versions,
            "files": self.files,
            "rows": self.rows,
            "bytes": self.size_bytes,
        }


class _OvertakenError(Exception):
    """Another exporter has committed first."""


@changing_record
class TableMirror:
    """A mirror of a table. Call :meth:`update` to bring it up to the newest version.

    * ``location``: Folder or URL of the Delta table.
    * ``squash``: Whether all new versions together become one commit.
    * ``restart``: Whether what is there is replaced by the newest version, once.
    * ``stop``: When it is set, no further version is begun.
    * ``read``: Reads columns of a packfile by the schema of its version, and counts the values that
      are NULL since they are not of their type. Without it a mirror has the fields of rows.
    """

    root: TableRoot
    database: str
    table: str
    location: str
    squash: bool = False
    restart: bool = False
    threads: int | None = None
    stop: Event | None = None
    progress: Progress | None = None
    env: Environment = REAL
    log: MirrorLog | None = None  # None: that of a Delta table
    read: ReadColumns | None = None
    _columns: dict[str, Columns] = field(default_factory=dict, repr=False)

    @property
    def _log(self) -> MirrorLog:
        if self.log is None:
            check_scheme(self.location)
            self.log = DeltaLog(self.location)
        return self.log

    @property
    def name(self) -> str:
        """Name of the table."""
        return f"{self.database}.{self.table}"

    def update(self) -> MirrorReport:
        """Mirror all versions that are new.

        Raises `ExistsError` if there is a Delta table that is no mirror of this one;
        `UnsupportedError` if no `sdb` has written to the table, or the mirror uses what this build
        does not know; `UncertainError` if the commits of the mirror fail again and again;
        `ConflictError` if another program has changed the files of the mirror.
        """
        run = MirrorRun(
            self.name,
            self.location,
            self._log,
            self.restart,
            self.threads,
            self.progress,
            self._columns,
        )
        backoff = self._backoff()
        while True:
            before = self._log.version
            try:
                return self._update(run)
            except _OvertakenError:
                self._log.refresh()
                if self._log.version > before:
                    backoff = self._backoff()
                elif not backoff.may_retry():
                    what = f"{self.location}: it is not known whether a commit was written"
                    raise UncertainError(what, hint="run it again") from None
                else:
                    backoff.pause()
            except WiderError:
                continue

    def _backoff(self) -> Backoff:
        return Backoff(
            f"mirroring {self.name}", _logger, first_seconds=0.1, longest_seconds=5.0, attempts=8
        )

    def _update(self, run: MirrorRun) -> MirrorReport:
        handle = open_table(self.root, self.database, self.table)
        state = handle.state
        if state is None:
            what = f"{self.name} has no versions: no sdb has written to it"
            raise UnsupportedError(what, hint="insert a row, or run sdb sync")
        self._log.refresh()
        application = state.table.hex()
        self._check_mirror(application)
        mirrored = 0 if self.restart else self._log.transactions.get(application, 0)
        todo = pending(handle, mirrored)
        if todo.is_foreign:
            notes.warn(
                f"{self.name}: another program has written to it since version {state.version:,}; "
                "its rows are mirrored with the next version of sdb"
            )
        versions = list(todo.versions)
        commits = MirrorCommits(run, application, self.env)
        if versions and handle.schema_data and not self._has_columns(handle):
            notes.warn(
                f"{self.name} has a schema: the mirror has the fields of its rows, by the names "
                "and types that they are stored with"
            )
        if (self.squash or self.restart) and versions:
            step = MirrorPlan(self.name, self._log.files, mirrored).joint(handle, versions)
            self._commit_steps([step], run, commits)
        else:
            for at in range(0, len(versions), _BATCH):
                mirrored = self._log.transactions.get(application, 0)
                plan = MirrorPlan(self.name, self._log.files, mirrored)
                self._commit_steps(plan.each(handle, versions[at : at + _BATCH]), run, commits)
                if self._is_stopped:
                    break
        self.restart = False
        return MirrorReport(
            self.name,
            self.location,
            self._log.transactions.get(application, 0),
            self._log.version,
            run.counts["versions"],
            run.counts["files"],
            run.counts["rows"],
            run.counts["bytes"],
        )

    @property
    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _check_mirror(self, application: str) -> None:
        """Require a mirror of this table, or an empty place."""
        log = self._log
        if log.version < 0:
            return
        if flaw := log.flaw():
            raise UnsupportedError(f"{self.location}{flaw[0]}", hint=flaw[1])
        if self.restart:
            return
        if application not in log.transactions:
            other = log.metadata.get("configuration", {}).get("sdb.table")
            what = f"a mirror of another table, {other}" if other else "a table, and no mirror"
            raise ExistsError(
                f"{self.location} is {what}",
                path=self.location,
                hint=f"export to another place, or with --restart to replace it by {self.name}",
            )
        if strange := next((path for path in log.files if not is_ours(path)), None):
            raise ConflictError(
                f"another program has changed the mirror {self.location}: {strange} is no file of "
                "sdb",
                path=self.location,
                hint="--restart replaces its rows by those of the newest version",
            )

    def _has_columns(self, handle: TableHandle) -> bool:
        """Return whether the mirror has the columns of the schema of a version."""
        return bool(handle.schema_data) and self.read is not None and self._log.takes_schemas()

    def _commit_steps(
        self, steps: list[MirrorStep], run: MirrorRun, commits: MirrorCommits
    ) -> None:
        """Write the files of versions, and commit one version after the other."""
        run.begin(steps)
        for has_columns, group in groupby(steps, lambda step: self._has_columns(step.handle)):
            if self._is_stopped:
                return
            alike = list(group)
            if has_columns:
                assert self.read is not None  # noqa: S101 - looked at for each version
                self._log.prepare({})
                self._commit_alike(alike, run, SchemaCommits(run, commits, self.read))
            else:
                fields = FieldCommits.of(run, commits, alike)
                self._log.prepare(fields.columns)
                self._commit_alike(alike, run, fields)

    def _commit_alike(
        self, steps: list[MirrorStep], run: MirrorRun, commits: FieldCommits | SchemaCommits
    ) -> None:
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            for step in steps:
                if self._is_stopped:
                    return
                with held(step.handle):
                    actions = commits.actions(step, pool)
                if not self._log.put(actions):
                    raise _OvertakenError
                run.counts["versions"] += 1
                self._log.tend()
