"""The plan of a statement, as EXPLAIN shows it."""

from __future__ import annotations

from sdb.query.analyze.types import NAMES
from sdb.query.plan.operations import Count, DataShape, TopK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.plan.dataset import TableName, ValuePath
    from sdb.query.plan.operations import Operation
    from sdb.query.plan.scans import Predicate, ScanNode


def steps(scans: Iterable[ScanNode], operation: Operation | None, sql: str) -> list[str]:
    """Write a plan.

    Parameters
    ----------
    scans : iterable of ScanNode
        What is read.
    operation : Operation or None
        What a scan does on its own.
    sql : str
        What DuckDB would run on the scans.

    Returns
    -------
    list of str
        What each scan reads and decides, then the SQL that runs on the scans.
    """
    lines = []
    for scan in scans:
        lines.append(f"{scan.name}: " + " ++ ".join(map(_table, scan.tables)))
        fields = sorted({_path(path) for level, path, _ in scan.lanes if not level})
        lines.append(f"  READ {', '.join(fields) or 'no field'}")
        lines += [f"  UNNEST {_path(path)}" for _, path, _ in scan.explode]
        if scan.predicate is not None:
            lines.append(f"  WHERE {_condition(scan.predicate)}")
        if scan.limit is not None:
            lines.append(f"  LIMIT {scan.limit}")
    if isinstance(operation, TopK):
        lines += _first(operation)
    if isinstance(operation, DataShape):
        return [*lines, "DATASHAPE"]
    return [*lines, "COUNT" if isinstance(operation, Count) else sql]


def _first(first: TopK) -> list[str]:
    keys = [
        f"{_path(first.keys[place][1])}{' DESC' * descending}{' NULLS LAST' * nulls_last}"
        for place, descending, nulls_last in first.sort
    ]
    shown = sorted({_path(path) for _, path, _ in first.lanes})
    offset = f" OFFSET {first.offset}" if first.offset else ""
    return [
        f"  FIRST {first.limit}{offset} BY {', '.join(keys)}",
        f"  THEN READ {', '.join(shown)}",
    ]


def _table(name: TableName) -> str:
    if name.kind == "system":
        return name.text
    behind = "" if name.at is None else f"@{name.at[1]}"
    if name.kind == "file":
        return f"READ_FILE('{name.parts[0]}'){behind}"
    path = ".".join(name.parts) + behind
    return path if name.kind == "path" else f"TABLE_{name.kind.upper()}({path})"


def _path(path: ValuePath | list[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "*"


def _condition(predicate: Predicate) -> str:
    kind, *rest = predicate
    if kind in {"and", "or"}:
        return f" {kind.upper()} ".join(f"({_condition(part)})" for part in rest[0])
    if kind == "not":
        return f"NOT ({_condition(rest[0])})"
    path = _path(rest[0])
    if kind == "cmp":
        return f"{path} {rest[1]} {_value(rest[2])}"
    if kind == "in":
        return f"{path} IN ({', '.join(map(_value, rest[1]))})"
    if kind == "is":
        return f"{path} IS {' OR '.join(name for bit, name in NAMES.items() if rest[1] & bit)}"
    return f"{path} LIKE {rest[1]!r}"


def _value(value: tuple[object, ...]) -> str:
    return repr(value[1]) if len(value) > 1 else "NULL"
