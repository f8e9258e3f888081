"""Members of requests about tables: what the URL of each may have, and its body."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

_MOST = 10_000

Limit = Annotated[int, Meta(ge=1, le=_MOST, description="maximum number of items")]
Page = Annotated[str, Meta(description="where to go on: `next` of an answer has it")]
Since = Annotated[str, Meta(description="only from this time on, as `2026-11-01` or `-1h`")]
Until = Annotated[str, Meta(description="only before this time")]
TimeField = Annotated[str, Meta(description="where the time of a row is; else the obvious field")]
Where = Annotated[str, Meta(description="only rows for which this condition of SQL is TRUE")]
Author = Annotated[str, Meta(description="recorded in the version; else the name of the token")]
Message = Annotated[str, Meta(description="recorded in the version")]
Step = Annotated[str, Meta(description="width of a bucket, as `5m` or `1d`; else a round one")]
After = Annotated[str, Meta(description="the newest version that is known: `57`")]


class TablesParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for tables."""

    q: Annotated[str, Meta(description="only tables whose names have this part")] = ""
    limit: Limit = 1000
    page: Page = ""


class RowsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request that inserts rows: how their times are read."""

    times: Annotated[
        Literal["all", "rfc3339", "none"], Meta(description="which texts are times")
    ] = "all"
    timezone: Annotated[str, Meta(description="zone of times that name none; else UTC")] = ""
    time_field: Annotated[
        list[str], Meta(description="fields and the forms of their times, as `ts:unix_ms`")
    ] = []


class ViewsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for views."""

    q: Annotated[str, Meta(description="only views whose names have this part")] = ""


class VersionsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for versions."""

    limit: Limit = 100
    before: Annotated[int, Meta(ge=0, description="only versions before this one; 0: all")] = 0
    page: Page = ""


class DiffParams(msgspec.Struct, forbid_unknown_fields=True, rename={"from_": "from", "by": "key"}):
    """Members of a request for a difference."""

    from_: Annotated[str, Meta(description="the earlier version: `12`, `-1d`, a tag or a branch")]
    to: Annotated[str, Meta(description="the later version; else the one that is named")] = ""
    rows: Annotated[bool, Meta(description="whether to list rows, with `+`, `-` and `~`")] = False
    by: Annotated[str, Meta(description="fields that tell rows apart, with commas")] = ""
    limit: Limit = 1000


class FieldsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for fields."""

    limit: Limit = 1000
    page: Page = ""


class InputsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for inputs."""

    limit: Limit = 1000
    after: Annotated[str, Meta(description="only inputs with paths from this one on")] = ""
    page: Page = ""


class PackfilesParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for packfiles."""

    since: Since = ""
    until: Until = ""
    where: Where = ""
    time_field: TimeField = ""
    limit: Limit = 1000
    page: Page = ""


class TimelineParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for a timeline."""

    since: Since = ""
    until: Until = ""
    time_field: TimeField = ""
    buckets: Annotated[int, Meta(ge=1, le=10_000, description="maximum number of items")] = 200


class HitsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for a histogram."""

    since: Since = ""
    until: Until = ""
    where: Where = ""
    time_field: TimeField = ""
    step: Step = ""
    by: Annotated[str, Meta(description="a field: each of its values is counted apart")] = ""
    now: Annotated[str, Meta(description="the present, which times such as `-1h` count from")] = ""
    format: Annotated[str, Meta(description="as in queries; else `json`")] = ""


class FacetsParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for frequent values."""

    since: Since = ""
    until: Until = ""
    where: Where = ""
    time_field: TimeField = ""
    fields: Annotated[
        tuple[str, ...], Meta(description="the fields, with commas; else the first with texts")
    ] = ()
    limit: Annotated[int, Meta(ge=1, le=1000, description="maximum number of values a field")] = 10
    now: Annotated[str, Meta(description="the present, which times such as `-1h` count from")] = ""
    format: Annotated[str, Meta(description="as in queries; else `json`")] = ""


class TailParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for rows as they come."""

    after: Annotated[
        str, Meta(description="a version, or the id of an event; else the newest version")
    ] = ""
    where: Where = ""
    fields: Annotated[tuple[str, ...], Meta(description="only these, with commas; else all")] = ()


class TableChangesParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for the changes of a table."""

    after: Annotated[int, Meta(ge=0, description="the newest version that is known")] = 0
    wait: Annotated[str, Meta(description="for how long to wait for one, at most `60s`")] = "0s"


class ChangesParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for the changes of tables."""

    table: Annotated[
        tuple[str, ...], Meta(description="tables, or patterns such as `web.*`; else all")
    ] = ()
    after: Annotated[
        str, Meta(description="a version of the one table, or `after` of an answer; else now")
    ] = ""
    wait: Annotated[str, Meta(description="for how long to wait for one, at most `60s`")] = "0s"


class RefBody(msgspec.Struct, forbid_unknown_fields=True):
    """A tag or branch to make."""

    at: Annotated[
        str, Meta(description="the version: `12`, `-1d`, a tag or a branch; else the newest")
    ] = ""


class RestoreBody(msgspec.Struct, forbid_unknown_fields=True):
    """A version to restore."""

    at: Annotated[str, Meta(min_length=1, description="the version: `12`, `-1d`, a tag")]
    author: Author = ""
    message: Message = ""


class PromoteBody(msgspec.Struct, forbid_unknown_fields=True):
    """A version whose content a branch gets."""

    source: Annotated[str, Meta(min_length=1, description="the branch, tag or version")]
    author: Author = ""
    message: Message = ""


