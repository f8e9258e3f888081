"""The folders of logs as they are at one moment, though files are rotated meanwhile.

A rotation renames several files one after the other, and a file that is compressed gets another
inode. Who lists a folder and then looks at one name after the other takes one file for another, or
misses one. So a folder is listed again after its files were looked at, until both lists are equal.
"""

from __future__ import annotations

import os
import time

from sdb.records import record
from sdb.table.tail.logtext import FileFacts
from sdb.table.tail.names import rotated_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from sdb.table.format.positions import LogPosition

    Seen: TypeAlias = tuple[str, FileFacts]

_ATTEMPTS = 500
_PAUSE_SECONDS = 0.001


@record
class _Folder:
    files: Mapping[str, FileFacts]
    rotated: Mapping[str, list[Seen]]  # by the paths that they were at before, the oldest first


class LogFolders:
    """The files at and beside logs, each folder as it is when it is first asked for.

    * ``logs``: Paths of logs.
    * ``inodes``: Those of files that count under any name.
    """

    def __init__(self, logs: Iterable[str] = (), inodes: Iterable[int] = ()) -> None:
        self._logs, self._inodes = frozenset(logs), frozenset(inodes)
        self._folders: dict[str, _Folder] = {}

    def files(self) -> dict[str, FileFacts]:
        """Return all files, by their paths."""
        folders = sorted({os.path.dirname(path) for path in self._logs})  # noqa: PTH120
        return {path: facts for folder in folders for path, facts in self._in(folder).files.items()}

    def at(self, path: str) -> FileFacts | None:
        """Return the file at a path."""
        return self._in(os.path.dirname(path)).files.get(path)  # noqa: PTH120

    def rotated(self, log: str) -> list[Seen]:
        """Return the files beside a log that were at its path before, by their names."""
        return self._in(os.path.dirname(log)).rotated.get(log, [])  # noqa: PTH120

    def known(self, path: str, identity: tuple[int, int]) -> Seen | None:
        """Return the file that was at a path, or at another one beside the same log."""
        log = rotated_base(path) or path
        at = self.at(path)
        seen = [*([(path, at)] if at else []), *self.rotated(log)]
        return next(((path, facts) for path, facts in seen if facts.identity == identity), None)

    def of(self, position: LogPosition) -> list[Seen]:
        """Return the files that have the inode of a position in the folder where it was."""
        # Behind a symbolic link a log is rotated in its own folder.
        paths = position.path, os.path.realpath(position.path)
        folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120
        return [
            (path, facts)
            for folder in sorted(folders)
            for path, facts in self._in(folder).files.items()
            if facts.inode == position.inode
        ]

    def _in(self, folder: str) -> _Folder:
        if folder not in self._folders:
            self._folders[folder] = self._looked_at(folder)
        return self._folders[folder]

    def _looked_at(self, folder: str) -> _Folder:
        inodes = _inodes(folder)
        for _ in range(_ATTEMPTS):
            files = {
                path: FileFacts.of(path)
                for path, inode in inodes.items()
                if self._means(path, inode)
            }
            before, inodes = inodes, _inodes(folder)
            if not any(self._means(*changed) for changed in before.items() ^ inodes.items()):
                break
            time.sleep(_PAUSE_SECONDS)
        there = {path: facts for path, facts in files.items() if facts is not None}
        rotated: dict[str, list[Seen]] = {}
        for path, facts in sorted(there.items(), key=lambda seen: (seen[1].written, seen[0])):
            rotated.setdefault(rotated_base(path), []).append((path, facts))
        return _Folder(there, rotated)

    def _means(self, path: str, inode: int) -> bool:
        return path in self._logs or inode in self._inodes or rotated_base(path) in self._logs


def _inodes(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder or ".") as entries:
            return {f"{folder.rstrip('/')}/{entry.name}": entry.inode() for entry in entries}
    except OSError:
        return {}
