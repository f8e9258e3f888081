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
        """Give what is to be told of them."""
        single = Counter(one for one in self.values if one[0] not in {"list", "struct"})
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
    """Give a value as JSON has it, a long text as it is cut."""
    us = ion.instant_to_us(value)
    if us is not None:
        return instants.text(us)
    if isinstance(value, str) and len(data := value.encode()) > 96:
        return data[:96].decode(errors="ignore") + "…"
    return value


def naive(rows: Iterable[dict[str, Any]]) -> dict[Path, Naive]:
    """Look at all values of rows."""
    found: dict[Path, Naive] = {}
    for row in rows:
        seen: set[Path] = set()
        stack: list[tuple[Path, Any]] = [((name,), value) for name, value in row.items()]
        while stack:
            path, value = stack.pop()
            one = found.setdefault(path, Naive())
            one.rows += path not in seen
            seen.add(path)
            if value is None:
                one.nulls += 1
                continue
            kind = KINDS[type(value)]
            if kind == "list":
                stack += [((*path, None), item) for item in value]
            elif kind == "struct":
                stack += [((*path, name), item) for name, item in value.items()]
            one.values.append((kind, None if kind in {"list", "struct"} else value))
    return found


def facts_of(told: dict[str, Any]) -> dict[str, Any]:
    """Give the same facts of a field as they are told."""
    is_counted = told["uncounted"] == 0
    return {
        "rows": told["rows"],
        "values": told["values"],
        "nulls": told["nulls"],
        "distinct": told["distinct"] if told["distinct_exact"] else None,
        "ranges": {one["type"]: (one["min"], one["max"]) for one in told["ranges"]},
        "counts": [one["count"] for one in told["frequent"]] if is_counted else None,
    }
