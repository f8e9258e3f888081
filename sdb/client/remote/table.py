"""A table of a server, or a version of one."""

from __future__ import annotations

from typing import cast
from urllib.parse import quote

from sdb.client.calls import TableCalls
from sdb.client.remote import answers
from sdb.client.remote.faults import Refused, refused
from sdb.client.tableinspection import TableInspection
from sdb.errors import ConflictError, ExistsError, SdbError, UsageError
from sdb.table.format.versionref import parse_reference
from sdb.table.history.merge import MergeConflictError
from sdb.table.history.undo import Undone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any, Unpack

    from sdb.client.options import (
        BranchAppendOptions,
        CompactOptions,
        ForkOptions,
        MaintainOptions,
        MergeOptions,
        PushOptions,
        RestoreOptions,
        SchemaOptions,
        WriteOptions,
    )
    from sdb.client.remote.connection import RemoteConnection
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.read.fields import FieldDescription
    from sdb.query.result.result import Result
    from sdb.statements.effects import Executed
    from sdb.store.base import Location
    from sdb.table.catalog.refs import NamedVersion
    from sdb.table.commit.schemas import ChangedSchema
    from sdb.table.format.versionref import Given
    from sdb.table.history.diff import TableDifference
    from sdb.table.history.fork import SentTable
    from sdb.table.history.log import LoggedVersion, ShownVersion
    from sdb.table.history.merge import MergedBranch
    from sdb.table.history.restore import Restored
    from sdb.table.insert.insert import Inserted
    from sdb.table.inspect.describe import TableFacts
    from sdb.table.inspect.timeline import Timeline
    from sdb.table.maintenance.compact import Compacted
    from sdb.table.schema.columns import TableSchema
    from sdb.table.sync.status import InputStatus
    from sdb.table.upkeep.maintain import Maintained
    from sdb.table.upkeep.status import TableStatus

_MAIN = "main"


