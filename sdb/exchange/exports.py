"""Exports of a table by the name of a format, for Python."""

from __future__ import annotations

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdb.exchange.dataset import WrittenDataset
    from sdb.exchange.mirror import MirrorReport
    from sdb.exchange.schemacommits import ReadColumns
    from sdb.lake.mirrorlog import MirrorLog
    from sdb.table.catalog.handle import TableHandle

FORMATS = ("delta", "iceberg", "parquet")


def export_table(  # noqa: PLR0913 - the options of a method, by name
    handle: TableHandle,
    fmt: str,
    to: str,
    *,
    squash: bool = False,
    restart: bool = False,
    partition_by: Sequence[str] = (),
    overwrite: bool = False,
    properties: Mapping[str, str] | None = None,
    threads: int | None = None,
    read: ReadColumns | None = None,
) -> MirrorReport | WrittenDataset:
    """Mirror a table, or write a version of it as Parquet; see :meth:`sdb.Table.export`.

    * ``read``: Reads packfiles of tables with a schema, see :class:`TableMirror`.

    Raises
    ------
    UsageError
        Another format, or options that it does not have.
    """
    if fmt not in FORMATS:
        raise UsageError(f"unknown format {fmt[:40]!r}", expected=", ".join(FORMATS))
    unfit = {
        "squash": squash and fmt == "parquet",
        "restart": restart and fmt != "delta",
        "partition_by": bool(partition_by) and fmt != "parquet",
        "overwrite": overwrite and fmt != "parquet",
        "properties": bool(properties) and fmt != "iceberg",
    }
    if wrong := [name for name, is_wrong in unfit.items() if is_wrong]:
        raise UsageError(f"export as {fmt} has no option {wrong[0]}")
    if fmt == "parquet":
        from sdb.exchange.dataset import FolderKey, write_dataset

        keys = [FolderKey.parse(text) for text in partition_by]
        return write_dataset(handle, to, keys, overwrite=overwrite, threads=threads)
    from sdb.exchange.mirror import TableMirror

    log: MirrorLog | None = None
    if fmt == "iceberg":
        from sdb.iceberg.log import named_iceberg

        log = named_iceberg(to, dict(properties or {}))
    mirror = TableMirror(
        handle.root,
        handle.keys.database,
        handle.keys.table,
        to,
        squash=squash,
        restart=restart,
        threads=threads,
        log=log,
        read=read,
    )
    return mirror.update()
