"""Exports of a table by the name of a format, for Python."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdb.exchange.dataset import WrittenDataset
    from sdb.exchange.mirror import MirrorReport
    from sdb.exchange.schemacommits import ReadColumns
    from sdb.lake.mirrorlog import MirrorLog
    from sdb.table.catalog.handle import TableHandle

FORMATS = ("delta", "iceberg", "parquet")


@record
class ExportChoice:
    """The options of :meth:`sdb.Table.export`; each format has some of them."""

    squash: bool = False
    restart: bool = False
    partition_by: Sequence[str] = ()
    overwrite: bool = False
    properties: Mapping[str, str] | None = None
    threads: int | None = None

    def check_fit(self, fmt: str) -> None:
        """Refuse an option that a format does not have."""
        unfit = {
            "squash": self.squash and fmt == "parquet",
            "restart": self.restart and fmt != "delta",
            "partition_by": bool(self.partition_by) and fmt != "parquet",
            "overwrite": self.overwrite and fmt != "parquet",
            "properties": bool(self.properties) and fmt != "iceberg",
        }
        if wrong := [name for name, is_wrong in unfit.items() if is_wrong]:
            raise UsageError(f"export as {fmt} has no option {wrong[0]}")


def export_table(
    handle: TableHandle,
    fmt: str,
    to: str,
    options: ExportChoice,
    read: ReadColumns | None = None,
) -> MirrorReport | WrittenDataset:
    """Mirror a table, or write a version of it as Parquet; see :meth:`sdb.Table.export`.

    * ``read``: Reads packfiles of tables with a schema, see :class:`TableMirror`.

    Raises `UsageError` for another format, or options that it does not have.
    """
    if fmt not in FORMATS:
        raise UsageError(f"unknown format {fmt[:40]!r}", expected=", ".join(FORMATS))
    options.check_fit(fmt)
    if fmt == "parquet":
        from sdb.exchange.dataset import FolderKey, write_dataset

        keys = [FolderKey.parse(text) for text in options.partition_by]
        return write_dataset(handle, to, keys, overwrite=options.overwrite, threads=options.threads)
    from sdb.exchange.mirror import TableMirror

    log: MirrorLog | None = None
    if fmt == "iceberg":
        from sdb.iceberg.log import named_iceberg

        log = named_iceberg(to, dict(options.properties or {}))
    mirror = TableMirror(
        handle.root,
        handle.keys.database,
        handle.keys.table,
        to,
        squash=options.squash,
        restart=options.restart,
        threads=options.threads,
        log=log,
        read=read,
    )
    return mirror.update()