class UndoBody(msgspec.Struct, forbid_unknown_fields=True):
    """A change that is taken back: the last one."""

    author: Author = ""
    message: Message = ""


class DescriptionBody(msgspec.Struct, forbid_unknown_fields=True):
    """Facts of a table for people; those that are not named stay."""

    description: Annotated[
        str | None, Meta(description="what the table has; empty: it has no description")
    ] = None
    steward: Annotated[
        str | None, Meta(description="who answers questions about it; empty: nobody")
    ] = None


class SchemaParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for a schema."""

    infer: Annotated[
        bool, Meta(description="whether to read all rows, for one that all of them conform to")
    ] = False


class SchemaBody(msgspec.Struct, forbid_unknown_fields=True):
    """A schema that a table gets."""

    schema: Annotated[
        dict[str, object] | None,
        Meta(description="the schema, as GET answers it; null: the table has none from then on"),
    ] = None
    infer: Annotated[
        bool,
        Meta(description="whether to begin one that all rows conform to"),
    ] = False
    mode: Annotated[
        Literal["", "observe", "quarantine", "reject"],
        Meta(description="what becomes of rows that depart; else as the schema says"),
    ] = ""
    author: Author = ""
    message: Message = ""


class DatabaseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Facts of a database for people."""

    owner: Annotated[str, Meta(max_length=1000, description="whose it is")] = ""
    steward: Annotated[str, Meta(max_length=1000, description="who answers questions")] = ""
    description: Annotated[str, Meta(max_length=10_000, description="what it has")] = ""


class ForkBody(msgspec.Struct, forbid_unknown_fields=True, rename={"name": "as"}):
    """A table to make of another one."""

    name: Annotated[str, Meta(min_length=1, description="the new table, `db.new`")]
    share: Annotated[
        bool, Meta(description="whether to refer to the packfiles of the other table, not to copy")
    ] = False
    author: Author = ""
    message: Message = ""


class PushBody(msgspec.Struct, forbid_unknown_fields=True, rename={"name": "as"}):
    """A root that gets a table."""

    to: Annotated[str, Meta(min_length=1, description="the name of a root, of `--push-to`")]
    name: Annotated[str, Meta(description="the table there, `db.new`; else of the same name")] = ""
    author: Author = ""
    message: Message = ""


class CompactBody(msgspec.Struct, forbid_unknown_fields=True):
    """A compaction."""

    most_bytes: Annotated[
        int, Meta(ge=0, description="how many bytes to merge at most; 0: all of them")
    ] = 0
    dry_run: Annotated[bool, Meta(description="whether to tell only what would be merged")] = False
    author: Author = ""
    message: Message = ""


class MaintainBody(msgspec.Struct, forbid_unknown_fields=True):
    """A round of upkeep."""

    dry_run: Annotated[bool, Meta(description="whether to tell only what would be done")] = False
    author: Author = ""


class SearchParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a search."""

    q: Annotated[str, Meta(min_length=1, description="a part of a name, field or description")]
    kind: Annotated[
        Literal["", "table", "view", "field"], Meta(description="only what is of this kind")
    ] = ""
    limit: Limit = 100


class AuditParams(msgspec.Struct, forbid_unknown_fields=True):
    """Members of a request for the audit log."""

    token: Annotated[str, Meta(description="only requests of the token of this name")] = ""
    path: Annotated[str, Meta(description="only requests whose path has this part")] = ""
    limit: Limit = 100


class TransactionBody(msgspec.Struct, forbid_unknown_fields=True):
    """A transaction to begin."""

    expires: Annotated[str, Meta(description="for how long it waits, at most `12h`")] = "1h"
    message: Message = ""


class StagedRowsParams(RowsParams, forbid_unknown_fields=True, kw_only=True):
    """Members of a request that stages rows."""

    table: Annotated[
        str, Meta(min_length=1, description="the table, `web.gha`, or a branch, `web.gha@dev`")
    ]


class StagedFilesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Files whose rows are staged."""

    table: Annotated[
        str, Meta(min_length=1, description="the table, `web.gha`, or a branch, `web.gha@dev`")
    ]
    files: Annotated[
        list[str],
        Meta(min_length=1, max_length=1000, description="files below the root, as `in/a.json.gz`"),
    ]


class CommitBody(msgspec.Struct, forbid_unknown_fields=True):
    """A transaction that is committed."""

    reads: Annotated[
        dict[str, Annotated[int, Meta(ge=0)]],
        Meta(description='versions that tables must have still, as `{"web.gha": 57}`'),
    ] = msgspec.field(default_factory=dict)
    message: Message = ""


class MergeBody(msgspec.Struct, forbid_unknown_fields=True):
    """A branch to merge."""

    source: Annotated[str, Meta(min_length=1, description="the branch, or a version")]
    strategy: Annotated[
        Literal["", "source", "dest"],
        Meta(description="what counts where both have changed the same; else that is an error"),
    ] = ""
    only: Annotated[str, Meta(description="a pattern of keys: nothing else is merged")] = ""
    author: Author = ""
    message: Message = ""


class ExecBody(msgspec.Struct, forbid_unknown_fields=True):
    """Statements that change tables."""

    sql: Annotated[str, Meta(min_length=1, description="one statement, or one transaction")]
    params: Annotated[dict[str, object], Meta(description="values of `$name`")] = msgspec.field(
        default_factory=dict
    )
    author: Author = ""
    message: Message = ""
    dry_run: Annotated[bool, Meta(description="whether to count rows only")] = False
    dialect: Annotated[
        Literal["", "standard", "sneller"], Meta(description="what SQL means; else `standard`")
    ] = ""
