"""Mirrors that definitions declare: kept up by upkeep, and how far behind they are."""

from __future__ import annotations

import os

from sdb.delta.log import DeltaLog
from sdb.errors import NotFoundError, SdbError
from sdb.exchange.mirror import TableMirror
from sdb.exchange.pending import pending
from sdb.records import record
from sdb.table.catalog.handle import find_table
from sdb.table.definition.cache import read_definition
from sdb.table.upkeep.actions import Exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event

    from sdb.exchange.schemacommits import ReadColumns
    from sdb.lake.mirrorlog import MirrorLog
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.upkeep import ExportPolicy
    from sdb.table.format.keys import TableKeys


@record
class MirrorLag:
    """The distance of a mirror from its table."""

    # What the mirror is, and where.
    format: str
    location: str
    version: int | None  # the version that it has; None: it was not begun, or cannot be read
    behind: int | None  # number of versions that it lacks; None: not known
    trouble: str = ""  # why it cannot be read; empty: it can

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "format": self.format,
            "to": self.location,
            "version": self.version,
            "behind": self.behind,
            "trouble": self.trouble,
        }

    def text(self) -> str:
        """Return it as a line for people."""
        what = f"mirror {self.format} {self.location}"
        if self.trouble:
            return f"{what}: {self.trouble}"
        if self.version is None:
            return f"{what}: not begun, {self.behind:,} versions behind"
        behind = "up to date" if not self.behind else f"{self.behind:,} behind"
        return f"{what}: version {self.version:,}, {behind}"


def lags(handle: TableHandle) -> list[MirrorLag]:
    """Return how far behind the mirrors are that the definition of a table declares."""
    try:
        definition = read_definition(handle.root, handle.keys)
    except SdbError:
        return []
    return [_lag(handle, policy) for policy in definition.exports]


def _lag(handle: TableHandle, policy: ExportPolicy) -> MirrorLag:
    location = policy.location(_place(handle.root))
    try:
        log = _log(policy, location)
        log.refresh()
    except SdbError as error:
        return MirrorLag(policy.format, location, None, None, error.message)
    state = handle.state
    mirrored = None if state is None else log.transactions.get(state.table.hex())
    behind = len(pending(handle, mirrored or 0).versions)
    return MirrorLag(policy.format, location, mirrored, behind)


def _log(policy: ExportPolicy, location: str) -> MirrorLog:
    if policy.format == "iceberg":
        from sdb.iceberg.log import named_iceberg

        return named_iceberg(location, {})
    return DeltaLog(location)


def _place(root: TableRoot) -> str:
    return root.location if root.store.is_remote else os.path.abspath(root.location)  # noqa: PTH100


class Exporter:
    """Keeps the mirrors of definitions up, for `sdb maintain`; logs that were read stay in memory.

    * ``stop``: When it is set, no further version is begun.
    * ``read``: Reads packfiles of tables with a schema, see :class:`TableMirror`.
    """

    def __init__(self, stop: Event | None = None, read: ReadColumns | None = None) -> None:
        self._stop = stop
        self._read = read
        self._mirrors: dict[tuple[str, str], TableMirror] = {}

    def __call__(
        self, root: TableRoot, keys: TableKeys, policy: ExportPolicy, *, is_dry: bool
    ) -> Exported | None:
        """Bring a mirror up to date; None: nothing was new."""
        location = policy.location(_place(root))
        if is_dry:
            handle = find_table(root, keys.database, keys.table)
            lag = None if handle is None else _lag(handle, policy)
            if lag is None or not lag.behind:
                return None
            return Exported(location, lag.behind, 0, None)
        name = (keys.folder, location)
        mirror = self._mirrors.get(name)
        if mirror is None:
            mirror = TableMirror(
                root,
                keys.database,
                keys.table,
                location,
                squash=policy.squash,
                threads=1,
                log=_log(policy, location),
                read=self._read,
            )
            self._mirrors[name] = mirror
        mirror.stop, mirror.squash = self._stop, policy.squash
        try:
            report = mirror.update()
        except NotFoundError:
            return None  # no row was inserted yet
        if not report.versions:
            return None
        return Exported(location, report.versions, report.rows, report.version)
