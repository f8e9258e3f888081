"""Answers of a server as the records that the same calls return for a folder."""

from __future__ import annotations

from typing import cast

from sdb import instants
from sdb.errors import SdbError
from sdb.packfile.read.fields import FieldDescription
from sdb.packfile.rewrite.cuts import cluster_paths
from sdb.records import record
from sdb.statements.effects import Effect, Executed
from sdb.table.catalog.refs import NamedVersion
from sdb.table.catalog.storedqueries import QueryParam, StoredQuery
from sdb.table.catalog.views import View
from sdb.table.commit.schemas import ChangedSchema
from sdb.table.format.state import RowCounts, VersionChanges
from sdb.table.format.view import ViewVersion
from sdb.table.history.diff import TableDifference
from sdb.table.history.fork import SentTable
from sdb.table.history.log import LoggedVersion, ShownVersion
from sdb.table.history.merge import MergedBranch
from sdb.table.history.restore import Restored
from sdb.table.inspect.describe import TableFacts
from sdb.table.inspect.timeline import Timeline
from sdb.table.maintenance.compact import Compacted, CompactedRun, TimeShares
from sdb.table.schema.columns import TableSchema
from sdb.table.sync.status import InputState, InputStatus
from sdb.table.upkeep.actions import Action
from sdb.table.upkeep.maintain import Maintained
from sdb.table.upkeep.status import Need, TableStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

    Members: TypeAlias = dict[str, Any]


@record
class RemotePackfile:
    """A packfile, as a server describes it."""

    key: str
    rows: int | None
    size_bytes: int


@record
class RemoteState:
    """A version, as a server describes it."""

    version: int | None


@record
class RemoteHandle:
    """A version of a table of a server."""

    name: str
    state: RemoteState


def _us(text: str | None) -> int | None:
    return None if text is None else instants.parse(text)


def facts(members: Members) -> TableFacts:
    """Return the facts of a table."""
    path = members.get("newest_path")
    return TableFacts(
        members["database"],
        members["table"],
        members["version"],
        members["rows"],
        members["packfiles"],
        members["size_bytes"],
        None if path is None else tuple(path),
        _us(members.get("newest_at")),
        _us(members.get("synced_at")),
    )


def logged(members: Members) -> LoggedVersion:
    """Return a version in a log."""
    return LoggedVersion(
        members["version"],
        instants.parse(members["at"]),
        members["id"],
        members["operation"],
        members["author"],
        members["message"],
        members["rows"],
        members["bytes"],
        VersionChanges(**members["changes"]),
        tuple(members["parents"]),
        tuple(members["names"]),
    )


def _packfiles(listed: list[Members]) -> tuple[Descriptor, ...]:
    packs = [RemotePackfile(each["path"], each["rows"], each["bytes"]) for each in listed]
    return cast("tuple[Descriptor, ...]", tuple(packs))


def shown(members: Members) -> ShownVersion:
    """Return a version with all that it has changed."""
    return ShownVersion(
        members["table"],
        logged(members),
        members["packfiles"],
        _packfiles(members["added"]),
        _packfiles(members["removed"]),
        tuple(members["inputs"]),
    )


def _handle(members: Members) -> TableHandle:
    handle = RemoteHandle(members["table"], RemoteState(members["version"]))
    return cast("TableHandle", handle)


def _counts(members: Members | None) -> RowCounts | None:
    if members is None:
        return None
    return RowCounts(members["inserted"], members["updated"], members["deleted"])


def difference(members: Members) -> TableDifference:
    """Return what is different between two versions."""
    return TableDifference(
        _handle(members["before"]),
        _handle(members["after"]),
        _packfiles(members["added"]),
        _packfiles(members["removed"]),
        members["packfiles_same"],
        _counts(members["rows"]),
    )


def timeline(members: Members) -> Timeline:
    """Return rows by time."""
    return Timeline(
        tuple(members["time"]),
        instants.parse(members["since"]),
        instants.parse(members["until"]),
        *(members[name] for name in ("width_us", "least_rows", "most_rows", "uncounted_blocks")),
    )


def field(members: Members) -> FieldDescription:
    """Return a field."""
    return FieldDescription(tuple(members["path"]), tuple(members["types"]), members["rows"])


