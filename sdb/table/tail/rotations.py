"""Rotated files beside logs, and since when those are of interest that the table does not know."""

from __future__ import annotations

import math

from sdb.table.tail.folders import LogFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from sdb.table.tail.logtext import FileFacts


class Rotations:
    """The rotated files of logs, by the paths that these are at.

    Positions say since when there may be rotated files without an entry. Times of files are
    compared with times of files: a clock that was ahead once would hide them for ever.
    """

    def __init__(self) -> None:
        self._since: dict[str, set[int]] = {}
        self._folders = LogFolders()

    @property
    def logs(self) -> Collection[str]:
        """The paths that positions were noted for."""
        return self._since.keys()

    def look_at(self, folders: LogFolders) -> None:
        """Take the files that there are now."""
        self._folders = folders

    def note(self, path: str, since: int) -> None:
        """Record what the position of a file says.

        * ``path``: Where its log is, or was.
        """
        self._since.setdefault(path, set()).add(since)

    def new(self) -> Iterator[tuple[str, FileFacts]]:
        """Yield files that the table may not know, the oldest of each log first."""
        for path in list(self._since):
            since = self._begun(path)
            for beside, facts in self._folders.rotated(path):
                if since is not None and int(facts.written) >= since:
                    yield beside, facts

    def since(self, path: str, is_known: Callable[[FileFacts], bool]) -> int:
        """Return since when there may be rotated files of a log that the table does not know.

        * ``is_known``: Tells of a file whether it has an entry, or needs none.
        """
        before = self._begun(path)
        rotated = [facts for _, facts in self._folders.rotated(path)]
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
        facts = self._folders.at(path)
        return math.inf if facts is None else facts.written
