"""Limits for tests about time, on machines that have other things to do."""

from __future__ import annotations

import os


def soon(seconds: float) -> float:
    """Return what these seconds of a quiet machine may take on this one, as busy as it is now."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
