"""Patterns of local files; ``**`` enters each folder once, whatever links there are."""

from __future__ import annotations

import errno
import glob
import os
from collections import deque

from sdb.errors import from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ANY_DEPTH = "**"


def matching(pattern: str) -> list[str]:
    """List the files that a pattern of :mod:`glob` matches.

    ``**`` stands for any number of folders. It follows symbolic links to folders, but enters each
    folder once, under its own name rather than that of a link: a link to a folder above it leads
    nowhere, and no file comes twice. Hidden files and folders only match what begins with a dot.

    * ``pattern``: A path with ``*``, ``?``, ``[...]`` or ``**``.

    Raises `AccessError` if ``**`` stands for a folder that may not be listed.
    """
    names = (path for path in _found(pattern) if os.path.isfile(path))  # noqa: PTH113
    if _ANY_DEPTH not in pattern.split("/"):
        return sorted(names)
    seen: dict[tuple[str, str], str] = {}
    for name in names:
        above, last = os.path.split(name)
        seen.setdefault((os.path.realpath(above), last), name)
    return sorted(seen.values())


def _found(pattern: str) -> Iterator[str]:
    """Iterate over what a pattern matches, folders too; what is nearer by name comes first."""
    parts = pattern.split("/")
    if _ANY_DEPTH not in parts:
        yield from glob.glob(pattern)  # noqa: PTH207 - a pattern of paths, not in a folder
        return
    at = parts.index(_ANY_DEPTH)
    above, below = "/".join(parts[:at]), "/".join(parts[at + 1 :]) or "*"
    root = "/" if at else ""
    for start in sorted(glob.glob(above + "/")) if above else [root]:  # noqa: PTH207
        for folder in _folders(start):
            yield from _found(glob.escape(folder) + below)


def _folders(start: str) -> Iterator[str]:
    """Iterate over a folder and those below it, each one once; links come last."""
    seen: set[tuple[int, int]] = set()
    waiting, links = deque([start]), deque[str]()
    while waiting or links:
        folder = waiting.popleft() if waiting else links.popleft()
        try:
            status = os.stat(folder or ".")  # noqa: PTH116 - a plain string
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder or ".") as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
            yield folder
            for entry in inside:
                if not entry.name.startswith(".") and _is_folder(entry):
                    target = links if entry.is_symlink() else waiting
                    target.append(f"{folder}{entry.name}/")
        except FileNotFoundError:  # it was removed meanwhile
            continue
        except OSError as error:
            raise from_os(error, "listing", folder or ".") from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False  # a link to itself
