"""Commits of versions with a schema, each in the columns of its own."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

from sdb import notes
from sdb.errors import UnsupportedError
from sdb.exchange.mirrorfiles import columns_path, digest_of, opened_packfile
from sdb.exchange.mirrorrun import SCHEMA
from sdb.exchange.parquetfile import write_columns
from sdb.exchange.schemacolumns import SchemaColumns
from sdb.lake.footer import read_layout
from sdb.records import record
from sdb.table.format.keys import era_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    import pyarrow as pa

    from sdb.exchange.mirrorcommit import MirrorCommits
    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.exchange.mirrorrun import MirrorRun
    from sdb.exchange.parquetfile import RowsToWrite
    from sdb.exchange.schemacolumns import Layout
    from sdb.lake.footer import ParquetFile
    from sdb.lake.mirrorlog import LogAction
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.columns import TableSchema

    ReadColumns: TypeAlias = Callable[
        [TableHandle, Descriptor, Sequence[str], "int | None"],
        AbstractContextManager[tuple[Iterator[pa.RecordBatch], dict[str, int]]],
    ]


@record
class SchemaCommits:
    """Makes the commits of versions with a schema.

    * ``read``: Reads columns of a packfile by the schema of its version, see :class:`TableMirror`.
    """

    run: MirrorRun
    commits: MirrorCommits
    read: ReadColumns

    def actions(self, step: MirrorStep, pool: ThreadPoolExecutor) -> list[LogAction]:
        """Write the files of a version in the columns of its schema; return the actions."""
        schema = step.handle.schema
        assert schema is not None  # noqa: S101 - other versions go another way
        columns = SchemaColumns(schema)
        shape = digest_of(columns.shape)
        before = self.run.log.metadata
        is_other = self.run.is_restart or self.run.properties.get(SCHEMA) != shape
        added = dict(step.added)
        replaced: list[str] = []
        if is_other:
            renewed, replaced = self._laid_anew(step, columns, pool)
            added |= renewed
            self._note_columns(columns)
        layouts = self._layouts(step.handle, added, columns)

        def write(mark: str) -> tuple[str, ParquetFile, dict[str, int]]:
            return self._write_columns(step.handle, mark, added[mark], layouts[mark], columns)

        written = list(self.run.counted(added, pool.map(write, added)))
        self._note_misfits(schema, [misfits for _, _, misfits in written])
        metadata = None
        if is_other or before.get("schemaString") != columns.schema_text:
            metadata = self.commits.metadata(columns.schema_text, {SCHEMA: shape})
        return self.commits.actions(
            step,
            [(path, file) for path, file, _ in written],
            replaced,
            {columns.names[name]: kind for name, kind in columns.columns.items()},
            metadata,
        )

    def _layouts(
        self, handle: TableHandle, packs: dict[str, Descriptor], columns: SchemaColumns
    ) -> dict[str, Layout]:
        self.run.columns |= dict(self.run.present(handle, packs))
        return {
            mark: columns.layout(self.run.columns[mark], era_of(descriptor.key))
            for mark, descriptor in packs.items()
        }

    def _laid_anew(
        self, step: MirrorStep, columns: SchemaColumns, pool: ThreadPoolExecutor
    ) -> tuple[dict[str, Descriptor], list[str]]:
        """Find the files of the mirror that read otherwise under the schema of a version.

        Returns: Their packfiles, and their paths.
        """
        paths, staying = self.run.staying(step)
        layouts = self._layouts(step.handle, staying, columns)

        def is_right(mark: str) -> bool:
            if paths[mark] == columns_path(mark, layouts[mark]):
                return True
            had = None if self.run.is_restart else read_layout(self.run.log.place(paths[mark]))
            return had is not None and columns.has_rows_of(
                had, layouts[mark], self.run.columns[mark], era_of(staying[mark].key)
            )

        is_kept = dict(zip(staying, pool.map(is_right, staying), strict=True))
        renewed = {mark: packfile for mark, packfile in staying.items() if not is_kept[mark]}
        why = f"the schema of version {step.state.version:,} has other columns"
        self.run.note_renewed(renewed, why, "these")
        return renewed, [paths[mark] for mark in renewed]

    def _write_columns(
        self,
        handle: TableHandle,
        mark: str,
        descriptor: Descriptor,
        layout: Layout,
        columns: SchemaColumns,
    ) -> tuple[str, ParquetFile, dict[str, int]]:
        names = [name for name, shown in columns.names.items() if shown in layout]
        if not names:
            what = f"the schema of {self.run.name} has no column"
            raise UnsupportedError(f"{what}, and no file can be made without one")
        counts: dict[str, int] = {}

        @contextmanager
        def rows() -> Iterator[RowsToWrite]:
            with opened_packfile(handle, descriptor) as pack:
                expected = pack.trailer.rows
            with self.read(handle, descriptor, names, self.run.threads) as (batches, misfits):
                counts.update(misfits)
                yield map(columns.fitted, batches), expected, descriptor.key

        path = columns_path(mark, layout)
        file = write_columns(rows, columns.arrow(names), layout, self.run.log.place(path))
        self.run.count(file)
        return path, file, counts

    def _note_columns(self, columns: SchemaColumns) -> None:
        """Say which columns are not what the schema says."""
        for column, name in columns.names.items():
            if column != name:
                notes.warn(
                    f"{self.run.name}: the column {column!r} becomes {name!r}: other engines do "
                    "not tell cases apart"
                )
        for path in columns.texts:
            notes.warn(f"{self.run.name}: {'.'.join(path)} becomes JSON text: it lies too deep")

    def _note_misfits(self, schema: TableSchema, counts: Iterable[dict[str, int]]) -> None:
        """Say how many values of files that were written now are not of their type."""
        total: Counter[str] = Counter()
        for each in counts:
            total.update(each)
        for column in schema.columns:
            if count := total[column.name]:
                values = "value is" if count == 1 else "values are"
                notes.warn(
                    f"{self.run.name}: {count:,} {values} no {column.type}, as the schema says of "
                    f"{column.name}: NULL in the mirror (sdb schema check)"
                )
