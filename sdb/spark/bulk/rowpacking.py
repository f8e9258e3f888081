"""Rows of a task, packed as the options of a writer say."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from sdb import effort
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.arrowrows import encoded
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.write.pack import DEFAULT_ALGORITHM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any, Self

    import pyarrow as pa

    from sdb.packfile.trailer.sparseindex import Path


@dataclass(frozen=True, slots=True)
class RowPacking:
    """Options of packing rows.

    Attributes
    ----------
    algorithm, level, time_fields
        See :func:`sdb.pack`.
    stats : str or None
        Paths that shall have statistics; None: what the table tells, or else those worth it.
    keep_nulls : bool
        Whether fields that are null are written as such.
    """

    algorithm: str
    level: int | str | None
    time_fields: tuple[Path, ...]
    stats: str | None
    keep_nulls: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Read ``algorithm``, ``level``, ``timeFields``, ``stats`` and ``ignoreNullFields``.

        Parameters
        ----------
        options : mapping
            Texts by name.

        Returns
        -------
        RowPacking
            What they mean.

        Raises
        ------
        UsageError
            A level, or a path, that is none.
        """
        if "stats" in options:
            StatisticsChoice.of(options["stats"])
        times = options.get("timeFields", "")
        return cls(
            options.get("algorithm", DEFAULT_ALGORITHM),
            effort.read(options["level"]) if "level" in options else None,
            tuple(tuple(name.strip().split(".")) for name in times.split(",") if name.strip()),
            options.get("stats"),
            options.get("ignoreNullFields", "true").lower() == "false",
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`sdb.pack`; a task has one thread."""
        found = {
            "algorithm": self.algorithm,
            "level": self.level,
            "threads": 1,
            "time_fields": self.time_fields,
        }
        return found if self.stats is None else found | {"stats": self.stats}

    def input(self, batches: Iterator[pa.RecordBatch], task: int) -> Input | None:
        """Make an input of the rows of a task; None: there are none.

        Parameters
        ----------
        batches : iterator of pyarrow.RecordBatch
            The rows, which are read once.
        task : int
            Number of the task, for messages.
        """
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return None

        def pieces() -> Generator[bytes]:
            return encoded(chain([first], batches), keep_nulls=self.keep_nulls)

        return Input(f"task {task}", "rows", source=pieces, once=True)
