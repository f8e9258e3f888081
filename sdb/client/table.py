"""Tables in Python: one table as it is, or as it was."""

from __future__ import annotations

import os
from functools import partial

from sdb.client.calls import TableCalls
from sdb.errors import UsageError
from sdb.query.rows.tablerows import StoredRows
from sdb.table.catalog.handle import open_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from sdb.client.options import (
        BranchAppendOptions,
        CompactOptions,
        ExportOptions,
        ForkOptions,
        MaintainOptions,
        MergeOptions,
        PurgeOptions,
        PushOptions,
        RestoreOptions,
        SchemaOptions,
        SyncOptions,
        WriteOptions,
    )
    from sdb.client.tableinspection import TableInspection
    from sdb.exchange.dataset import WrittenDataset
    from sdb.exchange.mirror import MirrorReport
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.progress import Progress
    from sdb.query.rows.splits import Splits
    from sdb.statements.effects import Executed
    from sdb.statements.purged import Purged
    from sdb.store.base import Location
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.refs import NamedVersion
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.schemas import ChangedSchema
    from sdb.table.format.versionref import Given
    from sdb.table.history.diff import TableDifference
    from sdb.table.history.fork import SentTable
    from sdb.table.history.log import LoggedVersion, ShownVersion
    from sdb.table.history.merge import MergedBranch
    from sdb.table.history.restore import Restored
    from sdb.table.history.undo import Undone
    from sdb.table.insert.insert import Inserted
    from sdb.table.inspect.describe import TableDescription
    from sdb.table.inspect.timeline import Timeline
    from sdb.table.maintenance.collected import Collected
    from sdb.table.maintenance.compact import Compacted
    from sdb.table.maintenance.expire import Expired
    from sdb.table.maintenance.validate import TableReport
    from sdb.table.packfiles.schemas import DepartureCount
    from sdb.table.schema.columns import TableSchema
    from sdb.table.sync.result import Synced
    from sdb.table.sync.status import InputStatus
    from sdb.table.upkeep.maintain import Maintained
    from sdb.table.upkeep.status import TableStatus


