"""Levels of compression: how much time packing may take for a smaller packfile.

They are zstd's numbers, and names for those that people want. The default is no level of zstd
alone: how much work each part of the rows is worth is decided by what it saves.
"""

from __future__ import annotations

from sdb import bounds, notes
from sdb.errors import UsageError

DEFAULT = 3
NAMES = {"fast": 1, "default": DEFAULT, "small": 12, "max": 19}


def number(level: int | str) -> int:
    """Return the number of a level.

    * ``level``: A name, or a number from 1 to 22.

    Raises `UsageError` if it is neither.

    >>> number("small"), number(19)
    (12, 19)
    """
    if not isinstance(level, str):
        return bounds.LEVEL.check(level)
    if level in NAMES:
        return NAMES[level]
    expected = f"{', '.join(NAMES)}, or {bounds.LEVEL.expected}"
    raise UsageError(f"{level[:40]!r} is not a level", expected=expected, hint=f"it is {expected}")


def read(text: str) -> int:
    """Read a level as people write it: a name, or the digits of a number.

    Raises `UsageError` if it is neither.

    >>> read("small"), read("7")
    (12, 7)
    """
    return bounds.LEVEL.count(text) if text.isdigit() else number(text)


def name(level: int) -> str:
    """Return the name of a level, or its number where it has none.

    >>> name(12), name(7)
    ('small', '7')
    """
    return next((name for name, known in NAMES.items() if known == level), str(level))


def applies(algorithm: str) -> bool:
    """Return whether a compression has levels: those with zstd have, the others have none."""
    return not algorithm.startswith("zion+iguana")


def tell(level: int, algorithm: str) -> None:
    """Say that a level that was asked for changes nothing, if that is so."""
    if not applies(algorithm):
        notes.warn(f"{algorithm} has no levels: level {name(level)} changes nothing")


def kept(level: int, algorithm: str) -> int | None:
    """Return the level that a packfile remembers: none if it has no levels, or has the default."""
    return level if applies(algorithm) and level != DEFAULT else None
