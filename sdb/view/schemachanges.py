"""Differences between schemas as text, a line each."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.table.schema.difference import ColumnChange

_SIGNS = {"added": "+", "dropped": "-"}


def difference_lines(changes: Sequence[ColumnChange]) -> Iterator[str]:
    """Yield a line for each difference between two schemas."""
    if not changes:
        yield "the schemas are the same"
    for change in changes:
        sign = _SIGNS.get(change.change, "~")
        if change.change == "added":
            yield f"{sign} {change.column} {change.after}"
        elif change.change == "dropped":
            yield f"{sign} {change.column} {change.before}"
        else:
            before, after = (_shown(value) for value in (change.before, change.after))
            name = f"{change.column} " if change.column else ""
            yield f"{sign} {name}{change.change}: {before} -> {after}"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, ensure_ascii=False)
