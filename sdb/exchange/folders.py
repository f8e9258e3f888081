"""Parquet files in folders by values, written side by side in row groups of a good size."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import quote

from sdb.errors import UsageError
from sdb.packfile.export.arrowfiles import RowGroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

MOST_FOLDERS = 10_000
_MOST_OPEN = 256
_WAITING_BYTES = 256 << 20
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def divided(
    batch: pa.RecordBatch, keys: Mapping[str, pa.Array]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the folders of rows, as Hive names them, and the rows of each.

    * ``keys``: The values of each key, by its name; without any all rows are in one folder.
    """
    import pyarrow as pa

    if not keys:
        yield "", batch
        return
    columns = [*(values.cast(pa.string()) for values in keys.values())]
    numbers = [str(at) for at in range(len(keys))]
    table = pa.table([*columns, pa.array(range(batch.num_rows))], [*numbers, "rows"])
    groups = table.group_by(numbers, use_threads=False).aggregate([("rows", "list")])
    texts_of = zip(*(groups[number].to_pylist() for number in numbers), strict=True)
    for texts, rows in zip(texts_of, groups["rows_list"], strict=True):
        parts = [
            f"{name}={_NO_VALUE if text is None else quote(text, safe='')}"
            for name, text in zip(keys, texts, strict=True)
        ]
        yield "/".join(parts), batch.take(rows.values)


@contextmanager
def opened_folders(location: str, schema: pa.Schema, threads: int | None) -> Iterator[FolderFiles]:
    """Open a folder for Parquet files, which are complete afterwards."""
    count = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        files = FolderFiles(location, schema, pool, count)
        try:
            yield files
            files.finish()
        finally:
            files.close()


class FolderFiles:
    """Parquet files in folders. Rows wait until they make a row group, or there are too many."""

    def __init__(
        self, location: str, schema: pa.Schema, pool: ThreadPoolExecutor, most_running: int
    ) -> None:
        self._location, self._schema = location, schema
        self._pool, self._most_running = pool, most_running
        self._waiting: dict[str, RowGroup] = {}
        self._waiting_bytes = 0
        self._begun: dict[str, int] = {}  # files of each folder
        self._writers: dict[str, ParquetWriter] = {}
        self._last: dict[str, Future[None]] = {}  # what each open file waits for
        self._running: deque[Future[None]] = deque()

    def add(self, folder: str, rows: pa.RecordBatch) -> None:
        """Add rows to a folder.

        Too many folders are an error.
        """
        group = self._waiting.get(folder)
        if group is None:
            group = self._waiting[folder] = RowGroup()
            self._begun.setdefault(folder, 0)
            if len(self._begun) > MOST_FOLDERS:
                what = f"--partition-by makes more than {MOST_FOLDERS:,} folders"
                raise UsageError(what, hint="take a key with fewer values, or a longer span")
        before = group.size_bytes
        group.add(rows)
        self._waiting_bytes += group.size_bytes - before
        if group.is_full:
            self._write(folder)
        while self._waiting_bytes > _WAITING_BYTES:
            self._write(max(self._waiting, key=lambda name: self._waiting[name].size_bytes))

    def finish(self) -> None:
        """Write the rows that wait."""
        for folder in list(self._waiting):
            self._write(folder)
        while self._running:
            self._running.popleft().result()

    def close(self) -> None:
        """Close the files."""
        for folder in list(self._writers):
            self._close(folder)

    def _write(self, folder: str) -> None:
        """Write what waits for a folder, after what was written there before."""
        group = self._waiting.pop(folder)
        self._waiting_bytes -= group.size_bytes
        writer, before = self._opened(folder), self._last.get(folder)

        def write() -> None:
            import pyarrow as pa

            if before is not None:
                before.result()
            writer.write_table(pa.Table.from_batches(group.batches, self._schema), group.rows)

        self._last[folder] = self._pool.submit(write)
        self._running.append(self._last[folder])
        if len(self._running) > self._most_running:
            self._running.popleft().result()

    def _opened(self, folder: str) -> ParquetWriter:
        from pyarrow.parquet import ParquetWriter

        if (writer := self._writers.get(folder)) is None:
            if len(self._writers) >= _MOST_OPEN:
                self._close(next(iter(self._writers)))
            path = os.path.join(self._location, folder)  # noqa: PTH118 - a string
            os.makedirs(path, exist_ok=True)  # noqa: PTH103 - a string
            where = os.path.join(path, f"part-{self._begun[folder]}.parquet")  # noqa: PTH118
            self._begun[folder] += 1
            writer = self._writers[folder] = ParquetWriter(where, self._schema, compression="zstd")
        return writer

    def _close(self, folder: str) -> None:
        if (last := self._last.pop(folder, None)) is not None:
            last.exception()  # a later result() raises it
        self._writers.pop(folder).close()
