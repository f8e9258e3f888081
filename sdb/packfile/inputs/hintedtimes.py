"""Times in hints files: forms of `strptime`, ``{"at": "%d/%m/%Y"}``, and fields that have any."""

from __future__ import annotations

import json

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.times import Path

_WILD = "?*["
_UNIT = "unix"  # what hints of numbers that are times begin with


def without_forms(hints: bytes) -> tuple[bytes, tuple[tuple[Path, str], ...]]:
    """Take the forms of times out of hints, which the core reads by fields and not by rules.

    Raises `UsageError` if a form is for a path that stands for several.

    >>> without_forms(b'{"id": "string", "user.at": ["%d/%m/%Y", "no_index"]}')[1]
    ((('user', 'at'), '%d/%m/%Y'),)
    """
    rules = _rules(hints) if b"%" in hints else None
    if rules is None:
        return hints, ()
    forms: dict[Path, str] = {}
    for path, rule in rules:
        words = [rule["hints"]] if isinstance(rule["hints"], str) else list(rule["hints"])
        named = [word for word in words if isinstance(word, str) and "%" in word]
        if named and not set(_WILD).isdisjoint(path):
            raise UsageError(f"hints: {path}: {named[0]!r} is for one field, so no ? or * here")
        if named:
            forms.setdefault(tuple(path.split(".")), named[0])
            rule["hints"] = [word for word in words if word not in named]
    remaining = [rule for _, rule in rules if rule["hints"] != []]
    return json.dumps(remaining).encode(), tuple(forms.items())


def hinted_times(hints: bytes) -> set[Path]:
    """Return the fields whose values are times by hints for JSON, CSV or TSV.

    >>> hinted_times(b'{"ts": "unix_ms", "id": "int"}')
    {('ts',)}
    >>> hinted_times(b'{"fields": [{"name": "a.at", "type": "datetime"}, {"name": "n"}]}')
    {('a', 'at')}
    """
    columns = _columns(hints)
    if columns is not None:
        return {tuple(name.split(".")) for name in columns}
    return {
        tuple(path.split("."))
        for path, rule in _rules(hints) or ()
        if set(_WILD).isdisjoint(path) and _UNIT in str(rule["hints"]).lower()
    }


def _columns(hints: bytes) -> list[str] | None:
    """Return the columns of times by hints for CSV or TSV; None: they are for JSON."""
    try:
        read: Any = json.loads(hints)
        columns = [column for column in read["fields"] if "name" in column]
        return [column["name"] for column in columns if column.get("type") == "datetime"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _rules(hints: bytes) -> list[tuple[str, dict[str, Any]]] | None:
    """Read rules of either form; None: they are malformed, which the core says better."""
    pairs: Any = list
    try:
        read: Any = json.loads(hints, object_pairs_hook=pairs)
    except ValueError:
        return None
    if read and isinstance(read[0], tuple):  # an object
        read = [[("path", path), ("hints", words)] for path, words in read]
    try:
        rules = [dict(rule) for rule in read]
    except (TypeError, ValueError):
        return None
    fit = all(
        isinstance(rule.get("path"), str) and isinstance(rule.get("hints"), str | list)
        for rule in rules
    )
    return [(rule["path"], rule) for rule in rules] if fit else None
