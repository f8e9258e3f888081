"""The options that methods of tables pass on, for type checkers and editors alone.

This module is never loaded by a running program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from threading import Event
from typing import TypedDict

from sdb._core import RejectedBatch
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.arguments import Nulls
from sdb.packfile.trailer.sparseindex import Path
from sdb.packfile.write.malformed import Rejected
from sdb.progress import Progress
from sdb.table.catalog.handle import TableHandle
from sdb.table.upkeep.actions import Action
from sdb.times import Times

Params = Mapping[str, object] | None
"""Values of the parameters of a statement."""


class SqlOptions(TypedDict, total=False):
    """Options of `sdb.sql`, without the parameters and the root."""

    threads: int | None
    memory_bytes: int | None
    prune: bool
    typed: bool
    strict: bool
    since: str | datetime | None
    until: str | datetime | None
    time_field: str | Sequence[str] | None
    at: str
    dialect: str | None
    format: str | None
    times: Times | str
    on_error: str
    tables: Mapping[str, TableHandle] | None
    progress: Progress


class ExecuteOptions(TypedDict, total=False):
    """Options of `sdb.execute`, without the parameters and the root."""

    author: str
    message: str
    txn_id: str
    dry_run: bool
    dialect: str | None
    threads: int | None
    memory_bytes: int | None
    progress: Progress


class WriteOptions(ExecuteOptions, total=False):
    """The same with the parameters."""

    params: Mapping[str, object] | None


class PackingOptions(TypedDict, total=False):
    """Options of packing that tables leave to their callers."""

    algorithm: str
    level: int | str | None
    block_bytes: int
    align_bytes: int
    max_row_bytes: int | None
    threads: int | None
    hints: bytes | None
    format: str | None
    nulls: Nulls
    time_fields: Sequence[Path]
    times: Times | str
    on_error: Callable[[Rejected], None] | str | None
    on_errors: Callable[[RejectedBatch], None] | None
    verify: bool
    stats: StatisticsChoice | str | Sequence[str | Sequence[str | None]]
    progress: Progress


class AppendOptions(PackingOptions, total=False):
    """Options of `Connection.append`."""

    txn_id: str
    author: str
    message: str
    partition: Mapping[str, object] | None


class BranchAppendOptions(AppendOptions, total=False):
    """Options of `Table.append`."""

    branch: str


class SyncOptions(PackingOptions, total=False):
    """Options of `Connection.sync` and `Table.sync`."""

    dry_run: bool
    retry: bool
    changed: str
    vanished: str
    branch: str
    author: str


class RestoreOptions(TypedDict, total=False):
    """Options of `Table.restore`."""

    branch: str
    author: str
    message: str
    only_dropped: bool


class SchemaOptions(TypedDict, total=False):
    """Options of `Table.set_schema`."""

    mode: str
    author: str
    message: str


class CompactOptions(TypedDict, total=False):
    """Options of `Table.compact`."""

    cluster_by: Iterable[str | Sequence[str]] | None
    dry_run: bool
    author: str
    message: str
    progress: Progress


class ExportOptions(TypedDict, total=False):
    """Options of `Table.export`."""

    squash: bool
    restart: bool
    partition_by: Sequence[str]
    overwrite: bool
    properties: Mapping[str, str] | None
    threads: int | None


class MaintainOptions(TypedDict, total=False):
    """Options of `Connection.maintain` and `Table.maintain`."""

    interval: str | float | None
    stop: Event | None
    tell: Callable[[Action], None] | None
    dry_run: bool
    grace: str | float | None
    cpu_share: float | None
    min_free_bytes: int
    author: str


class PurgeOptions(TypedDict, total=False):
    """Options of `Table.purge`."""

    params: Mapping[str, object] | None
    dry_run: bool
    author: str
    message: str
    threads: int | None
    memory_bytes: int | None
    progress: Progress


class MergeOptions(TypedDict, total=False):
    """Options of `Table.merge`."""

    into: str
    strategy: str
    only: str
    author: str
    message: str
    commit_id: str
    confirm: Callable[[int], bool]


class ForkOptions(TypedDict, total=False):
    """Options of `Table.fork`."""

    share: bool
    author: str
    message: str
    progress: Progress


class PushOptions(TypedDict, total=False):
    """Options of `Table.push`."""

    name: str
    author: str
    message: str
    progress: Progress