def named(members: Members) -> NamedVersion:
    """Return a tag or branch."""
    at_us = instants.parse(members["at"])
    return NamedVersion(members["kind"], members["name"], members["version"], at_us)


def restored(members: Members) -> Restored:
    """Return what a restore came to."""
    return Restored(members["version"], members["restored"], members["new"])


def sent(members: Members, url: str) -> SentTable:
    """Return what a fork or a push came to."""
    names = "version", "packfiles", "bytes", "sent", "sent_bytes", "new"
    return SentTable(members["table"], members.get("to", url), *[members[name] for name in names])


def compacted(members: Members) -> Compacted:
    """Return what a compaction came to."""
    runs = [
        CompactedRun(
            tuple(run["packfiles"]),
            run["packfile"] or "",
            run["rows"],
            run["input_bytes"],
            run["output_bytes"],
            run["copied_bytes"],
            run["moved_bytes"],
            run["packed_bytes"],
            run["clustered"],
            run["inputs_known"],
        )
        for run in members["runs"]
    ]
    times = members["blocks_at_a_moment"]
    return Compacted(
        members["version"],
        tuple(runs),
        members["packfiles_before"],
        members["packfiles_of_other_programs"],
        cluster_paths(members["cluster_by"]) if members["cluster_by"] else (),
        times and TimeShares(tuple(times["path"].split(".")), times["before"], times["after"]),
    )


def status(members: Members) -> TableStatus:
    """Return what a table needs."""
    own = {"table", "needs", "notes"}
    facts = {name: value for name, value in members.items() if name not in own}
    needs = tuple([Need(**need) for need in members["needs"]])
    return TableStatus(members["table"], needs, tuple(members["notes"]), facts)


def schema(members: Members) -> TableSchema | None:
    """Return the schema of a table."""
    value = members["schema"]
    return None if value is None else TableSchema.of_json(value)


def changed_schema(members: Members) -> ChangedSchema:
    """Return what a change of a schema came to."""
    return ChangedSchema(members["version"], schema(members), members["new"])


def maintained(members: Members) -> Maintained:
    """Return what a round of upkeep came to."""
    own = {"table", "action", "text", "version"}
    actions = [
        Action(
            numbers={name: value for name, value in each.items() if name not in own},
            **{name: each[name] for name in own},
        )
        for each in members["actions"]
    ]
    return Maintained(tuple(actions), tuple(map(SdbError, members["failures"])))


def merged(members: Members) -> MergedBranch:
    """Return what a merge came to."""
    return MergedBranch(
        members["version"],
        members["source"],
        members["base"],
        tuple(members["added"]),
        tuple(members["removed"]),
        members["new"],
        _counts(members["rows"]),
        members["rows_dropped"],
    )


def executed(members: Members, *, is_replayed: bool) -> Executed:
    """Return what a transaction came to."""
    versions = members["versions"]
    return Executed(
        tuple([_effect(each) for each in members["statements"]]),
        members["table"],
        members["version"],
        members["id"] or "",
        members["new"] and not is_replayed,
        is_dry=members["dry_run"],
        versions=versions if len(versions) > 1 else {},
    )


def _effect(members: Members) -> Effect:
    return Effect(**members)


def view(members: Members) -> View:
    """Return a view with its versions."""
    database, _, name = members["name"].partition(".")
    versions = tuple([_view_version(each) for each in reversed(members["versions"])])
    return View(database, name, _view_version(members), versions)


def stored_query(members: Members) -> StoredQuery:
    """Return a stored query; its text is empty where the token may not see it."""
    params = tuple(
        [QueryParam(each["name"], each["type"], each["default"]) for each in members["params"]]
    )
    text, description = members.get("sql") or "", members["description"] or ""
    return StoredQuery(members["name"], text, params, description, members["dialect"])


def _view_version(members: Members) -> ViewVersion:
    return ViewVersion(
        members["version"],
        members["id"],
        instants.parse(members["time"]),
        members["operation"],
        members.get("text") or "",
        members.get("author") or "",
        members.get("message") or "",
    )


def input_status(members: Members) -> InputStatus:
    """Return an input that a table knows."""
    return InputStatus(
        members["path"],
        members["etag"],
        members["number"],
        InputState(members["state"]),
        members.get("reason", "") or "",
    )