class Table(StoredRows, TableCalls):
    """A table, with the facts of its index when it was opened; queries read the newest rows.

    A table from :meth:`at` is one version: its facts and rows never change. Methods that change the
    table make it the new version.

    Examples
    --------
    >>> table = sdb.connect("lake").table("web.gha")
    >>> [(version.version, version.operation) for version in table.log()]
    [(3, 'transaction'), (2, 'delete'), (1, 'insert')]
    >>> table.to_arrow(fields=["type"], since="2015-01-01T01:05", time_field="created_at").num_rows
    309
    """

    def __init__(self, handle: TableHandle, *, at: str = "") -> None:
        self._handle = handle
        self._at = at

    def at(self, reference: Given) -> Table:
        """Return the table as it was at a version.

        Parameters
        ----------
        reference : str, int or datetime
            As in ``12``, ``-1`` (the one before the newest), ``"2026-11-01T00:00Z"``, ``"-1d"``, or
            the name of a tag or branch; see :mod:`sdb.table.format.versionref`.

        Returns
        -------
        Table
            The version, which stays the same whatever is committed.

        Raises
        ------
        BeforeFirstError, ExpiredError, UnknownReferenceError
            There is no such version.

        Examples
        --------
        >>> table.at(1).to_arrow(fields=["type"]).num_rows
        1000
        """
        from sdb.table.format.versionref import parse_reference

        keys = self._handle.keys
        head = open_table(self._handle.root, keys.database, keys.table)
        wanted = parse_reference(reference)
        return Table(head.at(wanted), at=wanted.text)

    @property
    def version(self) -> int | None:
        """Number of the version; None if another program wrote it."""
        state = self._handle.state
        return None if state is None else state.version

    @property
    def name(self) -> str:
        """The name, ``db.table``."""
        return self._handle.name

    @property
    def handle(self) -> TableHandle:
        """The index, and the keys of the other objects."""
        return self._handle

    def describe(self) -> TableDescription:
        """Describe the table and its packfiles, as ``sdb describe``."""
        from sdb.table.inspect.describe import describe_table

        return describe_table(self._handle)

    def append(self, inputs: Inputs, **options: Unpack[BranchAppendOptions]) -> Inserted:
        """Insert rows; threads that append to one table share commits.

        Parameters
        ----------
        inputs, nulls, txn_id, author, message, partition
            As in :meth:`sdb.Connection.append`, whose other options and errors this has, too.
        branch : str
            The branch that gets the rows; that of the table if not given.

        Returns
        -------
        Inserted
            The version that has the rows.
        """
        from sdb.table.insert import groupcommit

        options["branch"] = options.get("branch") or self._target
        inserted = groupcommit.append(*self._place, inputs, **options)
        self._reopen()
        return inserted

    def sync(self, **options: Unpack[SyncOptions]) -> Synced:
        """Take new inputs, each one once; options as in :meth:`sdb.Connection.sync`."""
        from sdb.table.sync.sync import sync_table

        options.setdefault("branch", self._target)
        synced = sync_table(*self._place, **options)
        self._reopen()
        return synced

    def compact(self, **options: Unpack[CompactOptions]) -> Compacted:
        """Merge small packfiles, in a version with the same rows.

        Parameters
        ----------
        cluster_by : sequence of path, optional
            Paths by whose values rows are sorted; those of the definition if not given.
        dry_run : bool
            Whether to report only what would be merged.
        author, message : str
            Recorded in the version.
        progress : Progress
            Called with the number of bytes that were merged.
        """
        from sdb.table.maintenance.compact import compact_table

        self._check_main()
        compacted = compact_table(*self._place, **options)
        self._reopen()
        return compacted

    def expire(
        self,
        *,
        keep_last: int | None = None,
        keep_within: str | float | None = None,
        keep_tags: Sequence[str] = (),
        thin: str | None = None,
        all_but_head: bool = False,
        dry_run: bool = False,
    ) -> Expired:
        """Remove versions from the history, see :func:`sdb.table.maintenance.expire.policy_of`."""
        from sdb.table.maintenance.expire import expire, policy_of

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        policy = policy_of(
            root,
            keys,
            keep_last=keep_last,
            keep_within=keep_within,
            keep_tags=keep_tags,
            thin=thin,
            all_but_head=all_but_head,
        )
        expired = expire(root, keys.database, keys.table, policy, dry_run=dry_run)
        self._reopen()
        return expired

    def gc(self, *, grace: str | float = "24h", dry_run: bool = False) -> Collected:
        """Delete what no version needs, see :func:`sdb.table.maintenance.gc.collect`."""
        from sdb import durations
        from sdb.table.maintenance.gc import collect

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        seconds = durations.seconds(grace) if isinstance(grace, str) else grace
        collected = collect(root, keys, grace_seconds=seconds, dry_run=dry_run)
        self._reopen()
        return collected

    def export(
        self, fmt: str, to: Location, **options: Unpack[ExportOptions]
    ) -> MirrorReport | WrittenDataset:
        """Mirror the table in another format, or write this version as Parquet: ``sdb export``.

        Parameters
        ----------
        fmt : {"delta", "iceberg", "parquet"}
            A mirror gets all versions of the branch main that it lacks; Parquet files get the rows
            of this version.
        to : path or URL
            A folder, or an s3:// URL for Delta; ``catalog/namespace.table`` for Iceberg.
        squash : bool
            Whether a mirror gets one commit for all versions that are new.
        restart : bool
            Whether what a Delta mirror has is replaced by the newest version.
        partition_by : sequence of str
            What folders of Parquet files are made by, as in ``["type", "day(created_at)"]``.
        overwrite : bool
            Whether a folder of Parquet files may be replaced.
        properties : mapping, optional
            Properties of the catalog of Iceberg.
        threads : int, optional
            How many threads read and write.

        Returns
        -------
        MirrorReport or WrittenDataset
            What was written: `version`, `files`, `rows`, `size_bytes`.

        Raises
        ------
        ExistsError
            The place has something else.
        UsageError
            Another format, or a key that cannot name folders.

        Examples
        --------
        >>> table.export("delta", "s3://bucket/gha").version               # doctest: +SKIP
        3
        >>> table.at(1).export("parquet", "days").rows                    # doctest: +SKIP
        1000
        """
        from sdb.exchange import exports
        from sdb.query.rows.mirrorcolumns import packfile_columns

        chosen = exports.ExportChoice(**options)
        return exports.export_table(self._handle, fmt, os.fspath(to), chosen, packfile_columns)

    def maintain(self, **options: Unpack[MaintainOptions]) -> Maintained:
        """Keep the table small; options as in :meth:`sdb.Connection.maintain`."""
        from sdb.exchange.policies import Exporter
        from sdb.query.rows.mirrorcolumns import packfile_columns
        from sdb.table.upkeep.maintain import TableChoice, maintain_tables

        self._check_main()
        keys = self._handle.keys
        chosen = TableChoice(keys.database, keys.table)
        maintained = maintain_tables(
            self._handle.root,
            chosen,
            export=Exporter(options.get("stop"), packfile_columns),
            **options,
        )
        self._reopen()
        return maintained

    def status(self, *, exact: bool = False) -> TableStatus:
        """Report what the table needs; see :meth:`sdb.Connection.status`."""
        from sdb.table.upkeep.status import table_status

        return table_status(self._handle.root, self._handle.keys, exact=exact)

    def purge(self, where: str, **options: Unpack[PurgeOptions]) -> Purged:
        """Erase the rows for which a condition is TRUE from all versions.

        Parameters
        ----------
        where : str
            The condition.
        params : mapping, optional
            Values of the parameters ``$name`` in it.
        dry_run : bool
            Whether to report only what would be erased.
        author, message : str
            Recorded in the versions.
        threads, memory_bytes, progress
            As in :func:`sdb.execute`.
        """
        from sdb.statements.purge import purge

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        purged = purge(root, keys.database, keys.table, where, **options)
        self._reopen()
        return purged

    def splits(
        self,
        *,
        size: int | str = "128MiB",
        where: str | None = None,
        params: Mapping[str, object] | None = None,
    ) -> Splits:
        """Split the rows into pieces that other processes and machines read by themselves.

        Each row for which the condition is TRUE is in one of them. A split can be pickled; blocks
        that cannot hold such a row are in none.

        Parameters
        ----------
        size : int or str
            About this many bytes of rows, decompressed, are in a split: blocks, which are 50 to 100
            MiB, are not divided.
        where : str, optional
            A condition of SQL without sub-queries; all rows without it.
        params : mapping, optional
            Values of the parameters ``$name`` in it.

        Returns
        -------
        Splits
            The splits, of the version that is the newest now, or of that of :meth:`at`. Their lease
            keeps the packfiles from being collected.

        Raises
        ------
        QueryError
            The condition has no meaning.
        UnsupportedError
            The condition has sub-queries.

        Examples
        --------
        >>> with db.table("web.gha").splits(where="type = 'PushEvent'") as splits:
        ...     sum(split.to_arrow(fields=["id"]).num_rows for split in splits)
        596
        """
        from sdb.query.rows.splits import table_splits

        return table_splits(self.snapshot, size=size, where=where, params=params)

    def inputs(self, *, seek: str = "", check: bool = False) -> Iterator[InputStatus]:
        """Iterate over the inputs, see :func:`sdb.table.sync.status.input_states`."""
        from sdb.table.sync.status import input_states

        return input_states(self._handle, seek=seek, check=check)

    @property
    def schema(self) -> TableSchema | None:
        """The schema of this version; None: it has none, and rows have whatever fields they have.

        Examples
        --------
        >>> db.table("web.gha").schema is None
        True
        """
        return self._handle.schema

    def infer_schema(self) -> TableSchema:
        """Return a schema that all rows conform to; nothing is stored.

        Examples
        --------
        >>> db.table("web.gha").infer_schema().columns[0].name
        'id'
        """
        from sdb.table.packfiles.schemas import inferred

        return inferred(self._handle)

    def set_schema(
        self,
        schema: TableSchema | dict[str, object] | list[object] | str | None,
        **options: Unpack[SchemaOptions],
    ) -> ChangedSchema:
        """Set the schema, in a separate version: `sdb schema set`.

        Parameters
        ----------
        schema : TableSchema, dict, list or str
            The schema, or its JSON, see docs/schemas.md; None takes it away.
        mode : str
            What becomes of rows that depart: ``observe``, ``quarantine`` or ``reject``.
        author, message : str
            Recorded in the version.

        Returns
        -------
        ChangedSchema
            The version, and its schema.
        """
        from sdb.statements.schemasetting import set_schema

        done = set_schema(
            self._handle.root, self._handle.keys, schema, branch=self._target, **options
        )
        self._reopen()
        return done

    def check_schema(self) -> list[DepartureCount]:
        """Count the rows that depart from the schema, by column and reason: `sdb schema check`.

        Raises
        ------
        UsageError
            The table has no schema.
        """
        from sdb.table.packfiles.schemas import departures_of

        if self._handle.schema is None:
            raise UsageError(f"{self.name} has no schema")
        return departures_of(self._handle, self._handle.schema)

    @property
    def inspect(self) -> TableInspection:
        """The system tables about the table, as Arrow tables."""
        from sdb.client.tableinspection import TableInspection
        from sdb.query.run.api import sql

        handle = self._handle
        run = partial(sql, root=handle.root.location, tables={handle.name: handle})
        return TableInspection(handle.name, run)

    def timeline(
        self,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        *,
        time_field: str = "",
        buckets: int = 200,
    ) -> Timeline:
        """Report when the rows are, from metadata; no row is read.

        Parameters
        ----------
        since, until : str or datetime, optional
            The period; the whole time of the rows if not given.
        time_field : str
            The field with the time of a row; the obvious one if not given.
        buckets : int
            Maximum number of buckets.

        Returns
        -------
        Timeline
            For each bucket the rows that are certainly there and the most that may be:
            `least_rows` and `most_rows`; `to_arrow()` has a row for each.
        """
        from sdb import instants
        from sdb.table.inspect.timeline import timeline

        bounds = [None if each is None else instants.parse(each) for each in (since, until)]
        return timeline(self._handle, *bounds, time_field=time_field, buckets=buckets)

    def log(self) -> Iterator[LoggedVersion]:
        """Iterate over the versions, the newest first, see :func:`sdb.table.history.log.log`."""
        from sdb.table.history.log import log

        return log(self._handle)

    def show(self) -> ShownVersion:
        """Report what this version has changed, see :func:`sdb.table.history.log.show`."""
        from sdb.table.history.log import show

        return show(self._handle)

    def diff(self, other: Table | Given) -> TableDifference:
        """Compare this version with a later one, see :func:`sdb.table.history.diff.compare`."""
        from sdb.table.history.diff import compare

        view = other if isinstance(other, Table) else self.at(other)
        return compare(self._handle, view.handle)

    def _execute(self, text: str, options: WriteOptions) -> Executed:
        from sdb.statements.execute import execute

        (executed,) = execute(text, root=self._handle.root, **options)
        self._reopen()
        return executed

    def restore(self, reference: Given, **options: Unpack[RestoreOptions]) -> Restored:
        """Make the content of an old version new, in a separate version.

        Parameters
        ----------
        reference : str, int or datetime
            The version, as in :meth:`at`.
        branch : str
            The branch that gets it; this one if not given.
        author, message : str
            Recorded in the version.
        only_dropped : bool
            Whether a table that was not dropped is an error.
        """
        from sdb.table.history.restore import restore

        options.setdefault("branch", self._target)
        restored = restore(self._handle.root, self._handle.keys, reference, **options)
        self._reopen()
        return restored

    def undo(self, *, author: str = "", message: str = "", dry_run: bool = False) -> Undone:
        """Undo the last change, in a new version; see :func:`sdb.table.history.undo.undo`."""
        from sdb.table.history.undo import undo

        undone = undo(
            *self._place, branch=self._target, author=author, message=message, dry_run=dry_run
        )
        self._reopen()
        return undone

    def tag(self, name: str, reference: Given = "main", *, overwrite: bool = False) -> NamedVersion:
        """Name a version, which keeps it; with `overwrite` a tag that is there is moved."""
        from sdb.table.history import setrefs

        return setrefs.tag(*self._place, name, reference, overwrite=overwrite)

    def delete_tag(self, name: str) -> None:
        """Delete a tag."""
        from sdb.table.history import setrefs

        setrefs.delete_tag(*self._place, name)

    def branch(self, name: str, reference: Given = "main") -> NamedVersion:
        """Create a branch, see :func:`sdb.table.history.setrefs.branch`."""
        from sdb.table.history import setrefs

        return setrefs.branch(*self._place, name, reference)

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        from sdb.table.history import setrefs

        setrefs.delete_branch(*self._place, name)

    def merge(self, source: str, **options: Unpack[MergeOptions]) -> MergedBranch:
        """Merge a branch into this one.

        Parameters
        ----------
        source : str
            The branch whose changes are merged.
        into : str
            The branch that gets them; this one if not given.
        strategy, only : str
            How conflicts are resolved, and what is merged, as in ``sdb merge``.
        author, message : str
            Recorded in the version.
        confirm : callable
            Called with the number of rows that a strategy would drop; the merge ends if it returns
            False.
        """
        from sdb.table.history.merge import merge

        options.setdefault("into", self._target)
        merged = merge(*self._place, source, **options)
        self._reopen()
        return merged

    def fork(self, name: str, **options: Unpack[ForkOptions]) -> SentTable:
        """Copy this version to a new table.

        Parameters
        ----------
        name : str
            Its name, ``db.table``.
        share : bool
            Whether it shares the packfiles, instead of copies.
        author, message : str
            Recorded in its first version.
        progress : Progress
            Called with the number of bytes that were copied.
        """
        from sdb.table.history.fork import fork

        database, _, table = name.partition(".")
        return fork(self._handle, database, table, **options)

    def push(self, root: Location, **options: Unpack[PushOptions]) -> SentTable:
        """Send this version to another root.

        Parameters
        ----------
        root : path or str
            The other root.
        name : str
            The name of the table there; the same if not given.
        author, message : str
            Recorded in the version.
        progress : Progress
            Called with the number of bytes that were sent.
        """
        from sdb.table.catalog.root import table_root
        from sdb.table.history.fork import push

        return push(self._handle, table_root(root), **options)

    def refs(self) -> list[NamedVersion]:
        """Return the tags and branches."""
        from sdb.table.catalog import refs as namedversions

        return namedversions.refs(open_table(*self._place))

    @property
    def _target(self) -> str:
        """Name of the branch that is written to: a version of the past stays as it is."""
        if self._at in {"", "main"}:
            return "main"
        head = open_table(*self._place).state
        if head is None or self._at not in head.branches:
            raise UsageError(
                f"{self.name}@{self._at} is a version, which does not change",
                hint="the table without a version, and its branches, can be written to",
            )
        return self._at

    def _check_main(self) -> None:
        if self._target != "main":
            raise UsageError(f"{self.name}@{self._at}: this is about the whole table")

    def _reopen(self) -> None:
        self._handle = open_table(*self._place, branch=self._target)

    @property
    def _place(self) -> tuple[TableRoot, str, str]:
        keys = self._handle.keys
        return self._handle.root, keys.database, keys.table

    def validate(
        self, *, threads: int | None = None, progress: Progress | None = None
    ) -> TableReport:
        """Check every object and row, see :func:`sdb.table.maintenance.validate.validate_table`."""
        from sdb.progress import silent
        from sdb.table.maintenance.validate import validate_table

        return validate_table(self._handle, threads=threads, progress=progress or silent)

    def __repr__(self) -> str:
        """Show the name and the root."""
        name = f"{self.name}@{self._at}" if self._at else self.name
        return f"<Table {name} below {self._handle.root.location}>"
