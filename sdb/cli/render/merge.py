"""Merges for people: what came of one, and what is in conflict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sdb import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.history.merge import MergeConflictError, MergedBranch
    from sdb.table.history.rowmerge import RowConflict

MOST_ROWS = 10
_MOST_LETTERS = 200
_SIDES = ("base", "ours", "theirs")


def merged_text(done: MergedBranch, table: str, source: str, into: str) -> str:
    """Report what a merge came to."""
    if not done.is_new:
        return f"{into} has all of {source} already"
    text = f"version {done.version} of {table}: "
    counts = done.counts
    if counts is None:
        came, went = len(done.added), len(done.removed)
        return f"{text}{sizes.counted(came, 'packfile')} came, {went:,} went"
    done_to = [(name, number) for name, number in counts.as_dict().items() if number]
    if not done_to:
        return f"{text}no row changed"
    (name, number), *others = done_to
    more = "".join(f", {number:,} {name}" for name, number in others)
    return f"{text}{sizes.counted(number, 'row')} {name}{more}"


def conflict_lines(error: MergeConflictError, source: str, into: str) -> Iterator[str]:
    """Report what is in conflict: packfiles, inputs, and rows with the values of all sides."""
    for name in (*error.packfiles, *error.inputs):
        yield f"conflict: {name}"
    for conflict in error.rows[:MOST_ROWS]:
        rows = _rows(conflict)
        first = next((row for row in rows if row is not None), None)
        yield f"conflict: {_short(first)}"
        for name, row in zip(("base", into, source), _parted(rows), strict=True):
            yield f"  {name}: {_short(row)}"
    if more := error.row_count - min(len(error.rows), MOST_ROWS):
        yield f"conflict: {more:,} more rows; --json lists the first {len(error.rows):,} of all"


def _parted(rows: list[Any]) -> list[Any]:
    """Return what is not the same in all rows; a side without the row stays None."""
    sides = [row for row in rows if row is not None]
    if not all(isinstance(row, dict) for row in sides):
        return rows
    names = dict.fromkeys(name for row in sides for name in row)
    parted: list[dict[str, Any]] = [{} for _ in sides]
    for name in names:
        having = [(part, row[name]) for part, row in zip(parted, sides, strict=True) if name in row]
        values = [value for _, value in having]
        texts = {json.dumps(value) for value in values}  # 1 and true are equal otherwise
        if len(having) == len(sides) and len(texts) == 1:
            continue
        if len(having) == len(sides) and all(isinstance(value, dict) for value in values):
            values = _parted(values)
        for (part, _), value in zip(having, values, strict=True):
            part[name] = value
    left = iter(parted)
    return [None if row is None else next(left) for row in rows]


def _short(row: object) -> str:
    """Return a row as JSON, cut after some hundred letters."""
    text = "no row" if row is None else json.dumps(row, ensure_ascii=False)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."


def conflict_dict(error: MergeConflictError) -> dict[str, object]:
    """Return what is in conflict as plain values with stable names, for JSON."""
    rows = [
        {"packfile": conflict.packfile, "row": conflict.row}
        | dict(zip(_SIDES, _rows(conflict), strict=True))
        for conflict in error.rows
    ]
    return {
        "conflicts": {
            "packfiles": list(error.packfiles),
            "inputs": list(error.inputs),
            "row_count": error.row_count,
            "rows": rows,
        }
    }


def _rows(conflict: RowConflict) -> list[Any]:
    """Return the row on each side as JSON has it."""
    sides = (conflict.base, conflict.ours, conflict.theirs)
    return [None if row is None else json.loads(json.dumps(row, default=_text)) for row in sides]


def _text(value: object) -> str:
    """Return what JSON has no form for as text."""
    from base64 import b64encode
    from datetime import datetime

    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)
