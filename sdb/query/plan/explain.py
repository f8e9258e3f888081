"""The plan of a statement, as EXPLAIN shows it."""

from __future__ import annotations

from sdb.query.analyze.types import NAMES
from sdb.query.plan.scans import Count, DataShape, TopK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.catalog.dataset import TableName, ValuePath
    from sdb.query.plan.scans import Constant, Operation, Predicate, ScanNode


def steps(scans: Iterable[ScanNode], operation: Operation | None, sql: str) -> list[str]:
    """Write a plan.

    Returns: What each scan reads and decides, then the SQL that runs on the scans.
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
        f"{_path(first.keys[number][1])}{' DESC' * descending}{' NULLS LAST' * nulls_last}"
        for number, descending, nulls_last in first.sort
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
    match predicate:
        case ("and" | "or" as kind, parts):
            return f" {kind.upper()} ".join(f"({_condition(part)})" for part in parts)
        case ("not", part):
            return f"NOT ({_condition(part)})"
        case ("cmp", path, op, constant):
            return f"{_path(path)} {op} {_value(constant)}"
        case ("in", path, constants):
            return f"{_path(path)} IN ({', '.join(map(_value, constants))})"
        case ("is", path, types):
            names = [name for bit, name in NAMES.items() if types & bit]
            return f"{_path(path)} IS {' OR '.join(names)}"
        case (kind, path, pattern, folds):
            op = kind.upper() if kind != "regex" else "~*" if folds else "~"
            return f"{_path(path)} {op} {pattern!r}"


def _value(value: Constant) -> str:
    return repr(value[1]) if len(value) > 1 else "NULL"
