"""How many examples and seeds tests play: a part of them each day, all in ``make test-wide``."""

from __future__ import annotations

import os

ALL = bool(os.environ.get("SDB_ALL_SEEDS") or os.environ.get("SDB_RANDOM"))
_PART = 4
_FEWEST = 10


def usual(whole: int, fewest: int = _FEWEST) -> int:
    """Return how many of the seeds or examples of a test are played now."""
    return whole if ALL else max(whole // _PART, min(whole, fewest))
