"""The log files that are followed: found again under other names, as copies, and with gzip.

A file is known by device, inode and the time when it was made, together with samples of its first
bytes and of the last ones before the position. Where these fit, the name does not matter; where the
inode fits and they do not, it was truncated, or its inode is that of another file now. A file with
another inode is the same if it has the bytes of one that is not there any more; one at the name
that is followed only if no rotated file has them, and never without a word.
"""

from __future__ import annotations

import os
import time

from sdb.errors import AccessError, CorruptError
from sdb.records import replace
from sdb.table.format.positions import SAMPLE_BYTES, LogPosition, digest, origin_of
from sdb.table.tail.folders import LogFolders
from sdb.table.tail.followed import (
    FilesThere,
    FollowedFile,
    KnownPositions,
    MovedFileError,
    fitting_entries,
    is_copy,
)
from sdb.table.tail.logtext import LogCursor, has_position, open_text
from sdb.table.tail.names import is_kin, rotated_base
from sdb.table.tail.rotations import Rotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from sdb.errors import SdbError
    from sdb.table.tail.folders import Seen
    from sdb.table.tail.logtext import FileFacts, PackedText, PlainText
    from sdb.table.tail.names import LogNames

    Identity: TypeAlias = tuple[int, int]

QUIET_SECONDS = 60.0
"""A file that was rotated out of sight is followed until nobody has written to it for so long."""

FORGET_SECONDS = 30 * 86_400
"""The entry of a file that is gone for so long is used again for another one."""

