"""Rotated files beside logs, and since when those are of interest that the table does not know."""

from __future__ import annotations

import math
import os
from contextlib import suppress

from sdb.table.tail.logtext import FileFacts
from sdb.table.tail.names import rotated_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sdb.table.format.positions import LogPosition


class Rotations:
    """The rotated files of logs, by the paths that these are at.

    Positions say since when there may be rotated files without an entry. Times of files are
    compared with times of files: a clock that was ahead once would hide them for ever.
    """

    def __init__(self) -> None:
        self._since: dict[str, set[int]] = {}
        self._beside: dict[str, dict[str, list[str]]] = {}

    def look_again(self) -> None:
        """Forget which files there were."""
        self._beside = {}

    def note(self, path: str, since: int) -> None:
        """Record what the position of a file says.

        * ``path``: Where its log is, or was.
        """
        self._since.setdefault(path, set()).add(since)

    def of(self, path: str) -> list[str]:
        """Return the files beside a path that were at it before, by their names."""
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder not in self._beside:
            self._beside[folder] = rotated_files(folder)
        return self._beside[folder].get(path, [])

    def new(self) -> Iterator[tuple[str, FileFacts]]:
        """Yield files that the table may not know, the oldest of each log first."""
        for path in list(self._since):
            since = self._begun(path)
            for beside, facts in present(self.of(path)):
                if since is not None and int(facts.written) >= since:
                    yield beside, facts

    def since(self, path: str, is_known: Callable[[FileFacts], bool]) -> int:
        """Return since when there may be rotated files of a log that the table does not know.

        * ``is_known``: Tells of a file whether it has an entry, or needs none.
        """
        before = self._begun(path)
        rotated = [facts for _, facts in present(self.of(path))]
        if before is None:  # what was rotated before the first look is of interest to patterns only
            old = [int(facts.written) + 1 for facts in rotated if not is_known(facts)]
            return max(old, default=0)
        known = [int(facts.written) for facts in rotated if is_known(facts)]
        missed = [
            int(facts.written)
            for facts in rotated
            if not is_known(facts) and int(facts.written) >= before
        ]
        return int(min([max([before, *known]), *missed, self._written(path)]))

    def _begun(self, path: str) -> int | None:
        """Return the last time that positions say; None: there are none.

        What is later than the log itself was written to is of a clock that was ahead.
        """
        stored, limit = self._since.get(path), self._written(path)
        if not stored:
            return None
        return max((since for since in stored if since <= limit), default=min(stored))

    def _written(self, path: str) -> float:
        facts = FileFacts.of(path)
        return math.inf if facts is None else facts.written


def present(paths: Iterable[str]) -> Iterator[tuple[str, FileFacts]]:
    """Yield those of some paths that there are files at, the oldest first."""
    pairs = [(path, facts) for path in paths if (facts := FileFacts.of(path)) is not None]
    yield from sorted(pairs, key=lambda pair: (pair[1].written, pair[0]))


def paths_of(position: LogPosition) -> list[str]:
    """Return the paths that the inode of a position has now in the folder where it was."""
    paths = []
    # Behind a symbolic link a log is rotated in its own folder.
    for path in {position.path, os.path.realpath(position.path)}:
        with suppress(OSError), os.scandir(os.path.dirname(path)) as entries:  # noqa: PTH120
            paths += [entry.path for entry in entries if entry.inode() == position.inode]
    return paths
