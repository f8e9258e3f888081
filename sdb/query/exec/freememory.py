"""The memory that a query may take when nothing is said."""

from __future__ import annotations

from contextlib import suppress

_LEAST = 256 << 20
_MEMINFO = "/proc/meminfo"
_CGROUP = "/sys/fs/cgroup/memory"


def default_bytes() -> int | None:
    """Return four fifths of what is free in the machine and its container; None: not known."""
    free = [each for each in (_of_machine(), _of_container()) if each is not None]
    return max(_LEAST, min(free) * 4 // 5) if free else None


def _of_machine() -> int | None:
    for line in _text(_MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None


def _of_container() -> int | None:
    most, used = _text(f"{_CGROUP}.max").strip(), _text(f"{_CGROUP}.current").strip()
    return int(most) - int(used) if most.isdigit() and used.isdigit() else None


def _text(path: str) -> str:
    with suppress(OSError), open(path) as file:  # noqa: PTH123 - a plain string
        return file.read()
    return ""