# A file with gzip, or one that is being rotated, is left alone until nobody has written to it for
# so long.
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
        self._truncated: dict[str, tuple[str, int]] = {}  # path and position, by entry
        self._heard: set[str] = set()
        self._is_fresh = False
        self._rotations = Rotations()
        # Files that get positions together, and since when others may not be known, by their logs
        self._taken: set[Identity] = set()
        self._sinces: dict[str, int] = {}
        self._open: dict[str, str] = {}  # entries of files that were not read to their end
        self._folders = LogFolders()
        self._meeting: set[Identity] = set()

    def begin(self) -> None:
        """Begin with what the table has; what was known before is forgotten."""
        self.close()
        self.files, self._passed, self._truncated, self._keys = {}, {}, {}, {}
        self.finished = {}
        self._refresh()

    def close(self) -> None:
        """Close all files."""
        for file in self.files.values():
            file.close()

    def look(self) -> None:
        """Look for files that are new, were renamed, truncated or compressed."""
        self._is_fresh = False
        self.taking(())
        listed = self._listed()
        for identity, file in list(self.files.items()):
            self._look_at(file, listed.get(identity))
        # After all files that were known: a rename must not make one of them a new file, or a copy.
        self._there = FilesThere(self.files.values())
        for identity, (path, facts) in sorted(listed.items(), key=_logs_first):
            if identity not in self.files:
                self._meet(path, facts)
        self._search()
        self._tell_truncated()
        for file in list(self.files.values()):
            self._rest(file)

    def dropped(self, file: FollowedFile) -> None:
        """Record that a file has other bytes now where it was read."""
        file.close()
        self._remove(file)
        self._passed.clear()
        if file.cursor.offset:
            self._truncated[file.key] = file.path, file.cursor.offset

    def pass_over(self, file: FollowedFile, error: SdbError) -> None:
        """Leave a file out from where it cannot be read any further."""
        file.close()
        self._remove(file)
        self._passed[file.facts.identity] = file.facts
        self._hear(f"{error.message}: left out from byte {file.cursor.offset:,} on")

    def taking(self, files: Iterable[FollowedFile]) -> None:
        """Record the files that get positions together."""
        self._taken = {file.facts.identity for file in files}
        self._sinces = {}

    def position_of(self, file: FollowedFile, cursor: LogCursor) -> LogPosition:
        """Return the position of a file for the table."""
        samples = digest(cursor.head), digest(cursor.last)
        # Who has not heard of the rotation yet may still write to it.
        is_done = file.is_rotated and file.facts.size_bytes <= cursor.offset
        is_done = not file.is_packed and is_done and file.is_quiet(QUIET_SECONDS)
        where = self.host, file.path
        now, facts = int(time.time()), file.facts
        base = rotated_base(file.path) or file.path
        since = self._sinces.get(base)
        if since is None:
            since = self._sinces[base] = self._rotations.since(base, self._is_known)
        return LogPosition(
            cursor.offset, *samples, *where, *facts.identity, now, since, is_done, facts.born
        )

    def ended(self) -> dict[str, LogPosition]:
        """Return positions of files that are over, and of those that were copied elsewhere."""
        positions = dict(self.finished)
        for key, file in self._keys.items():
            at = self.positions[key][1]
            if file.facts.identity not in self._taken and not file.facts.is_of(*at.identity):
                positions[key] = self.position_of(file, file.cursor)
        return positions

    def _is_known(self, facts: FileFacts) -> bool:
        """Return whether a file has an entry, gets one with others, or needs none."""
        file = self.files.get(facts.identity)
        has_entry = file is not None and (bool(file.key) or facts.identity in self._taken)
        return has_entry or facts.identity in self._passed

    def committed(
        self, key: str, text: str, position: LogPosition, file: FollowedFile | None = None
    ) -> None:
        """Record a position that the table has now.

        * ``file``: The file that it is of, if that is new.
        """
        file = file or self._keys.get(key)
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
            self._rotations.note(path, position.since)
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
        before, self._known = self.positions, KnownPositions(self._load())
        self.positions = self._known.by_key
        for key, position in list(self.finished.items()):
            text = self.positions[key][0] if key in self.positions else ""
            if text == before[key][0]:
                self._known.put(key, text, position)
            else:  # another program has gone on with it
                del self.finished[key]
        self._rotations, self._open = Rotations(), {}
        self._rotations.look_at(self._folders)
        for key, (_, position) in self.positions.items():
            self._note(key, position)
        self._is_fresh = True

    def _hear(self, text: str) -> None:
        """Say something once."""
        if text not in self._heard:
            self._heard.add(text)
            self._say(text)

    def _listed(self) -> dict[Identity, Seen]:
        """Look at the folders, and return the files that the arguments mean now."""
        paths = dict.fromkeys(self._names.paths())
        known = [*(file.path for file in self.files.values()), *self._open.values()]
        logs = {rotated_base(path) or path for path in (*paths, *known)}
        inodes = {position.inode for _, position in self.positions.values()}
        self._folders = LogFolders({*paths, *logs, *self._rotations.logs}, inodes)
        self._rotations.look_at(self._folders)
        there = self._folders.files()
        listed: dict[Identity, Seen] = {}
        for path in paths | there:
            facts = there.get(path)
            if facts is not None and (path in paths or self._names.means(path)):
                listed.setdefault(facts.identity, (path, facts))
        return listed

    def _look_at(self, file: FollowedFile, seen: Seen | None) -> None:
        """Record the size and the name that a file has now."""
        file.is_listed = seen is not None
        seen = seen or self._folders.known(file.path, file.facts.identity)
        facts = file.open_facts()
        if seen is not None:
            file.path, facts = seen
        # It was closed, and is not where it was, or its inode is another file's by now
        if facts is None or not facts.is_of(*file.facts.identity, file.facts.born):
            file.close()
            self._remove(file)
            self._passed.clear()  # what was its copy may be all that is left
        elif file.has_changed(facts):
            self.dropped(file)
        else:
            file.see(facts)

    def _meet(self, path: str, facts: FileFacts, *, is_known: bool = False) -> bool:
        """Follow a file from where it was taken to, or from its start.

        * ``is_known``: Whether only a file that was taken before is meant.

        Returns: False if it is not at its path any more: the next look finds it.
        """
        identity = facts.identity
        is_passed = self._passed.get(identity) == facts or identity in self._meeting
        if facts.size_bytes == 0 or is_passed:
            return True
        self._meeting.add(identity)
        try:
            opened = open_text(path)
            if opened is None:
                return False
            text, now = opened
            file = FollowedFile(path, now, text, is_packed=text.is_packed)
            try:
                if now.identity != identity:
                    return False
                self._follow(file, is_known=is_known)
            finally:
                if self.files.get(identity) is not file:
                    text.close()
        except MovedFileError:
            return False
        except (AccessError, CorruptError) as error:
            self._hear(f"{error.message}: left out")
            self._passed[identity] = facts
        finally:
            self._meeting.discard(identity)
        return True

    def _follow(self, file: FollowedFile, *, is_known: bool) -> None:
        text = file.opened()
        if text is None or not self._may_be_read(file):
            return
        key = self._key_of(file)
        if key is None or (not key and is_known):
            return
        if key:
            file.key, (file.stored, position) = key, self.positions[key]
            file.cursor = LogCursor.at(text, position)
        else:
            self._check(file.path)
        self._follow_others(file, text)
        file.is_listed = self._names.means(file.path)
        self.files[file.facts.identity] = file
        if file.key:
            self._keys[file.key] = file
            self.finished.pop(file.key, None)
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
        """Find the entry of a file; empty: it is new; None: it is a copy, or not to be read yet."""
        while True:
            key = self._entry_of(file)
            if key != "":
                return key
            for other in self._there.like(file):
                begins = f"{file.path}: begins as {other.path}"
                if is_copy(file, other):
                    if not (file.facts.born and other.facts.born):
                        self._hear(f"{begins}: it is a copy, and not taken twice")
                    if other.key:  # else it may be all that is left if this program is killed
                        self._passed[file.facts.identity] = file.facts
                    return None
                if not is_kin(file.path, other.path):
                    self._hear(f"{begins}: both are taken")
            if self._is_fresh:
                return ""
            # The table is asked once more before a file counts as new.
            self._refresh()  # another program may have taken it

    def _entry_of(self, file: FollowedFile) -> str | None:
        """Find the entry of a file, or of one that is gone and had its bytes; None: wait."""
        for is_own, key, position in fitting_entries(file, self._known, self.host):
            holder = self._keys.get(key)
            if holder is None and not is_own and self._seek(key, position, file):
                return None
            holder = self._keys.get(key)
            if holder is not None:
                if holder.facts.links:
                    continue
                if not holder.has_rest_in(file):
                    return None
                holder.close()  # it was deleted: what has its bytes has come in its place
                self._remove(holder)
            if not is_own and not rotated_base(file.path):
                self._hear(
                    f"{file.path}: another file than before, which begins with what was taken "
                    f"of {position.path}: it is read on from there"
                )
            return key
        return ""

    def _seek(self, key: str, position: LogPosition, heir: FollowedFile | None = None) -> bool:
        """Follow the file of an entry by its inode, or else a rotated file that has its bytes.

        * ``heir``: The file that gets the entry otherwise; one with the name of a rotated file
          comes before other such files.

        Returns: Whether it may have to be looked for again, since a file is being written.
        """
        own = self._folders.of(position)
        is_rotated = heir is not None and bool(rotated_base(heir.path))
        rotated = [] if is_rotated else self._beside(key, position)
        for candidate, facts in [*own, *rotated]:
            if facts.identity not in self.files and not self._meet(candidate, facts, is_known=True):
                return True
            if key in self._keys:
                return False
        waited, now = rotated if heir else [*own, *rotated], time.time()
        return any(now - facts.written < self.settle_seconds for _, facts in waited)

    def _beside(self, key: str, position: LogPosition) -> list[Seen]:
        """Return the rotated files of the log that an entry is of."""
        paths = position.path, origin_of(key)[1]
        logs = dict.fromkeys(rotated_base(path) or path for path in paths)
        return [seen for log in logs for seen in self._folders.rotated(log)]

    def _search(self) -> None:
        """Find files that were rotated to names that the arguments do not mean."""
        for key in list(self._open):
            if key in self._open and key not in self._keys and key not in self.finished:
                self._find(key, self.positions[key][1])
        for path, facts in self._rotations.new():
            if facts.identity not in self.files:
                self._meet(path, facts)

    def _find(self, key: str, position: LogPosition) -> None:
        """Find the file of a position, or a copy of it; else say that it is gone."""
        if self._seek(key, position) or key in self._keys:
            return
        own = [facts for _, facts in self._folders.of(position)]
        if any(
            some.is_of(*position.identity) and some.size_bytes < position.offset for some in own
        ):
            self._truncated.setdefault(key, (position.path, position.offset))
        if key in self._truncated:  # what grows again is new, whatever its bytes are
            position = replace(position, head="")
        else:
            self._hear(
                f"{position.path}: the file that was there is gone, with what was written "
                f"behind byte {position.offset:,} of it, if anything was"
            )
        self._finish(key, position)

    def _finish(self, key: str, position: LogPosition) -> None:
        """Record what is to be said of a file that is over, with the next commit."""
        self.finished[key] = replace(position, is_done=True)
        self._known.put(key, self.positions[key][0], self.finished[key])

    def _tell_truncated(self) -> None:
        """Say which files were truncated, and where their copies are."""
        for key, (path, offset) in self._truncated.items():
            again = self._keys.get(key)
            if again is None:
                self._say(
                    f"{path}: truncated; what was written behind byte {offset:,} before that is "
                    "lost, if anything was"
                )
            elif again.path != path:
                self._say(f"{path}: truncated; {again.path} is a copy, and read on")
        self._truncated = {}

    def _rest(self, file: FollowedFile) -> None:
        """Close a file that nobody writes to; forget it once it was rotated out of sight."""
        if file.text is None or not file.is_quiet(QUIET_SECONDS) or not file.is_read:
            return
        file.close()
        if not file.is_listed and file.key:
            self._remove(file)
            self._finish(file.key, self.position_of(file, file.cursor))
            self._passed[file.facts.identity] = file.facts


def _logs_first(item: tuple[Identity, Seen]) -> tuple[bool, float, str]:
    """Order files that were not rotated before the others, whose originals they may be."""
    path, facts = item[1]
    return bool(rotated_base(path)), facts.written, path
