"""Durations as people write them: ``500ms``, ``5s``, ``2m``, ``24h``, ``2d``."""

from __future__ import annotations

from sdb.errors import UsageError

_UNIT_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})\s*(ms|[smhdw])?"
_PRECISE_BELOW_SECONDS = 10


def seconds(
    text: str, *, bare: bool = False, expected: str = "a time like 30d, 12h, 90m or 30s"
) -> float:
    """Read a duration.

    * ``bare``: Whether a number alone counts seconds; otherwise it needs a unit, so that 24
      is not read as seconds where hours are meant.

    Raises `UsageError` if the text is not a duration.

    >>> seconds("500ms"), seconds("5s"), seconds("2m"), seconds("24h"), seconds("2d")
    (0.5, 5.0, 120.0, 86400.0, 172800.0)
    """
    import re

    match = re.fullmatch(_DURATION, text.strip().lower())
    if match is None or not (match[2] or bare):
        raise UsageError(f"{text[:40]!r} is not a span of time", expected=expected)
    # Whole numbers of a unit divide: 300 * 1e-3 would not be 0.3.
    if match[2] == "ms":
        return float(match[1]) / 1e3
    return float(match[1]) * _UNIT_SECONDS[match[2] or "s"]


def written(duration_seconds: float) -> str:
    """Write a duration in seconds, for messages.

    >>> written(0.25), written(61.4)
    ('0.2 s', '61 s')
    """
    digits = 1 if duration_seconds < _PRECISE_BELOW_SECONDS else 0
    return f"{duration_seconds:.{digits}f} s"
