"""A mirror of a table as a Delta table: one Parquet file a packfile, one commit a version.

A file is named by the content id of its packfile and by its columns, so that whatever an export has
written before it was killed, the next one uses. A commit says which version it is in a ``txn``
action: two exporters of one mirror write each version once.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby

from sdb import notes
from sdb.delta.log import DeltaLog
from sdb.delta.schema import schema_text
from sdb.errors import ConflictError, ExistsError, UncertainError, UnsupportedError
from sdb.exchange.mirrorcommit import MirrorCommits
from sdb.exchange.mirrorfiles import (
    columns_path,
    digest_of,
    fields_path,
    held,
    is_ours,
    mark_in,
    marked,
    opened_packfile,
)
from sdb.exchange.mirrorplan import MirrorPlan
from sdb.exchange.packcolumns import columns_of, observed_columns
from sdb.exchange.parquetfile import write_columns, write_packfile
from sdb.exchange.pending import pending
from sdb.exchange.schemacolumns import SchemaColumns
from sdb.lake.columntypes import (
    bounded,
    chosen_columns,
    fits,
    joined_columns,
    layout_of,
    published,
    texts,
)
from sdb.lake.footer import read_layout
from sdb.log import Logger
from sdb.records import changing_record, field, record
from sdb.retry import Backoff
from sdb.store.url import check_scheme
from sdb.table.catalog.handle import open_table
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import era_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from threading import Event
    from typing import TypeAlias, TypeVar

    import pyarrow as pa

    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.exchange.parquetfile import RowsToWrite
    from sdb.exchange.schemacolumns import Layout
    from sdb.lake.columntypes import Columns, ColumnType
    from sdb.lake.footer import ParquetFile
    from sdb.lake.mirrorlog import LogAction, MirrorLog
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.columns import TableSchema

    _Result = TypeVar("_Result")
    ReadColumns: TypeAlias = Callable[
        [TableHandle, Descriptor, Sequence[str], "int | None"],
        AbstractContextManager[tuple[Iterator[pa.RecordBatch], dict[str, int]]],
    ]

_COLUMNS = "sdb.columns"
_SCHEMA = "sdb.schema"
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


class _WiderError(Exception):
    """A packfile has values that its trailer does not tell of."""


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
    _done_bytes: int = 0
    _total_bytes: int = 0
    _counts: Counter[str] = field(default_factory=Counter, repr=False)

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

        Raises
        ------
        ExistsError
            There is a Delta table that is no mirror of this one.
        UnsupportedError
            No `sdb` has written to the table; or the mirror uses what this build does not know.
        UncertainError
            The commits of the mirror fail again and again.
        ConflictError
            Another program has changed the files of the mirror.
        """
        self._counts.clear()
        backoff = self._backoff()
        while True:
            before = self._log.version
            try:
                return self._update()
            except _OvertakenError:
                self._log.refresh()
                if self._log.version > before:
                    backoff = self._backoff()
                elif not backoff.may_retry():
                    what = f"{self.location}: it is not known whether a commit was written"
                    raise UncertainError(what, hint="run it again") from None
                else:
                    backoff.pause()
            except _WiderError:
                continue

    def _backoff(self) -> Backoff:
        return Backoff(
            f"mirroring {self.name}", _logger, first_seconds=0.1, longest_seconds=5.0, attempts=8
        )

    def _update(self) -> MirrorReport:
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
        commits = MirrorCommits(self.name, application, self._log, self.env, self.restart)
        if versions and handle.schema_data and not self._has_columns(handle):
            notes.warn(
                f"{self.name} has a schema: the mirror has the fields of its rows, by the names "
                "and types that they are stored with"
            )
        if (self.squash or self.restart) and versions:
            step = MirrorPlan(self.name, self._log.files, mirrored).joint(handle, versions)
            self._commit_steps([step], commits)
        else:
            for at in range(0, len(versions), _BATCH):
                mirrored = self._log.transactions.get(application, 0)
                plan = MirrorPlan(self.name, self._log.files, mirrored)
                self._commit_steps(plan.each(handle, versions[at : at + _BATCH]), commits)
                if self._is_stopped:
                    break
        self.restart = False
        return MirrorReport(
            self.name,
            self.location,
            self._log.transactions.get(application, 0),
            self._log.version,
            self._counts["versions"],
            self._counts["files"],
            self._counts["rows"],
            self._counts["bytes"],
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

    def _commit_steps(self, steps: list[MirrorStep], commits: MirrorCommits) -> None:
        """Write the files of versions, and commit one version after the other."""
        self._done_bytes = 0
        self._total_bytes = sum(
            descriptor.size_bytes for step in steps for descriptor in step.added.values()
        )
        for has_columns, group in groupby(steps, lambda step: self._has_columns(step.handle)):
            if self._is_stopped:
                return
            if has_columns:
                self._commit_columns(list(group), commits)
            else:
                self._commit_fields(list(group), commits)

    def _commit_columns(self, steps: list[MirrorStep], commits: MirrorCommits) -> None:
        """Commit versions with a schema, each in the columns of its own."""
        import os

        self._log.prepare({})
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            for step in steps:
                if self._is_stopped:
                    return
                with held(step.handle):
                    actions = self._column_actions(step, commits, pool)
                self._put(actions)

    def _commit_fields(self, steps: list[MirrorStep], commits: MirrorCommits) -> None:
        """Commit versions in columns that are the fields of their rows."""
        columns = self._joined_columns(steps)
        table_columns = chosen_columns(columns)
        self._note_texts(table_columns)
        self._log.prepare(table_columns)
        with ThreadPoolExecutor(self._workers(steps)) as pool:
            for step in steps:
                if self._is_stopped:
                    return
                with held(step.handle):
                    actions = self._actions(step, columns, table_columns, commits, pool)
                self._put(actions)

    def _put(self, actions: list[LogAction]) -> None:
        if not self._log.put(actions):
            raise _OvertakenError
        self._counts["versions"] += 1
        self._log.tend()

    def _workers(self, steps: list[MirrorStep]) -> int:
        import os

        most = self.threads or os.cpu_count() or 1
        return max(1, min(most, max((len(step.added) for step in steps), default=1)))

    def _joined_columns(self, steps: list[MirrorStep]) -> Columns:
        """Return the columns of what is mirrored and of what comes."""
        columns: Columns = {} if self.restart else self._mirrored_columns()
        known = json.dumps(columns)
        for step in steps:
            packs = step.added
            if self.restart or self._had_schema:
                packs = marked(step.handle.descriptors())
            for mark, present in self._present(step.handle, packs):
                self._columns[mark] = present
                columns = joined_columns(columns, present)
        return columns if json.dumps(columns) == known else bounded(columns)

    def _mirrored_columns(self) -> Columns:
        text = self._log.metadata.get("configuration", {}).get(_COLUMNS)
        if text is None:
            return {}
        columns: Columns = json.loads(text)
        return columns

    @property
    def _had_schema(self) -> bool:
        """True if the newest commit of the mirror has the columns of a schema."""
        return _SCHEMA in self._log.metadata.get("configuration", {})

    def _present(
        self, handle: TableHandle, packs: dict[str, Descriptor]
    ) -> Iterator[tuple[str, Columns]]:
        """Yield the columns of packfiles."""
        for mark, descriptor in packs.items():
            known = self._columns.get(mark)
            if known is None:
                with opened_packfile(handle, descriptor) as pack:
                    known = columns_of(pack)
            yield mark, known

    def _actions(
        self,
        step: MirrorStep,
        columns: Columns,
        table_columns: Columns,
        commits: MirrorCommits,
        pool: ThreadPoolExecutor,
    ) -> list[LogAction]:
        """Write the files of a version, and return the actions of its commit."""
        stored = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
        configuration = self._log.metadata.get("configuration", {})
        is_wider = configuration.get(_COLUMNS) != stored
        added = dict(step.added)
        replaced: list[str] = []
        changed = self._changed_types(table_columns) if is_wider and not self.restart else {}
        if changed and (refusal := self._log.refusal()):
            text = ", ".join(changed.values())
            raise UnsupportedError(f"{self.location}: {text}: {refusal}")
        if changed or self.restart or self._had_schema:
            renewed, replaced = self._renewed(step, table_columns, changed)
            added |= renewed
        files = self._written(step, added, table_columns, pool)
        metadata = None
        if is_wider or self.restart:
            schema = schema_text(table_columns)
            metadata = commits.metadata(schema, {_COLUMNS: stored})
        return commits.actions(step, files, replaced, table_columns, metadata)

    def _column_actions(
        self, step: MirrorStep, commits: MirrorCommits, pool: ThreadPoolExecutor
    ) -> list[LogAction]:
        """Write the files of a version in the columns of its schema; return the actions."""
        schema = step.handle.schema
        assert schema is not None  # noqa: S101 - other versions go another way
        columns = SchemaColumns(schema)
        shape = digest_of(columns.shape)
        before = self._log.metadata
        is_other = self.restart or before.get("configuration", {}).get(_SCHEMA) != shape
        added = dict(step.added)
        replaced: list[str] = []
        if is_other:
            renewed, replaced = self._laid_anew(step, columns, pool)
            added |= renewed
            self._note_columns(columns)
        layouts = self._layouts(step.handle, added, columns)

        def write(mark: str) -> tuple[str, ParquetFile, dict[str, int]]:
            return self._write_columns(step.handle, mark, added[mark], layouts[mark], columns)

        written = list(self._counted(added, pool.map(write, added)))
        self._note_misfits(schema, [misfits for _, _, misfits in written])
        metadata = None
        if is_other or before.get("schemaString") != columns.schema_text:
            metadata = commits.metadata(columns.schema_text, {_SCHEMA: shape})
        return commits.actions(
            step,
            [(path, file) for path, file, _ in written],
            replaced,
            {columns.names[name]: kind for name, kind in columns.columns.items()},
            metadata,
        )

    def _layouts(
        self, handle: TableHandle, packs: dict[str, Descriptor], columns: SchemaColumns
    ) -> dict[str, Layout]:
        self._columns |= dict(self._present(handle, packs))
        return {
            mark: columns.layout(self._columns[mark], era_of(descriptor.key))
            for mark, descriptor in packs.items()
        }

    def _staying(self, step: MirrorStep) -> tuple[dict[str, str], dict[str, Descriptor]]:
        """Return the files of the mirror by their marks, and the packfiles of those that stay."""
        wanted = marked(step.handle.descriptors())
        paths = {mark_in(path): path for path in self._log.files if is_ours(path)}
        return paths, {mark: wanted[mark] for mark in paths if mark in wanted}

    def _laid_anew(
        self, step: MirrorStep, columns: SchemaColumns, pool: ThreadPoolExecutor
    ) -> tuple[dict[str, Descriptor], list[str]]:
        """Find the files of the mirror that read otherwise under the schema of a version.

        Returns: Their packfiles, and their paths.
        """
        paths, staying = self._staying(step)
        layouts = self._layouts(step.handle, staying, columns)

        def is_right(mark: str) -> bool:
            if paths[mark] == columns_path(mark, layouts[mark]):
                return True
            had = None if self.restart else read_layout(self._log.place(paths[mark]))
            return had is not None and columns.has_rows_of(
                had, layouts[mark], self._columns[mark], era_of(staying[mark].key)
            )

        is_kept = dict(zip(staying, pool.map(is_right, staying), strict=True))
        renewed = {mark: packfile for mark, packfile in staying.items() if not is_kept[mark]}
        if renewed and not self.restart:
            files = f"{len(renewed):,} file{' is' if len(renewed) == 1 else 's are'}"
            notes.warn(
                f"{self.location}: the schema of version {step.state.version:,} has other columns: "
                f"{files} written again with these, in one commit"
            )
        return renewed, [paths[mark] for mark in renewed]

    def _write_columns(
        self,
        handle: TableHandle,
        mark: str,
        descriptor: Descriptor,
        layout: Layout,
        columns: SchemaColumns,
    ) -> tuple[str, ParquetFile, dict[str, int]]:
        names = [name for name, shown in columns.names.items() if shown in layout]
        if not names:
            what = f"the schema of {self.name} has no column, and no file can be made without one"
            raise UnsupportedError(what)
        counts: dict[str, int] = {}

        @contextmanager
        def rows() -> Iterator[RowsToWrite]:
            assert self.read is not None  # noqa: S101 - looked at for each version
            with opened_packfile(handle, descriptor) as pack:
                expected = pack.trailer.rows
            with self.read(handle, descriptor, names, self.threads) as (batches, misfits):
                counts.update(misfits)
                yield map(columns.fitted, batches), expected, descriptor.key

        path = columns_path(mark, layout)
        file = write_columns(rows, columns.arrow(names), layout, self._log.place(path))
        self._count(file)
        return path, file, counts

    def _note_columns(self, columns: SchemaColumns) -> None:
        """Say which columns are not what the schema says."""
        for column, name in columns.names.items():
            if column != name:
                notes.warn(
                    f"{self.name}: the column {column!r} becomes {name!r}: other engines do not "
                    "tell cases apart"
                )
        for path in columns.texts:
            notes.warn(f"{self.name}: {'.'.join(path)} becomes JSON text: it lies too deep")

    def _note_misfits(self, schema: TableSchema, counts: Iterable[dict[str, int]]) -> None:
        """Say how many values of files that were written now are not of their type."""
        total: Counter[str] = Counter()
        for each in counts:
            total.update(each)
        for column in schema.columns:
            if count := total[column.name]:
                values = "value is" if count == 1 else "values are"
                notes.warn(
                    f"{self.name}: {count:,} {values} no {column.type}, as the schema says of "
                    f"{column.name}: NULL in the mirror (sdb schema check)"
                )

    def _written(
        self,
        step: MirrorStep,
        added: dict[str, Descriptor],
        table_columns: Columns,
        pool: ThreadPoolExecutor,
    ) -> list[tuple[str, ParquetFile]]:
        """Write the files of packfiles, and return their paths and what is in them."""
        names = published(table_columns)
        layouts = {mark: layout_of(table_columns, self._columns[mark]) for mark in added}

        def write(mark: str) -> tuple[str, ParquetFile]:
            return self._write(step.handle, mark, added[mark], layouts[mark], names)

        return list(self._counted(added, pool.map(write, added)))

    def _counted(
        self, packs: dict[str, Descriptor], results: Iterable[_Result]
    ) -> Iterator[_Result]:
        """Yield what was made of packfiles, and show how far it is."""
        for descriptor, result in zip(packs.values(), results, strict=True):
            self._done_bytes += descriptor.size_bytes
            if self.progress is not None:
                self.progress(self._done_bytes, max(self._total_bytes, self._done_bytes))
            yield result

    def _changed_types(self, table_columns: Columns) -> dict[str, str]:
        """Return the columns of the mirror that get another type, and how."""
        before = chosen_columns(self._mirrored_columns())
        return {
            name: _change(name, kind, table_columns[name])
            for name, kind in before.items()
            if not fits(kind, table_columns[name])
        }

    def _renewed(
        self, step: MirrorStep, table_columns: Columns, changed: dict[str, str]
    ) -> tuple[dict[str, Descriptor], list[str]]:
        """Find the files of the mirror that have columns whose types change, in one commit.

        Returns: Their packfiles, and their paths.
        """
        paths, staying = self._staying(step)
        for mark, present in self._present(step.handle, staying):
            self._columns[mark] = present
        names = published(table_columns)
        renewed: dict[str, Descriptor] = {}
        for mark, descriptor in staying.items():
            layout = layout_of(table_columns, self._columns[mark])
            is_other = (self.restart or self._had_schema) and paths[mark] != fields_path(
                mark, layout, names
            )
            if is_other or not changed.keys().isdisjoint(layout):
                renewed[mark] = descriptor
        if renewed and not self.restart:
            text = ", ".join(changed.values()) or "the table has no schema any more"
            files = f"{len(renewed):,} file{' is' if len(renewed) == 1 else 's are'}"
            notes.warn(
                f"{self.location}: {text}: {files} written again with the new types, in one commit"
            )
        return renewed, [paths[mark] for mark in renewed]

    def _write(
        self,
        handle: TableHandle,
        mark: str,
        descriptor: Descriptor,
        layout: Columns,
        names: dict[str, str],
    ) -> tuple[str, ParquetFile]:
        path = fields_path(mark, layout, names)
        with opened_packfile(handle, descriptor) as pack:
            if not layout:
                what = f"{descriptor.key} has rows without any field, of which no file can be made"
                raise UnsupportedError(what)
            try:
                file = write_packfile(
                    pack, layout, names, self._log.place(path), threads=self.threads
                )
            except UnsupportedError:
                # Trailers do not tell which integers are above 2^63-1.
                seen = joined_columns(self._columns[mark], observed_columns(pack))
                if seen == self._columns[mark]:
                    raise
                self._columns[mark] = seen
                raise _WiderError from None
        self._count(file)
        return path, file

    def _count(self, file: ParquetFile) -> None:
        if file.is_new:
            self._counts["files"] += 1
            self._counts["rows"] += file.rows
            self._counts["bytes"] += file.size_bytes

    def _note_texts(self, table_columns: Columns) -> None:
        """Say which columns are no more what the fields are, unless they were before."""
        before = {} if self.restart else chosen_columns(self._mirrored_columns())
        known_names = published(before)
        known_texts = set(texts(before))
        for field_name, name in published(table_columns).items():
            if field_name != name and known_names.get(field_name) != name:
                notes.warn(
                    f"{self.name}: {field_name!r} becomes the column {name!r}: other engines have "
                    "no empty names, and do not tell cases apart"
                )
        for path in texts(table_columns):
            if path in known_texts:
                continue
            name = ".".join(path)
            notes.warn(
                f"{self.name}: {name} becomes JSON text: its values are of several kinds, or lie "
                "too deep"
            )


def _change(name: str, before: ColumnType, after: ColumnType) -> str:
    if isinstance(before, str) and isinstance(after, str):
        return f"{name} was {before} and becomes {after}"
    return f"the type of {name} changes"
