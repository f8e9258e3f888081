"""What is in the fields of rows, found out as simply as can be."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sdb import instants, ion

if TYPE_CHECKING:
    from collections.abc import Iterable

Path = tuple[str | None, ...]
KINDS = {
    bool: "bool",
    int: "int",
    float: "float",
    datetime: "timestamp",
    ion.Timestamp: "timestamp",
    str: "string",
    list: "list",
    dict: "struct",
}
MOST_COUNTED = 128
MOST_EXACT = 1024


class Naive:
    """All values of one field."""

    def __init__(self) -> None:
        self.rows = 0
        self.nulls = 0
        self.values: list[tuple[str, Any]] = []

    def facts(self) -> dict[str, Any]:
        """Return the facts of them."""
        single = Counter(item for item in self.values if item[0] not in {"list", "struct"})
        ranges = {}
        for kind in ("int", "float", "timestamp", "string"):
            of_kind = [value for other, value in single if other == kind]
            if of_kind:
                ranges[kind] = (shown(min(of_kind)), shown(max(of_kind)))
        counts = None
        if len(single) <= MOST_COUNTED:
            counts = sorted(single.values(), reverse=True)[:10]
        return {
            "rows": self.rows,
            "values": len(self.values) + self.nulls,
            "nulls": self.nulls,
            "distinct": len(single) if len(single) <= MOST_EXACT else None,
            "ranges": ranges,
            "counts": counts,
        }


def shown(value: Any) -> Any:
    """Return a value as JSON has it, a long text as it is cut."""
    us = ion.instant_to_us(value)
    if us is not None:
        return instants.text(us)
    if isinstance(value, str) and len(data := value.encode()) > 96:
        return data[:96].decode(errors="ignore") + "…"
    return value


def naive(rows: Iterable[dict[str, Any]]) -> dict[Path, Naive]:
    """Look at all values of rows."""
    results: dict[Path, Naive] = {}
    for row in rows:
        seen: set[Path] = set()
        stack: list[tuple[Path, Any]] = [((name,), value) for name, value in row.items()]
        while stack:
            path, value = stack.pop()
            first = results.setdefault(path, Naive())
            first.rows += path not in seen
            seen.add(path)
            if value is None:
                first.nulls += 1
                continue
            kind = KINDS[type(value)]
            if kind == "list":
                stack += [((*path, None), item) for item in value]
            elif kind == "struct":
                stack += [((*path, name), item) for name, item in value.items()]
            first.values.append((kind, None if kind in {"list", "struct"} else value))
    return results


def facts_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the same facts of a field as they are shown."""
    is_counted = facts["uncounted"] == 0
    return {
        "rows": facts["rows"],
        "values": facts["values"],
        "nulls": facts["nulls"],
        "distinct": facts["distinct"] if facts["distinct_exact"] else None,
        "ranges": {item["type"]: (item["min"], item["max"]) for item in facts["ranges"]},
        "counts": [item["count"] for item in facts["frequent"]] if is_counted else None,
    }
