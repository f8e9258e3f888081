"""The memory that a program may take: of the machine, its containers, and its own limits."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST = 256 << 20
_MEMINFO = "/proc/meminfo"
_OWN_GROUPS = "/proc/self/cgroup"
_OWN_SIZES = "/proc/self/statm"
_CGROUPS = "/sys/fs/cgroup"
_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
"""The limit and what is used, of cgroups of version 2 and of version 1."""
_LIMITS = ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5))
"""Limits of a process, and which number of `statm` has what it takes of each."""


def default_bytes() -> int | None:
    """Return four fifths of what is free, for a query if nothing is said; None: not known."""
    free = [most - used for most, used in _bounds()]
    available = _of_machine("MemAvailable:")
    free += [] if available is None else [available]
    if not free:
        return None
    limit = limit_bytes()
    return max(_LEAST if limit is None else min(_LEAST, limit // 2), min(free) * 4 // 5)


def limit_bytes() -> int | None:
    """Return the most that this program may ever take; None: not known."""
    total = _of_machine("MemTotal:")
    most = [most for most, _ in _bounds()] + ([] if total is None else [total])
    return min(most, default=None)


def _bounds() -> Iterator[tuple[int, int]]:
    """Yield what bounds this program: how much it may take, and how much is taken of that."""
    for folder in _groups():
        for limit, usage in _FILES:
            most, used = (_text(f"{folder}/{name}").strip() for name in (limit, usage))
            if most.isdigit() and used.isdigit():
                yield int(most), max(0, int(used) - _reclaimable(folder))
    pages = _text(_OWN_SIZES).split()
    for kind, at in _LIMITS:
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY and at < len(pages):
            yield soft, int(pages[at]) * os.sysconf("SC_PAGE_SIZE")


def _groups() -> Iterator[str]:
    """Yield the folders of the cgroups of this program, and of those around them."""
    for line in _text(_OWN_GROUPS).splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        folder = f"{_CGROUPS}/memory" if kinds else _CGROUPS
        parts = [part for part in path.split("/") if part]
        # In a container the path may be that of the machine: then only the first folder is there.
        for count in range(len(parts) + 1):
            yield "/".join((folder, *parts[:count]))


def _reclaimable(folder: str) -> int:
    """Return how much of what a cgroup takes are files that the system can read again."""
    for line in _text(f"{folder}/memory.stat").splitlines():
        name, _, number = line.partition(" ")
        if name in {"total_inactive_file", "inactive_file"} and number.isdigit():
            return int(number)
    return 0


def _of_machine(name: str) -> int | None:
    for line in _text(_MEMINFO).splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return None


def _text(path: str) -> str:
    with suppress(OSError), open(path) as file:  # noqa: PTH123 - a plain string
        return file.read()
    return ""
