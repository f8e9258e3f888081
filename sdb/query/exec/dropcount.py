"""Counts, while rows are read, those that a query leaves out because they have no key."""

from __future__ import annotations

from contextlib import suppress

from sdb.query.duckdb_sql.levels import LEFT_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

    from sdb import _core
    from sdb.query.catalog.schemarows import SchemaRows
    from sdb.query.plan.hints.dropped_rows import Fields
    from sdb.query.plan.scans import Lane, ScanNode


def places(
    lanes: Iterable[Lane], paths: Sequence[Fields], under: SchemaRows | None = None
) -> dict[Fields, int]:
    """Find lanes of rows that are about paths.

    * ``under``: The schema of the rows, by whose names the paths are.

    Returns: The number of a lane for each path that has one.
    """
    lane_of = {
        path: at
        for at, (level, path, letter) in enumerate(lanes)
        if not level and letter not in {"file", "row"}
    }
    stored = {path: path if under is None else under.stored(path) for path in paths}
    return {path: lane_of[at] for path, at in stored.items() if at is not None and at in lane_of}


class DropCount:
    """Counts the rows without a path that a scan has met.

    * ``scan``: The scan, which watches one lane for each path.
    """

    def __init__(self, scan: _core.LaneScan, paths: Sequence[Fields], node: ScanNode) -> None:
        self._scan = scan
        self._paths = paths
        self._blocks = sum(len(chunks) for _, chunks, *_ in node.dataset.sources)

    def __call__(self, path: Fields) -> tuple[int, int] | None:
        """Return the number of such rows, and of all that satisfy the condition of the query.

        ``None`` when some blocks have not been read, or when they were read twice.
        """
        if path not in self._paths or self._scan.stats[0] != self._blocks:
            return None
        rows, without = self._scan.watched
        return without[self._paths.index(path)], rows


class Unjoined:
    """Finds keys of joins that some rows of the scans do not have.

    * ``keys``: For each key the scan, the path and the note.
    """

    def __init__(self, keys: Iterable[tuple[ScanNode, Fields, str]]) -> None:
        self._keys = list(keys)
        self._scans: list[tuple[list[str], _core.LaneScan]] = []

    def lanes(self, node: ScanNode) -> list[int]:
        """Return the lanes of a scan to watch."""
        return [lane for lane, _ in self._watched(node)]

    def follow(self, node: ScanNode, scan: _core.LaneScan) -> None:
        """Record the scan that watches these lanes."""
        if watched := self._watched(node):
            self._scans.append(([note for _, note in watched], scan))

    def notes(self) -> list[str]:
        """Return what is to be told by now, each line once."""
        lines = [
            note
            for texts, scan in self._scans
            for note, count in zip(texts, scan.watched[1], strict=True)
            if count
        ]
        return list(dict.fromkeys(lines))

    def _watched(self, node: ScanNode) -> list[tuple[int, str]]:
        indexes = places(node.lanes, [path for scan, path, _ in self._keys if scan is node])
        return [
            (indexes[path], note)
            for scan, path, note in self._keys
            if scan is node and path in indexes
        ]


class LeftOut:
    """Reads why a statement of SQL has left out rows, which it counts by sequences.

    * ``connection``: Where it runs.
    * ``reasons``: The note for each number.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, reasons: Sequence[str]) -> None:
        for number in range(len(reasons)):
            connection.execute(f"CREATE SEQUENCE {LEFT_OUT}{number}")
        self._connection: duckdb.DuckDBPyConnection | None = connection if reasons else None
        self._reasons = reasons
        self._notes: list[str] = []

    def relation(self, connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of a statement, which runs when they are read."""
        if not self._reasons:
            return connection.sql(text)
        # What advances sequences runs at once, and is kept whole, unless a view stands before it.
        connection.execute(f"CREATE TEMP VIEW {LEFT_OUT}rows AS {text}")
        return connection.view(f"{LEFT_OUT}rows")

    def notes(self) -> list[str]:
        """Return the notes on rows that were left out so far."""
        if self._connection is not None:
            # The connection itself may have a result that is not read to its end.
            rows = self._connection.cursor().execute(
                "SELECT sequence_name FROM duckdb_sequences() WHERE last_value IS NOT NULL"
            )
            met = {name for (name,) in rows.fetchall()}
            self._notes = [
                text for at, text in enumerate(self._reasons) if f"{LEFT_OUT}{at}" in met
            ]
        return self._notes

    def close(self) -> None:
        """Find out the notes for the last time: the connection ends."""
        import duckdb

        with suppress(duckdb.Error):  # it may be what has ended the statement
            self.notes()
        self._connection = None
