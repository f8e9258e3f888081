"""A version of a table as a plain dataset: Parquet files, in folders by values where wanted.

The files are written into a folder beside the one that was asked for, which gets its name when all
are complete: so the dataset is there as a whole, or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack

from sdb import notes
from sdb.errors import ExistsError, UnsupportedError, UsageError, from_os
from sdb.exchange.folders import divided, opened_folders
from sdb.exchange.mirrorfiles import held, opened_packfile
from sdb.exchange.packcolumns import columns_of, observed_columns
from sdb.lake.columntypes import (
    BINARY,
    DOUBLE,
    JSON,
    TIMESTAMP,
    arrow_schema,
    bounded,
    chosen_columns,
    joined_columns,
    published,
    texts,
)
from sdb.packfile.export.arrowfiles import grouped
from sdb.packfile.read.arrow import FittedScan
from sdb.records import record
from sdb.store.url import check_scheme, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from sdb.lake.columntypes import Columns, ColumnType
    from sdb.packfile.read.reader import Packfile
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_UNITS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H"}
_CALL = re.compile(r"(\w+)\((.+)\)\Z")


@record
class FolderKey:
    """Key of the folders of a dataset: a field, or the span of time that it is in."""

    path: tuple[str, ...]  # names of the fields, from the row to the value
    unit: str = ""  # year, month, day or hour; empty: the value itself

    @property
    def name(self) -> str:
        """Name of the column of the folders."""
        return "_".join(filter(None, (".".join(self.path), self.unit)))

    @property
    def is_column(self) -> bool:
        """True if the values are those of a field of rows, not of structs or spans."""
        return not self.unit and len(self.path) == 1

    @classmethod
    def parse(cls, text: str) -> FolderKey:
        """Read ``type``, ``actor.login`` or ``day(created_at)``.

        Raises `UsageError` if it has another form.
        """
        unit, path = "", text.strip()
        if call := _CALL.match(path):
            unit, path = call[1].lower(), call[2].strip()
            if unit not in _UNITS:
                raise UsageError(f"--partition-by {text[:60]!r}", expected=", ".join(_UNITS))
        names = tuple(path.split("."))
        if not all(names):
            raise UsageError(f"--partition-by {text[:60]!r}", expected="type, or day(created_at)")
        return cls(names, unit)

    def check(self, columns: Columns) -> None:
        """Require a column whose values can name folders.

        Raises `UsageError` if there is no such column, or it has another type.
        """
        kind: ColumnType = columns
        for name in self.path:
            kind = kind.get(name) if isinstance(kind, dict) else None
        shown = ".".join(self.path)
        if kind is None:
            raise UsageError(f"--partition-by {shown}: no row has the field")
        if self.unit and kind != TIMESTAMP:
            raise UsageError(f"--partition-by {self.unit}({shown}): its values are no times")
        if not self.unit and (not isinstance(kind, str) or kind in {BINARY, DOUBLE, JSON}):
            raise UsageError(f"--partition-by {shown}: its values cannot name folders")
        if not self.unit and kind == TIMESTAMP:
            hint = f"day({shown})"
            raise UsageError(f"--partition-by {shown}: a folder for each instant", hint=hint)

    def values(self, batch: pa.RecordBatch, names: dict[str, str]) -> pa.Array:
        """Return the values of rows."""
        import pyarrow.compute as pc

        column = batch.column(names[self.path[0]])
        for name in self.path[1:]:
            column = pc.struct_field(column, name)
        return pc.strftime(column, format=_UNITS[self.unit]) if self.unit else column


@record
class WrittenDataset:
    """The result of an export to a dataset."""

    name: str  # the table
    location: str  # the folder
    version: int | None
    files: int
    rows: int
    size_bytes: int

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.name,
            "dataset": self.location,
            "version": self.version,
            "files": self.files,
            "rows": self.rows,
            "bytes": self.size_bytes,
        }


def write_dataset(
    handle: TableHandle,
    location: str,
    keys: Iterable[FolderKey] = (),
    *,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> WrittenDataset:
    """Write the rows of a version of a table as a folder of Parquet files.

    * ``location``: The folder; it appears when it is complete.
    * ``keys``: What folders within it are made by, from the outside to the inside.
    * ``overwrite``: Whether a folder that is there may be replaced.

    Raises `ExistsError` if there is such a folder, and `overwrite` is off; `UsageError` if a key
    names no column that can name folders; `UnsupportedError` if the place is on S3, or no row has a
    field.
    """
    check_scheme(location)
    path = store_of(location).path_of(location)
    if path is None:
        hint = "export to a folder and copy it, or sdb export delta"
        raise UnsupportedError(f"{location}: a plain dataset is written to a disk", hint=hint)
    path = os.path.abspath(path)  # noqa: PTH100 - a string
    if not overwrite:
        _check_free(path)
    _note_schema(handle)
    descriptors = list(handle.descriptors())
    columns = _joined(handle, descriptors, columns_of)
    if not columns:
        raise UnsupportedError(f"{handle.name}: no row has a field, and Parquet needs a column")
    folder_keys = list(keys)
    for key in folder_keys:
        key.check(columns)
    for text in texts(columns):
        notes.warn(f"{handle.name}: {'.'.join(text)} becomes JSON text")
    made = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        try:
            rows = _write(handle, descriptors, columns, folder_keys, made, threads, progress)
        except UnsupportedError:
            # Trailers do not tell which integers are above 2^63-1.
            seen = _joined(handle, descriptors, observed_columns)
            if seen == columns:
                raise
            shutil.rmtree(made, ignore_errors=True)
            rows = _write(handle, descriptors, seen, folder_keys, made, threads, progress)
        files = [
            os.path.join(above, name)  # noqa: PTH118 - a string
            for above, _, names in os.walk(made)
            for name in names
        ]
        size = sum(os.path.getsize(file) for file in files)  # noqa: PTH202 - a string
        for file in files:
            _flush(file)
        _rename(made, path, overwrite=overwrite)
    except OSError as error:
        raise from_os(error, "writing", location) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    state = handle.state
    version = None if state is None else state.version
    return WrittenDataset(handle.name, location, version, len(files), rows, size)


def _note_schema(handle: TableHandle) -> None:
    if handle.schema_data:
        notes.warn(
            f"{handle.name} has a schema: the dataset has the fields of its rows, by the names and "
            "types that they are stored with"
        )


def _check_free(path: str) -> None:
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):  # noqa: PTH112, PTH208
        raise ExistsError(f"{path} exists", path=path, hint="--force replaces it")


def _joined(
    handle: TableHandle, descriptors: list[Descriptor], look: Callable[[Packfile], Columns]
) -> Columns:
    """Return the columns of all rows."""
    columns: Columns = {}
    for descriptor in descriptors:
        with opened_packfile(handle, descriptor) as pack:
            columns = joined_columns(columns, look(pack))
    return chosen_columns(bounded(columns))


def _write(
    handle: TableHandle,
    descriptors: list[Descriptor],
    columns: Columns,
    keys: list[FolderKey],
    folder: str,
    threads: int | None,
    progress: Progress | None,
) -> int:
    """Write the files of a dataset; return the number of rows."""
    import pyarrow as pa

    names = published(columns)
    schema = arrow_schema(columns)
    shown = pa.schema([column.with_name(names[column.name]) for column in schema])
    # A field that is a key is in the name of the folder alone.
    in_names = {names[key.path[0]] for key in keys if key.is_column}
    inside = pa.schema([column for column in shown if column.name not in in_names])
    _check_names([key.name for key in keys], inside.names)
    count = _Count(progress, sum(descriptor.size_bytes for descriptor in descriptors))

    def batches() -> Iterator[pa.RecordBatch]:
        for descriptor in descriptors:
            with opened_packfile(handle, descriptor) as pack:
                for batch in FittedScan(pack, schema, threads).batches():
                    count.rows += batch.num_rows
                    yield pa.record_batch(batch.columns, schema=shown)
            count.add(descriptor.size_bytes)

    with held(handle), opened_folders(folder, inside, threads) as files:
        for group in grouped(batches()):
            rows = pa.concat_batches(group)
            values = {key.name: key.values(rows, names) for key in keys}
            for name, some in divided(rows.select(inside.names), values):
                files.add(name, some)
    return count.rows


def _check_names(keys: list[str], stored: list[str]) -> None:
    """Require keys that are told apart, and columns beside them."""
    if twice := next((key for key in keys if keys.count(key) > 1 or key in stored), None):
        raise UsageError(f"--partition-by {twice}: another key or column has this name")
    if not stored:
        what = f"--partition-by {','.join(keys)}: rows have no other field, and Parquet needs one"
        raise UsageError(what)


class _Count:
    """Counts rows and the bytes that were read."""

    def __init__(self, progress: Progress | None, total_bytes: int) -> None:
        self.rows = 0
        self._done_bytes = 0
        self._progress, self._total_bytes = progress, total_bytes

    def add(self, size_bytes: int) -> None:
        """Count the bytes of a packfile."""
        self._done_bytes += size_bytes
        if self._progress is not None:
            self._progress(self._done_bytes, self._total_bytes)


def _flush(path: str) -> None:
    """Make a file outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(made: str, path: str, *, overwrite: bool) -> None:
    """Rename a complete folder; one that has the name goes away afterwards."""
    with ExitStack() as stack:
        if overwrite and os.path.isdir(path) and os.listdir(path):  # noqa: PTH112, PTH208
            old = f"{made}.old"
            os.rename(path, old)  # noqa: PTH104 - a string
            stack.callback(shutil.rmtree, old, ignore_errors=True)
        elif overwrite and os.path.lexists(path) and not os.path.isdir(path):  # noqa: PTH112
            raise ExistsError(f"{path} is no folder", path=path)
        else:
            _check_free(path)
        os.rename(made, path)  # noqa: PTH104 - a string
