"""Tables in Python: one table as it is, or as it was."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.table.catalog.handle import open_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.progress import Progress
    from sdb.query.tableinspection import TableInspection
    from sdb.query.writes.purged import Purged
    from sdb.query.writes.transaction import Executed
    from sdb.store.base import Location
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.refs import NamedVersion
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.versionref import Given
    from sdb.table.history.diff import TableDifference
    from sdb.table.history.fork import SentTable
    from sdb.table.history.log import LoggedVersion, ShownVersion
    from sdb.table.history.merge import MergedBranch
    from sdb.table.history.restore import Restored
    from sdb.table.insert.insert import Inserted
    from sdb.table.inspect.describe import TableDescription
    from sdb.table.maintenance.collected import Collected
    from sdb.table.maintenance.compact import Compacted
    from sdb.table.maintenance.expire import Expired
    from sdb.table.maintenance.validate import TableReport
    from sdb.table.sync.result import Synced
    from sdb.table.sync.status import InputStatus


class StoredTableView:
    """A table, as its index was when this was made; rows are those of the query's moment.

    That of :meth:`at` stays the same, and its rows are those of its version.

    Examples
    --------
    >>> t = sdb.connect("lake").table("web.gha")                # doctest: +SKIP
    >>> t.to_arrow(fields=["type"], since="1h")                 # doctest: +SKIP
    """

    def __init__(self, handle: TableHandle, *, at: str = "") -> None:
        self._handle = handle
        self._at = at

    def at(self, reference: Given) -> StoredTableView:
        """Give the table as it was at a version.

        Parameters
        ----------
        reference : str, int or datetime
            As in ``12``, ``-1`` (the one before the newest), ``"2026-11-01T00:00Z"``, ``"-1d"``, or
            the name of a tag or branch; see :mod:`sdb.table.format.versionref`.

        Returns
        -------
        StoredTableView
            The version, which stays the same whatever is committed.

        Raises
        ------
        BeforeFirstError, ExpiredError, UnknownReferenceError
            There is no such version.

        Examples
        --------
        >>> t = sdb.connect("lake").table("web.gha")            # doctest: +SKIP
        >>> t.at(-1).to_arrow()                                 # doctest: +SKIP
        """
        from sdb.table.format.versionref import parse_reference

        keys = self._handle.keys
        head = open_table(self._handle.root, keys.database, keys.table)
        wanted = parse_reference(reference)
        return StoredTableView(head.at(wanted), at=wanted.text)

    @property
    def version(self) -> int | None:
        """Number of the version; None: no `sdb` has written it."""
        state = self._handle.state
        return None if state is None else state.version

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return self._handle.name

    @property
    def handle(self) -> TableHandle:
        """The index, and what leads to the other objects."""
        return self._handle

    def describe(self) -> TableDescription:
        """Describe the table and its packfiles, see `sdb describe`."""
        from sdb.table.inspect.describe import describe_table

        return describe_table(self._handle)

    def append(self, inputs: Inputs, **options: Any) -> Inserted:  # noqa: ANN401
        """Insert rows, see :func:`sdb.table.insert.groupcommit.append`; it is then the new one."""
        from sdb.table.insert import groupcommit

        branch = options.pop("branch", None) or self._target
        found = groupcommit.append(*self._place, inputs, branch=branch, **options)
        self._reopen()
        return found

    def sync(self, **options: Any) -> Synced:  # noqa: ANN401
        """Take new inputs, see :func:`sdb.table.sync.sync.sync_table`, as :meth:`append` rows."""
        from sdb.table.sync.sync import sync_table

        found = sync_table(*self._place, **({"branch": self._target} | options))
        self._reopen()
        return found

    def compact(self, **options: Any) -> Compacted:  # noqa: ANN401
        """Merge small packfiles, see :func:`sdb.table.maintenance.compact.compact_table`."""
        from sdb.table.maintenance.compact import compact_table

        self._check_main()
        found = compact_table(*self._place, **options)
        self._reopen()
        return found

    def expire(
        self,
        *,
        keep_last: int | None = None,
        keep_within: str | float | None = None,
        keep_tags: Sequence[str] = (),
        all_but_head: bool = False,
        dry_run: bool = False,
    ) -> Expired:
        """Expire versions, see :func:`sdb.table.maintenance.expire.policy_of` for what is kept."""
        from sdb.table.maintenance.expire import expire, policy_of

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        policy = policy_of(
            root,
            keys,
            keep_last=keep_last,
            keep_within=keep_within,
            keep_tags=keep_tags,
            all_but_head=all_but_head,
        )
        found = expire(root, keys.database, keys.table, policy, dry_run=dry_run)
        self._reopen()
        return found

    def gc(self, *, grace: str | float = "24h", dry_run: bool = False) -> Collected:
        """Delete what no version needs, see :func:`sdb.table.maintenance.gc.collect`."""
        from sdb.table.maintenance.expire import seconds_of
        from sdb.table.maintenance.gc import collect

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        seconds = seconds_of(grace) if isinstance(grace, str) else grace
        found = collect(root, keys.database, keys.table, grace_seconds=seconds, dry_run=dry_run)
        self._reopen()
        return found

    def purge(self, where: str, **options: Any) -> Purged:  # noqa: ANN401 - its own
        """Erase rows for good, see :func:`sdb.query.writes.purge.purge`; this is what is left."""
        from sdb.query.writes.purge import purge

        self._check_main()
        root, keys = self._handle.root, self._handle.keys
        found = purge(root, keys.database, keys.table, where, **options)
        self._reopen()
        return found

    def inputs(self, *, seek: str = "", check: bool = False) -> Iterator[InputStatus]:
        """Go over the inputs, see :func:`sdb.table.sync.status.input_states`."""
        from sdb.table.sync.status import input_states

        return input_states(self._handle, seek=seek, check=check)

    @property
    def inspect(self) -> TableInspection:
        """The system tables about the table, as Arrow tables."""
        from sdb.query.tableinspection import TableInspection

        return TableInspection(self._handle)

    def log(self) -> Iterator[LoggedVersion]:
        """Go over the versions, the newest first, see :func:`sdb.table.history.log.log`."""
        from sdb.table.history.log import log

        return log(self._handle)

    def show(self) -> ShownVersion:
        """Tell what this version has changed, see :func:`sdb.table.history.log.show`."""
        from sdb.table.history.log import show

        return show(self._handle)

    def diff(self, other: StoredTableView | Given) -> TableDifference:
        """Compare this version with a later one, see :func:`sdb.table.history.diff.compare`."""
        from sdb.table.history.diff import compare

        view = other if isinstance(other, StoredTableView) else self.at(other)
        return compare(self._handle, view.handle)

    def update(
        self,
        assignments: Mapping[str, str],
        where: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Executed:
        """Set fields of rows, see `UPDATE`; this is the new version then.

        Parameters
        ----------
        assignments : mapping
            For each path, as in ``"a.b"``, the expression of its value.
        where : str, optional
            The condition; all rows without it.
        options
            Those of :func:`sdb.execute`.

        Returns
        -------
        Executed
            What was done.

        Examples
        --------
        >>> t.update({"actor.ip": "MISSING"}, "id = 5")         # doctest: +SKIP
        """
        setting = ", ".join(f"{path} = {value}" for path, value in assignments.items())
        return self._execute(f"UPDATE {self._written} SET {setting}", where, options)  # noqa: S608

    def delete(self, where: str | None = None, **options: Any) -> Executed:  # noqa: ANN401
        """Delete rows for which a condition is TRUE, or all; see :meth:`update`."""
        return self._execute(f"DELETE FROM {self._written}", where, options)  # noqa: S608

    @property
    def _written(self) -> str:
        keys, branch = self._handle.keys, self._target
        behind = "" if branch == "main" else f"@'{branch}'"
        return f"{_quoted(keys.database)}.{_quoted(keys.table)}{behind}"

    def _execute(self, text: str, where: str | None, options: dict[str, Any]) -> Executed:
        from sdb.query.writes.execute import execute

        text += "" if where is None else f" WHERE {where}"
        (found,) = execute(text, root=self._handle.root, **options)
        self._reopen()
        return found

    def restore(self, reference: Given, **options: Any) -> Restored:  # noqa: ANN401
        """Make old content a new version, see :func:`sdb.table.history.restore.restore`."""
        from sdb.table.history.restore import restore

        options = {"branch": self._target} | options
        found = restore(*self._place, reference, **options)
        self._reopen()
        return found

    def tag(self, name: str, reference: Given = "main", **options: Any) -> NamedVersion:  # noqa: ANN401
        """Give a version a name, see :func:`sdb.table.history.setrefs.tag`."""
        from sdb.table.history import setrefs

        return setrefs.tag(*self._place, name, reference, **options)

    def delete_tag(self, name: str) -> None:
        """Take a tag away, see :func:`sdb.table.history.setrefs.delete_tag`."""
        from sdb.table.history import setrefs

        setrefs.delete_tag(*self._place, name)

    def branch(self, name: str, reference: Given = "main") -> NamedVersion:
        """Begin a branch, see :func:`sdb.table.history.setrefs.branch`."""
        from sdb.table.history import setrefs

        return setrefs.branch(*self._place, name, reference)

    def delete_branch(self, name: str) -> None:
        """Take a branch away, see :func:`sdb.table.history.setrefs.delete_branch`."""
        from sdb.table.history import setrefs

        setrefs.delete_branch(*self._place, name)

    def merge(self, source: str, **options: Any) -> MergedBranch:  # noqa: ANN401
        """Merge a branch, see :func:`sdb.table.history.merge.merge`; it is then the new version."""
        from sdb.table.history.merge import merge

        found = merge(*self._place, source, **({"into": self._target} | options))
        self._reopen()
        return found

    def fork(self, name: str, **options: Any) -> SentTable:  # noqa: ANN401
        """Make a table of its own of this version, see :func:`sdb.table.history.fork.fork`."""
        from sdb.table.history.fork import fork

        database, _, table = name.partition(".")
        return fork(self._handle, database, table, **options)

    def push(self, root: Location, **options: Any) -> SentTable:  # noqa: ANN401
        """Send this version to another root, see :func:`sdb.table.history.fork.push`."""
        from sdb.table.catalog.root import table_root
        from sdb.table.history.fork import push

        return push(self._handle, table_root(root), **options)

    def refs(self) -> list[NamedVersion]:
        """Give the tags and branches, see :func:`sdb.table.catalog.refs.refs`."""
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

    def to_arrow(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows into an Arrow table.

        Parameters
        ----------
        fields : sequence of str, optional
            Names of the top-level fields; all if not given.
        since, until : str or datetime, optional
            Only rows with a time from `since` on and before `until`.
        time_field : str or sequence of str, optional
            Path of that time; without it the obvious one.
        limit : int, optional
            At most so many rows.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        from sdb import bounds
        from sdb.query.api import sql

        bounds.ROWS.check(limit)
        columns = "*" if fields is None else ", ".join(map(_quoted, fields))
        keys = self._handle.keys
        text = f"SELECT {columns} FROM {_quoted(keys.database)}.{_quoted(keys.table)}"  # noqa: S608
        if limit is not None:
            text += f" LIMIT {limit}"
        options: dict[str, Any] = {"since": since, "until": until, "time_field": time_field}
        options["root"] = self._handle.root.location
        if self._at:
            options["tables"] = {self.name: self._handle}
        with sql(text, **options) as result:
            return result.to_arrow()

    def __repr__(self) -> str:
        """Show the name and the root."""
        name = f"{self.name}@{self._at}" if self._at else self.name
        return f"<StoredTableView {name} below {self._handle.root.location}>"


def _quoted(name: str) -> str:
    """Write a name as queries have it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
