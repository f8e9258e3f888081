"""Names of log files: which files the arguments of a command mean, and those of rotated ones."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from sdb.errors import UsageError
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_WILD = frozenset("*?[")
_MIDDLE = r"[._-](?:\d[\dT._:-]*|old)"
_ROTATED = re.compile(rf"(?P<base>.+?)(?P<middle>{_MIDDLE})(?P<ending>\.[A-Za-z]\w*?)??(\.gz)?")


class LogNames:
    """The files that arguments mean: paths, and patterns that are looked up again and again.

    Raises `UsageError` if one is no path of this machine.
    """

    def __init__(self, arguments: Iterable[str]) -> None:
        self.plain: list[str] = []
        self._patterns: list[str] = []
        for argument in arguments:
            if argument == "-" or store_of(argument).path_of(argument) is None:
                hint = "objects do not grow: sdb sync takes them"
                if argument == "-":
                    hint = "sdb insert DB.TABLE - takes the lines of a pipe"
                raise UsageError(f"{argument}: no log file of this machine", hint=hint)
            path = os.path.abspath(store_of(argument).path_of(argument) or "")  # noqa: PTH100
            is_wild = not _WILD.isdisjoint(path) and not os.path.lexists(path)
            (self._patterns if is_wild else self.plain).append(path)

    def paths(self) -> list[str]:
        """Return the paths that there may be files at now, each one once."""
        paths = dict.fromkeys(self.plain)
        if self._patterns:
            from glob import glob

            for pattern in self._patterns:
                paths |= dict.fromkeys(sorted(glob(pattern, recursive=True)))  # noqa: PTH207
        return list(paths)

    def idle_patterns(self) -> list[str]:
        """Return the patterns that find nothing now."""
        from glob import iglob

        return [
            pattern
            for pattern in self._patterns
            if next(iglob(pattern, recursive=True), None) is None  # noqa: PTH207
        ]

    def means(self, path: str) -> bool:
        """Return whether a file at a path is meant."""
        return path in self.plain or any(
            fnmatchcase(path, pattern.replace("/**/", "/*")) for pattern in self._patterns
        )


def rotated_base(path: str) -> str:
    """Return the path that a rotated file was at before, by its name; empty: it has no such name.

    >>> rotated_base("/var/log/app.log.2.gz"), rotated_base("/var/log/app-20261126.log")
    ('/var/log/app.log', '/var/log/app.log')
    """
    folder, slash, name = path.rpartition("/")
    match = _ROTATED.fullmatch(name)
    if match is None:
        return path.removesuffix(".gz") if name.endswith(".gz") and name != ".gz" else ""
    return f"{folder}{slash}{match['base']}{match['ending'] or ''}"


def is_kin(path: str, other: str) -> bool:
    """Return whether two paths are those of one log, rotated or not, by their names."""
    return path != other and (rotated_base(path) or path) == (rotated_base(other) or other)
