"""Rows of a task, packed as the options of a writer say."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from sdb import levels
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.arrowrows import encoded
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.write.pack import DEFAULT_ALGORITHM
from sdb.spark.options.files import truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any, Self

    import pyarrow as pa

    from sdb.packfile.trailer.declared import Columns
    from sdb.packfile.trailer.sparseindex import Path


@dataclass(frozen=True, slots=True)
class RowPacking:
    """Options of packing rows."""

    # See :func:`sdb.pack`
    algorithm: str
    level: int | str | None
    time_fields: tuple[Path, ...]
    # Paths that get statistics; None: those of the table's definition, else those worth it
    stats: str | None
    keep_nulls: bool  # whether fields that are null are written as such
    columns: Columns = ()  # those of the frame

    @classmethod
    def of(cls, options: Mapping[str, str], columns: Columns = ()) -> Self:
        """Read ``algorithm``, ``level``, ``timeFields``, ``stats`` and ``ignoreNullFields``.

        * ``columns``: Those of the frame, see :mod:`sdb.packfile.trailer.declared`.

        Raises `UsageError` for an invalid level or path.
        """
        if "stats" in options:
            StatisticsChoice.of(options["stats"])
        times = options.get("timeFields", "")
        return cls(
            options.get("algorithm", DEFAULT_ALGORITHM),
            levels.read(options["level"]) if "level" in options else None,
            tuple(tuple(name.strip().split(".")) for name in times.split(",") if name.strip()),
            options.get("stats"),
            not truth(options, "ignoreNullFields", default=True),
            columns,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`sdb.pack`; a task has one thread."""
        arguments = {
            "algorithm": self.algorithm,
            "level": self.level,
            "threads": 1,
            "time_fields": self.time_fields,
        }
        return arguments if self.stats is None else arguments | {"stats": self.stats}

    def input(self, batches: Iterator[pa.RecordBatch], task: int) -> Input | None:
        """Make an input of the rows of a task; None: there are none."""
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return None

        def pieces() -> Generator[bytes]:
            return encoded(chain([first], batches), keep_nulls=self.keep_nulls)

        name = f"task {task}"
        return Input(name, "rows", source=pieces, once=True, columns=self.columns)