class RemoteTable(TableCalls):
    """A table of a server: what :class:`sdb.Table` is for a folder, as far as rights go.

    * ``name``: ``db.table``.
    * ``at``: The version; the newest if empty.
    """

    def __init__(self, connection: RemoteConnection, name: str, *, at: str = "") -> None:
        self._connection, self._name, self._at = connection, name, at
        self._reload()

    def _reload(self) -> None:
        self._facts = answers.facts(self._get(""))

    @property
    def _path(self) -> str:
        return f"/v1/tables/{self.full_name}"

    @property
    def full_name(self) -> str:
        """Its name with the version behind it."""
        return f"{self._name}@{self._at}" if self._at else self._name

    def _get(self, below: str, **params: object) -> dict[str, Any]:
        reply = self._connection.transport.request("GET", self._path + below, params=params)
        return cast("dict[str, Any]", reply.json())

    def at(self, reference: Given) -> RemoteTable:
        """Return the table as it was at a version."""
        return RemoteTable(self._connection, self._name, at=parse_reference(reference).text)

    @property
    def version(self) -> int | None:
        """Number of the version."""
        return self._facts.version

    @property
    def name(self) -> str:
        """The name, ``db.table``."""
        return self._name

    @property
    def facts(self) -> TableFacts:
        """The facts of the table when it was opened."""
        return self._facts

    @property
    def fields(self) -> tuple[FieldDescription, ...]:
        """The fields with types and numbers of rows, as far as the packfiles have them."""
        listed = self._connection.paged(f"{self._path}/fields", "fields")
        return tuple([answers.field(each) for each in listed])

    def _read(self, text: str, **choice: Any) -> Result:  # noqa: ANN401 - of `sdb.sql`
        return self._connection.sql(text, at=self._at, **choice)

    @property
    def inspect(self) -> TableInspection:
        """The system tables about the table, as Arrow tables."""
        return TableInspection(self.full_name, self._connection.sql)

    def inputs(self, *, seek: str = "", check: bool = False) -> Iterator[InputStatus]:
        """Iterate over the inputs."""
        if check:
            raise refused("check=", "inputs are where the root is")
        listed = self._connection.paged(f"{self._path}/inputs", "inputs", after=seek)
        return (answers.input_status(each) for each in listed)

    def timeline(
        self,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        *,
        time_field: str = "",
        buckets: int = 200,
    ) -> Timeline:
        """Report when the rows are; see :meth:`Table.timeline`."""
        from sdb import instants

        bounds = {"since": since, "until": until}
        asked = {k: instants.text(instants.parse(v)) for k, v in bounds.items() if v is not None}
        more = {"time_field": time_field} if time_field else {}
        return answers.timeline(self._get("/timeline", **asked, **more, buckets=buckets))

    def log(self) -> Iterator[LoggedVersion]:
        """Iterate over the versions, the newest first."""
        listed = self._connection.paged(f"{self._path}/versions", "versions")
        return (answers.logged(each) for each in listed)

    def show(self) -> ShownVersion:
        """Report what this version has changed."""
        return self._shown(self.version)

    def shown(self, logged: LoggedVersion) -> ShownVersion:
        """Report what a version in the log has changed."""
        return self._shown(logged.version)

    def _shown(self, version: int | None) -> ShownVersion:
        return answers.shown(self._get(f"/versions/{version}"))

    def diff(self, other: RemoteTable | Given) -> TableDifference:
        """Compare this version with a later one."""
        to = other.version if isinstance(other, RemoteTable) else parse_reference(other).text
        if self.version is None or to is None:
            raise refused("comparing", "another program has written the version")
        path, asked = f"/v1/tables/{self._name}/diff", {"from": self.version, "to": to}
        reply = self._connection.transport.request("GET", path, params=asked)
        return answers.difference(reply.json())

    def append(self, inputs: Inputs, **options: Unpack[BranchAppendOptions]) -> Inserted:
        """Insert rows; `inputs` and options as in :meth:`sdb.Connection.append`."""
        branch = options.pop("branch", "") or self._target
        name = self._name if branch == _MAIN else f"{self._name}@{branch}"
        inserted = self._connection.append(name, inputs, **cast("dict[str, Any]", options))
        self._reload()
        return inserted

    def _execute(self, text: str, options: WriteOptions) -> Executed:
        (executed,) = self._connection.execute(text, **options)
        self._reload()
        return executed

    def restore(self, reference: Given, **options: Unpack[RestoreOptions]) -> Restored:
        """Make the content of an old version new, in a separate version."""
        options.setdefault("branch", self._target)
        restored = self._connection.restore(self._name, reference, **options)
        self._reload()
        return restored

    def _ref(self, kind: str, name: str) -> str:
        return f"/v1/tables/{self._name}/{kind}/{quote(name, safe='')}"

    def _put(self, path: str, reference: Given, headers: dict[str, str]) -> NamedVersion:
        text = parse_reference(reference).text
        members = {"at": "" if text == _MAIN else text}
        reply = self._connection.transport.request("PUT", path, members=members, headers=headers)
        return answers.named(reply.json())

    def tag(self, name: str, reference: Given = "main", *, overwrite: bool = False) -> NamedVersion:
        """Name a version, which keeps it; with `overwrite` a tag that is there is moved."""
        path = self._ref("tags", name)
        if overwrite:
            try:
                return self._put(path, reference, {"if-match": "*"})
            except ConflictError:
                pass  # it is new
        try:
            return self._put(path, reference, {})
        except SdbError as error:
            if "does not say which version" not in error.message:
                raise
            raise ExistsError(
                f"{self._name} has a tag {name!r}", hint="overwrite=True moves it"
            ) from None

    def delete_tag(self, name: str) -> None:
        """Delete a tag."""
        self._delete(self._ref("tags", name))

    def branch(self, name: str, reference: Given = "main") -> NamedVersion:
        """Create a branch."""
        return self._put(self._ref("branches", name), reference, {})

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        self._delete(self._ref("branches", name))

    def _delete(self, path: str) -> None:
        self._connection.transport.request(
            "DELETE", path, headers={"if-match": "*"}, may_repeat=False
        )

    def merge(self, source: str, **options: Unpack[MergeOptions]) -> MergedBranch:
        """Merge a branch into this one; see :meth:`sdb.Table.merge`."""
        if options.get("commit_id"):
            raise refused("commit_id=", "the server has no such member")
        into = options.get("into") or self._target
        confirm = options.get("confirm")
        members = {
            name: options.get(name, "") for name in ("strategy", "only", "author", "message")
        }
        path = f"/v1/tables/{self._name}{'' if into == _MAIN else f'@{into}'}/merge"
        if confirm is not None and members["strategy"]:
            try:
                return self._merged(path, source, members | {"strategy": ""})
            except MergeConflictError as error:
                if not confirm(error.row_count):
                    raise
        return self._merged(path, source, members)

    def _merged(self, path: str, source: str, members: dict[str, object]) -> MergedBranch:
        merged = answers.merged(self._connection.changed(path, {"source": source, **members}))
        self._reload()
        return merged

    def undo(self, *, author: str = "", message: str = "", dry_run: bool = False) -> Undone:
        """Undo the last change, in a new version; see :meth:`sdb.Table.undo`."""
        branch = self._target
        head = self if branch == self._at else RemoteTable(self._connection, self._name)
        head._reload()  # noqa: SLF001 - another one may have written since it was opened
        if dry_run:
            return Undone(next(head.log()), None)
        done = self._changed(
            f"{head._path}/undo",  # noqa: SLF001 - as above
            {"author": author, "message": message},
            {"if-match": f'"{head.version}"'},
        )
        return Undone(head._shown(done["undone"]).logged, answers.restored(done))  # noqa: SLF001

    def fork(self, name: str, **options: Unpack[ForkOptions]) -> SentTable:
        """Copy this version to a new table of the server; see :meth:`sdb.Table.fork`."""
        return self._sent("/fork", {"as": name}, options)

    def push(self, root: Location, **options: Unpack[PushOptions]) -> SentTable:
        """Send this version to another root, by the name that ``sdb serve --push-to`` gives it."""
        name = options.pop("name", "")
        return self._sent("/push", {"to": str(root), "as": name}, options)

    def _sent(self, below: str, members: dict[str, object], options: Any) -> SentTable:  # noqa: ANN401
        options.pop("progress", None)  # the server copies
        sent = self._changed(self._path + below, members | options)
        return answers.sent(sent, self._connection.transport.url)

    def compact(self, **options: Unpack[CompactOptions]) -> Compacted:
        """Merge small packfiles; see :meth:`sdb.Table.compact`."""
        if options.pop("cluster_by", None) is not None:
            raise refused("cluster_by=", "the server sorts by what the definition says")
        options.pop("progress", None)
        return answers.compacted(self._changed(f"{self._path}/compact", dict(options)))

    @property
    def schema(self) -> TableSchema | None:
        """The schema of this version; None: it has none."""
        return answers.schema(self._get("/schema"))

    def infer_schema(self) -> TableSchema:
        """Return a schema that all rows conform to; nothing is stored."""
        return cast("TableSchema", answers.schema(self._get("/schema", infer="true")))

    def set_schema(
        self,
        schema: TableSchema | dict[str, object] | list[object] | str | None,
        **options: Unpack[SchemaOptions],
    ) -> ChangedSchema:
        """Set the schema, in a separate version; see :meth:`sdb.Table.set_schema`."""
        from sdb.statements.schemasetting import read_schema

        branch = self._target
        wished = read_schema(schema)
        path = f"/v1/tables/{self._name}{'' if branch == _MAIN else f'@{branch}'}/schema"
        members = {"schema": None if wished is None else wished.as_dict(), **options}
        return answers.changed_schema(self._changed(path, members, {"if-match": "*"}, "PUT"))

    def maintain(self, **options: Unpack[MaintainOptions]) -> Maintained:
        """Keep the table small; see :meth:`sdb.Table.maintain`."""
        if self._target != _MAIN:
            raise UsageError(f"{self.full_name}: upkeep is of a table, and of no branch")
        tell = options.get("tell")
        members = {"dry_run": options.get("dry_run", False), "author": options.get("author", "")}
        for name, value in options.items():
            if value and name not in {*members, "tell"}:
                raise refused(f"{name}=", "the server has its own limits")
        done = answers.maintained(self._changed(f"{self._path}/maintain", members))
        if tell is not None:
            for action in done.actions:
                tell(action)
        return done

    def status(self, *, exact: bool = False) -> TableStatus:
        """Report what the table needs; see :meth:`sdb.Table.status`."""
        if exact:
            raise refused("exact=", "the server has no such member")
        return answers.status(self._get("/status"))

    def _changed(
        self,
        path: str,
        members: Mapping[str, object],
        headers: dict[str, str] | None = None,
        method: str = "POST",
    ) -> dict[str, Any]:
        """Ask for a change that is not sent again: the second time would be another change."""
        reply = self._connection.transport.request(
            method, path, members=members, headers=headers or {}, may_repeat=False
        )
        self._reload()
        return cast("dict[str, Any]", reply.json())

    def refs(self) -> list[NamedVersion]:
        """Return the tags and branches."""
        plain = f"/v1/tables/{self._name}"
        request = self._connection.transport.request
        listed = [
            *request("GET", f"{plain}/branches").json()["branches"],
            *request("GET", f"{plain}/tags").json()["tags"],
        ]
        return [answers.named(each) for each in listed]

    @property
    def _target(self) -> str:
        if self._at in {"", _MAIN}:
            return _MAIN
        if self._at not in {ref.name for ref in self.refs() if ref.kind == "branch"}:
            raise UsageError(
                f"{self.full_name} is a version, which does not change",
                hint="the table without a version, and its branches, can be written to",
            )
        return self._at

    # What works on the objects of a table, and not on its rows

    handle = snapshot = Refused("reading the index")
    check_schema = Refused("checking a schema", "all rows are read for it")
    lazy = Refused(
        "a lazy frame of {name}",
        "it reads packfiles",
        "sql() with WHERE, or to_polars(fields=..., since=...)",
    )
    describe = Refused(
        "describing the packfiles of {name}",
        "a description has the trailers of packfiles",
        "facts, fields, log() and inspect.packfiles() are there",
    )
    sync = Refused("syncing {name}", "its inputs are files where the root is")
    export = Refused("exporting {name}")
    expire = Refused("expiring versions of {name}", hint="VACUUM by execute()")
    gc = Refused("collecting objects of {name}", hint="VACUUM by execute()")
    purge = Refused("purging {name}")
    splits = Refused("splitting {name}")
    validate = Refused("validating {name}")

    def __repr__(self) -> str:
        """Show the name and the server."""
        return f"<Table {self.full_name} of {self._connection.transport.url}>"
