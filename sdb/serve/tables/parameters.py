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
