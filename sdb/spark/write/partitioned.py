"""Rows of a task by the values of some columns: a packfile for each combination of these."""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from sdb.errors import InputError, UnsupportedError, UsageError
from sdb.records import record
from sdb.table.definition.partition import PartitionField, given_partition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Self

    import pyarrow as pa

    from sdb.packfile.trailer.declared import Columns

MOST_PARTS = 256
"""The most combinations in one task: each has a file while rows come in."""


@record
class Partitioning:
    """By which columns rows are apart."""

    names: tuple[str, ...]  # the columns; none: all rows of a task are one packfile
    fields: tuple[PartitionField, ...] = ()  # those that the table has partitions by

    @classmethod
    def of(cls, text: str | None, columns: Columns, fields: Sequence[PartitionField] = ()) -> Self:
        """Read the option ``partitionBy``.

        * ``text``: As in ``day,region``; None: there is no option, and the fields of the table
          count if all of them are columns.
        * ``columns``: Those of the frame.

        Raises `UsageError` for a name of no column, or other fields than the table has partitions
        by.
        """
        known = [name for name, _ in columns]
        wanted = [field.field for field in fields]
        if text is None:
            is_there = wanted and set(wanted) <= set(known)
            return cls(tuple(wanted) if is_there else (), tuple(fields))
        names = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := [name for name in names if name not in known] or ([] if names else [text]):
            raise UsageError(f"partitionBy: there is no column {unknown[0]!r}")
        if fields and set(names) != set(wanted):
            raise UsageError(
                f"partitionBy {text}: the table has partitions by {', '.join(wanted)}",
                hint="leave the option out",
            )
        if len(names) == len(known):
            raise UsageError("partitionBy: no column is left for the rows")
        return cls(tuple(dict.fromkeys(names)), tuple(fields))

    def parts(
        self, batches: Iterable[pa.RecordBatch], stack: ExitStack
    ) -> Iterator[tuple[dict[str, Any], Iterator[pa.RecordBatch]]]:
        """Yield the rows of each combination, without these columns.

        * ``stack``: Removes the files of the rows in the end.

        Yields: What packing must know of the combination, and its rows.
        Raises `InputError` if a value is NULL, or cannot be one of a partition; `UnsupportedError`
        if there are more than `MOST_PARTS` combinations.
        """
        if not self.names:
            yield {}, iter(batches)
            return
        import pyarrow as pa

        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sdb-")))
        files: dict[tuple[object, ...], tuple[Path, pa.RecordBatchFileWriter]] = {}
        with ExitStack() as writing:
            for batch in batches:
                others = batch.drop_columns(list(self.names))
                for values, rows in self._places(batch).items():
                    if values not in files:
                        path = folder / f"{self._count(files)}.arrow"
                        writer = writing.enter_context(pa.ipc.new_file(path, others.schema))
                        files[values] = path, writer
                    files[values][1].write_batch(others.take(pa.array(rows)))
        for values, (path, _) in files.items():
            reader = stack.enter_context(pa.ipc.open_file(path))
            stored = map(reader.get_batch, range(reader.num_record_batches))
            yield self._settings(values), stored

    def _places(self, batch: pa.RecordBatch) -> dict[tuple[object, ...], list[int]]:
        """Return the numbers of the rows with each combination."""
        columns = [batch.column(name).to_pylist() for name in self.names]
        places: dict[tuple[object, ...], list[int]] = {}
        for row, values in enumerate(zip(*columns, strict=True)):
            places.setdefault(values, []).append(row)
        return places

    def _count(self, files: dict[tuple[object, ...], Any]) -> int:
        if len(files) == MOST_PARTS:
            raise UnsupportedError(
                f"more than {MOST_PARTS} combinations of {', '.join(self.names)} in one task",
                hint=f"df.repartition({', '.join(map(repr, self.names))})",
            )
        return len(files)

    def _settings(self, values: tuple[object, ...]) -> dict[str, Any]:
        texts = dict(zip(self.names, map(_text, self.names, values), strict=True))
        fields = self.fields or [
            PartitionField(name, _type(value))
            for name, value in zip(self.names, values, strict=True)
        ]
        partition = given_partition(fields, texts)
        if partition is None:
            return {}
        directory = {"directory": partition.directory} if self.fields else {}
        return {"constants": partition.constants, **directory}


def _type(value: object) -> str:
    kinds = ((int, "int"), (dt.datetime, "timestamp"), (dt.date, "date"))
    return next((kind for of, kind in kinds if isinstance(value, of)), "string")


def _text(name: str, value: object) -> str:
    """Return a value as it stands in the name of an input."""
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str | dt.date) or type(value) is int:
        return str(value)
    what = "NULL" if value is None else f"a {type(value).__name__}"
    raise InputError(
        f"the partition column {name} has {what}", expected="texts, integers, dates and timestamps"
    )
