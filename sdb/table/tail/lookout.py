"""The log files that are followed: found again under other names, as copies, and with gzip.

A file is known by device and inode, together with samples of its first bytes and of the last ones
before the position. Where these fit, the name does not matter; where the inode fits and they do
not, it was truncated, or its inode is that of another file now. A file with another inode is the
same if it has the bytes of one that is not there any more.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sdb.errors import AccessError, CorruptError
from sdb.records import replace
from sdb.table.format.positions import SAMPLE_BYTES, LogPosition, digest, origin_of
from sdb.table.tail.followed import FilesThere, FollowedFile, KnownPositions, key_by_content
from sdb.table.tail.logtext import FileFacts, LogCursor, PlainText, has_position, open_text
from sdb.table.tail.names import is_kin, rotated_base, rotated_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import TypeAlias

    from sdb.errors import SdbError
    from sdb.table.tail.logtext import PackedText
    from sdb.table.tail.names import LogNames

    Identity: TypeAlias = tuple[int, int]

QUIET_SECONDS = 60.0
"""A file that was rotated out of sight is followed until nobody has written to it for so long."""

FORGET_SECONDS = 30 * 86_400
"""The entry of a file that is gone for so long is used again for another one."""

_SETTLE_SECONDS = 2.0


class Lookout:
    """Finds the files to follow, and where in each of them to go on.

    * ``load``: Returns the positions that the table has, by their keys.
    * ``say``: Called with what people should know.
    * ``check``: Called with the path of each file that is new; may refuse it.
    """

    def __init__(
        self,
        names: LogNames,
        load: Callable[[], Mapping[str, str]],
        say: Callable[[str], None],
        check: Callable[[str], None],
        *,
        settle_seconds: float = _SETTLE_SECONDS,
    ) -> None:
        self._names, self._load, self._say, self._check = names, load, say, check
        self.settle_seconds = settle_seconds
        self.host = os.uname().nodename
        self.files: dict[Identity, FollowedFile] = {}
        self._known = KnownPositions({})
        self.positions = self._known.by_key
        self._keys: dict[str, FollowedFile] = {}
        self._there = FilesThere(())
        self.finished: dict[str, LogPosition] = {}
        self._passed: dict[Identity, FileFacts] = {}
        self._truncated: list[FollowedFile] = []
        self._heard: set[str] = set()
        self._is_fresh = False
        # Since when there may be rotated files without an entry, by the path that they were at, and
        # entries of files that were not read to their end
        self._looked_at = 0
        self._origins: dict[str, int] = {}
        self._open: dict[str, str] = {}
        self._beside: dict[str, dict[str, list[str]]] = {}

    def begin(self) -> None:
        """Begin with what the table has; what was known before is forgotten."""
        self.close()
        self.files, self._passed, self._truncated, self._keys = {}, {}, [], {}
        self.finished = {}
        self._refresh()

    def close(self) -> None:
        """Close all files."""
        for file in self.files.values():
            file.close()

    def look(self) -> None:
        """Look for files that are new, were renamed, truncated or compressed."""
        self._is_fresh, self._beside, self._looked_at = False, {}, int(time.time())
        listed = self._listed()
        for identity, file in list(self.files.items()):
            self._look_at(file, listed.get(identity))
        self._there = FilesThere(self.files.values())
        for identity, (path, facts) in sorted(listed.items(), key=_by_time):
            if identity not in self.files:
                self._meet(path, facts)
        self._search()
        self._tell_truncated()
        for file in list(self.files.values()):
            self._rest(file)

    def dropped(self, file: FollowedFile) -> None:
        """Take note that a file has other bytes now where it was read."""
        file.close()
        self._remove(file)
        self._passed.clear()
        if file.cursor.offset:
            self._truncated.append(file)

    def pass_over(self, file: FollowedFile, error: SdbError) -> None:
        """Leave a file out from where it cannot be read any further."""
        file.close()
        self._remove(file)
        self._passed[file.facts.identity] = file.facts
        self._hear(f"{error.message}: left out from byte {file.cursor.offset:,} on")

    def position_of(
        self, file: FollowedFile, cursor: LogCursor, taken: Collection[FollowedFile] = ()
    ) -> LogPosition:
        """Return the position of a file for the table.

        * ``taken``: The files that get a position together with it.
        """
        samples = digest(cursor.head), digest(cursor.last)
        # Who has not heard of the rotation yet may still write to it.
        is_done = file.is_rotated and file.facts.size_bytes <= cursor.offset
        is_done = not file.is_packed and is_done and file.is_quiet(QUIET_SECONDS)
        where = self.host, file.path
        now, since = int(time.time()), self._since(file.path, taken)
        return LogPosition(
            cursor.offset, *samples, *where, *file.facts.identity, now, since, is_done
        )

    def _since(self, path: str, taken: Collection[FollowedFile]) -> int:
        """Return since when there may be rotated files without an entry."""
        path = rotated_base(path) or path
        before = self._origins.get(path, 0)
        if not before:  # those before the first look are of interest only to a pattern
            return self._looked_at
        for _, facts in _present(self._rotated(path)):
            file = self.files.get(facts.identity)
            has_entry = file is not None and (file.key or file in taken)
            if facts.written >= before and not has_entry and facts.identity not in self._passed:
                return min(int(facts.written), self._looked_at)
        return self._looked_at

    def committed(
        self, key: str, text: str, position: LogPosition, file: FollowedFile | None = None
    ) -> None:
        """Take note of a position that the table has now.

        * ``file``: The file that it is of, if that is followed.
        """
        if file is not None:
            file.key, file.stored = key, text
            self._keys[key] = file
        self._known.put(key, text, position)
        self.finished.pop(key, None)
        self._note(key, position)

    def _note(self, key: str, position: LogPosition) -> None:
        host, path = origin_of(key)
        path = rotated_base(path) or path
        self._open.pop(key, None)
        if host == self.host == position.host and self._names.means(path):
            self._origins[path] = max(position.since, self._origins.get(path, 0))
            if not position.is_done:
                self._open[key] = path

    def free_key(self, path: str) -> tuple[str, str]:
        """Return the entry of a file that was at a path long ago; empty if no file was."""
        before = time.time() - FORGET_SECONDS
        for key, (text, position) in self.positions.items():
            is_old = position.is_done and position.at < before and key not in self._keys
            if is_old and origin_of(key) == (self.host, path):
                return key, text
        return "", ""

    def _refresh(self) -> None:
        self._known = KnownPositions(self._load())
        self.positions = self._known.by_key
        self._origins, self._open = {}, {}
        for key, (_, position) in self.positions.items():
            self._note(key, position)
        self._is_fresh = True

    def _hear(self, text: str) -> None:
        """Say something once."""
        if text not in self._heard:
            self._heard.add(text)
            self._say(text)

    def _listed(self) -> dict[Identity, tuple[str, FileFacts]]:
        listed: dict[Identity, tuple[str, FileFacts]] = {}
        for path in self._names.paths():
            facts = FileFacts.of(path)
            if facts is not None:
                listed.setdefault(facts.identity, (path, facts))
        return listed

    def _look_at(self, file: FollowedFile, seen: tuple[str, FileFacts] | None) -> None:
        """Take note of the size and the name that a file has now."""
        file.is_listed = seen is not None
        facts: FileFacts | None = None
        if seen is not None:
            file.path, facts = seen
        else:
            self._follow_name(file)
            is_open = isinstance(file.text, PlainText)
            facts = FileFacts.of(file.text.descriptor if is_open else file.path)  # type: ignore[union-attr]
            if facts is not None and facts.identity != file.facts.identity:
                facts = None
        if facts is None:  # it was closed, and is not where it was
            file.close()
            self._remove(file)
        elif file.has_changed(facts):
            self.dropped(file)
        else:
            file.facts = facts

    def _follow_name(self, file: FollowedFile) -> None:
        """Find the name that a file was renamed to."""
        for path in (file.path, *self._rotated(rotated_base(file.path) or file.path)):
            facts = FileFacts.of(path)
            if facts is not None and facts.identity == file.facts.identity:
                file.path = path
                return

    def _meet(self, path: str, facts: FileFacts, *, is_known: bool = False) -> None:
        """Follow a file from where it was taken to, or from its start.

        * ``is_known``: Whether only a file that was taken before is meant.
        """
        if facts.size_bytes == 0 or self._passed.get(facts.identity) == facts:
            return
        text: PlainText | PackedText | None = None
        try:
            opened = open_text(path)
            if opened is None:
                return
            text, facts = opened
            file = FollowedFile(path, facts, text, is_packed=text.is_packed)
            if facts.identity in self.files or not self._may_be_read(file):
                text.close()
                return
            key = self._key_of(file)
            if key is None or (not key and is_known):
                text.close()
                return
            if key:
                file.key, (file.stored, position) = key, self.positions[key]
                file.cursor = LogCursor.at(text, position)
            else:
                self._check(path)
            self._follow_others(file, text)
        except (AccessError, CorruptError) as error:
            self._hear(f"{error.message}: left out")
            self._passed[facts.identity] = facts
            if text is not None:
                text.close()
            return
        file.is_listed = self._names.means(path)
        self.files[facts.identity] = file
        if file.key:
            self._keys[file.key] = file
        self._there.add(file)

    def _remove(self, file: FollowedFile) -> None:
        del self.files[file.facts.identity]
        self._keys.pop(file.key, None)

    def _follow_others(self, file: FollowedFile, text: PlainText | PackedText) -> None:
        """Go on where another machine is that has taken more of the same file, or of a copy."""
        for _, position in self._known.near(file):
            is_further = position.offset > max(file.cursor.offset, SAMPLE_BYTES - 1)
            if position.host != self.host and is_further and has_position(text, position):
                file.cursor = LogCursor.at(text, position)
                self._hear(
                    f"{file.path}: {position.host} has taken it up to byte "
                    f"{position.offset:,}: it is read from there"
                )

    def _may_be_read(self, file: FollowedFile) -> bool:
        """Return whether a file is whole: one with gzip is, once nobody writes to it."""
        return not file.is_packed or file.is_quiet(self.settle_seconds)

    def _key_of(self, file: FollowedFile) -> str | None:
        """Find the entry of a file; empty: it is new; None: it is the copy of one that is there."""
        while True:
            key = key_by_content(file, self._known, self.host, self._keys.keys())
            if key:
                return key
            other = self._there.original_of(file)
            if other is not None:
                if not is_kin(file.path, other.path):  # else it is how logs are rotated
                    begins = f"{file.path}: begins as {other.path}"
                    self._hear(f"{begins}: it is a copy, and not taken twice")
                if other.key:  # else it may be all that is left if this program is killed
                    self._passed[file.facts.identity] = file.facts
                return None
            if self._is_fresh:
                return ""
            self._refresh()  # another program may have taken it

    def _search(self) -> None:
        """Find files that were rotated to names that the arguments do not mean."""
        for key, path in list(self._open.items()):
            if key not in self._keys and key not in self.finished:
                self._find(key, self.positions[key][1], path)
        for path, since in list(self._origins.items()):
            for beside, facts in _present(self._rotated(path)):
                if facts.identity not in self.files and facts.written >= since:
                    self._meet(beside, facts)

    def _rotated(self, path: str) -> list[str]:
        """Return the files beside a path that were at it before, by their names."""
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder not in self._beside:
            self._beside[folder] = rotated_files(folder)
        return self._beside[folder].get(path, [])

    def _find(self, key: str, position: LogPosition, path: str) -> None:
        """Find the file of a position by its inode, or a copy of it; else say that it is gone."""
        beside: list[str] = []
        for name in {position.path, os.path.realpath(position.path)}:
            with suppress(OSError), os.scandir(os.path.dirname(name)) as entries:  # noqa: PTH120
                beside += [entry.path for entry in entries if entry.inode() == position.inode]
        rotated = dict.fromkeys([*self._rotated(path), *self._rotated(position.path)])
        candidates = list(_present([*beside, *rotated]))
        for candidate, facts in candidates:
            if facts.identity not in self.files:
                self._meet(candidate, facts, is_known=True)
            if key in self._keys:
                return
        is_waiting = any(
            time.time() - facts.written < self.settle_seconds for _, facts in candidates
        )
        if not is_waiting:
            self.finished[key] = replace(position, is_done=True)
            if not any(file.key == key for file in self._truncated):
                self._hear(
                    f"{position.path}: the file that was there is gone, with what was written "
                    f"behind byte {position.offset:,} of it, if anything was"
                )

    def _tell_truncated(self) -> None:
        """Say which files were truncated, and where their copies are."""
        for file in self._truncated:
            again = self._keys.get(file.key)
            if file.key and again is not None:
                if again.path != file.path:
                    self._say(f"{file.path}: truncated; {again.path} is a copy, and read on")
            else:
                self._say(
                    f"{file.path}: truncated; what was written behind byte "
                    f"{file.cursor.offset:,} before that is lost, if anything was"
                )
        self._truncated = []

    def _rest(self, file: FollowedFile) -> None:
        """Close a file that nobody writes to; forget it once it was rotated out of sight."""
        if file.text is None or not file.is_quiet(QUIET_SECONDS) or not file.is_read:
            return
        file.close()
        if not file.is_listed and file.key:
            self._remove(file)
            self.finished[file.key] = replace(self.position_of(file, file.cursor), is_done=True)
            self._passed[file.facts.identity] = file.facts


def _by_time(item: tuple[Identity, tuple[str, FileFacts]]) -> tuple[float, str]:
    path, facts = item[1]
    return facts.written, path


def _present(paths: list[str]) -> Iterator[tuple[str, FileFacts]]:
    """Yield those of some paths that there are files at, the oldest first."""
    pairs = [(path, facts) for path in paths if (facts := FileFacts.of(path)) is not None]
    yield from sorted(pairs, key=lambda pair: (pair[1].written, pair[0]))
