"""Log files that are followed, and what tells which of them a file is."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sdb.errors import SdbError
from sdb.records import changing_record, field
from sdb.table.format.positions import SAMPLE_BYTES, LogPosition, digest
from sdb.table.tail.logtext import (
    FileFacts,
    LogCursor,
    PackedText,
    PlainText,
    has_position,
    open_text,
)
from sdb.table.tail.names import is_kin, rotated_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sdb.table.tail.logtext import Text


_TICK_NS = 10_000_000
"""Times of files are that exact, at least."""

_REST_BYTES = 1 << 20


class MovedFileError(Exception):
    """A file is not where it was when the folder was looked at: the next look finds it."""


@changing_record
class FollowedFile:
    """A log file that is followed."""

    path: str  # where it was last
    facts: FileFacts
    text: PlainText | PackedText | None  # None: closed, since nobody writes to it
    cursor: LogCursor = field(default_factory=LogCursor)
    key: str = ""  # its entry in the inputs tree; empty: it has none yet
    stored: str = ""  # the position that this has
    is_listed: bool = True  # whether the arguments mean it under the name that it has
    is_packed: bool = False
    form: str = ""  # the parser of its lines, once it is known
    # By the clock of this program: since when it is followed, and when it was seen to change
    met_at: float = field(default_factory=time.monotonic)
    changed_at: float | None = None

    def opened(self) -> PlainText | PackedText | None:
        """Return its bytes; None: another file is at its path now."""
        if self.text is None:
            opened = open_text(self.path)
            if opened is not None and opened[1].identity != self.facts.identity:
                opened[0].close()
                opened = None
            self.text = None if opened is None else opened[0]
        return self.text

    def close(self) -> None:
        """Close the file, which may be opened again by its name."""
        if self.text is not None:
            self.text.close()
            self.text = None

    def open_facts(self) -> FileFacts | None:
        """Return what the system says of it under whatever name; None: it is closed."""
        return FileFacts.of(self.text.descriptor) if isinstance(self.text, PlainText) else None

    def has_rest_in(self, other: FollowedFile) -> bool:
        """Return whether another file has what was not taken of it, so that nothing is missed."""
        count = self.facts.size_bytes - self.cursor.offset
        text, beside = self.opened(), other.opened()
        if text is None or beside is None or count > _REST_BYTES:
            return count <= 0
        at = self.cursor.offset
        return text.read(at, count) == beside.read(at, count)

    @property
    def is_rotated(self) -> bool:
        """True if no program is to write to it any more."""
        if self.is_packed or not self.is_listed:
            return True
        base = rotated_base(self.path)
        return bool(base) and os.path.exists(base)  # noqa: PTH110

    @property
    def is_read(self) -> bool:
        """True if all of it was taken."""
        if not self.is_packed:
            return self.facts.size_bytes <= self.cursor.offset
        text = self.opened()
        return text is None or not text.read(self.cursor.offset, 1)

    def has_changed(self, facts: FileFacts) -> bool:
        """Return whether it was truncated, or other bytes are where it was read.

        * ``facts``: What the system says of it now.
        """
        count, offset = len(self.cursor.last), self.cursor.offset
        if self.is_packed or facts == self.facts:
            return False
        text = self.opened() if facts.size_bytes >= offset else None
        return text is None or text.read(offset - count, count) != self.cursor.last

    def see(self, facts: FileFacts) -> None:
        """Record what the system says of it now."""
        before = self.facts.size_bytes, self.facts.written
        # By this program's clock, since that of the file system may be another machine's.
        if before != (facts.size_bytes, facts.written):
            self.changed_at = time.monotonic()
        self.facts = facts

    def is_quiet(self, seconds: float) -> bool:
        """Return whether nobody has written to it for so long.

        Its time may be of another clock: it counts only where no change was seen.
        """
        if self.changed_at is not None:
            return time.monotonic() - self.changed_at >= seconds
        is_old = time.time() - self.facts.written >= seconds
        return is_old or time.monotonic() - self.met_at >= seconds


class KnownPositions:
    """The positions of a table, by their keys, and by what they may be found by."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.by_key: dict[str, tuple[str, LogPosition]] = {}
        self._near: dict[object, set[str]] = {}
        for key, text in stored.items():
            self.put(key, text, LogPosition.from_text(text))

    def put(self, key: str, text: str, position: LogPosition) -> None:
        """Record a position."""
        self.by_key[key] = text, position
        base = rotated_base(position.path) or position.path
        for mark in ((position.device, position.inode), base, position.head):
            self._near.setdefault(mark, set()).add(key)

    def near(self, file: FollowedFile) -> list[tuple[str, LogPosition]]:
        """Return those that may be of a file: of its inode, its path or its first bytes."""
        text = file.opened()
        head = b"" if text is None else text.read(0, SAMPLE_BYTES)
        marks = file.facts.identity, rotated_base(file.path) or file.path, digest(head)
        keys = sorted(set().union(*(self._near.get(mark, ()) for mark in marks)))
        return [(key, self.by_key[key][1]) for key in keys]


def fitting_entries(
    file: FollowedFile, positions: KnownPositions, host: str
) -> Iterator[tuple[bool, str, LogPosition]]:
    """Yield the entries whose bytes a file begins with, its own first, then those taken furthest.

    Returns: For each whether it is the file's own, by device and inode, its key and its position.
    """
    near = []
    for key, position in positions.near(file):
        if position.host != host:
            continue
        is_own = file.facts.is_of(*position.identity)
        if is_own or _may_be_same(file, position):
            near.append((is_own, position.offset, key))
    for is_own, _, key in sorted(near, reverse=True):
        text, position = file.opened(), positions.by_key[key][1]
        if text is None or not has_position(text, position):
            continue
        if is_own or not _was_complete(position) or not text.read(position.offset, 1):
            yield is_own, key, position


def _was_complete(position: LogPosition) -> bool:
    """Return whether a file had no other bytes than those that were taken."""
    return position.is_done and bool(rotated_base(position.path))


class FilesThere:
    """Files that are there, by what a copy of them may be found by."""

    def __init__(self, files: Iterable[FollowedFile]) -> None:
        self._near: dict[str, list[FollowedFile]] = {}
        for file in files:
            self.add(file)

    def add(self, file: FollowedFile) -> None:
        """Add a file; what has gzip is no original."""
        if not file.is_packed:
            for mark in _marks(file):
                self._near.setdefault(mark, []).append(file)

    def like(self, file: FollowedFile) -> list[FollowedFile]:
        """Return the files that one begins with the bytes of, as far as they were taken.

        Raises :class:`MovedFileError` if one cannot be opened.
        """
        text = file.opened()
        near = {id(other): other for mark in _marks(file) for other in self._near.get(mark, ())}
        similar = []
        for other in near.values():
            beside = other.opened()
            if beside is None and other.facts.links:
                raise MovedFileError
            if text is not None and beside is not None and _is_like(file, text, other, beside):
                similar.append(other)
        return similar


def is_copy(file: FollowedFile, other: FollowedFile) -> bool:
    """Return whether a file with the bytes of another one was made of it.

    Logs may have equal lines for long. A copy has the name that the other one would be rotated to,
    and was made after it, where a file that was rotated before is older; gzip keeps the time of
    writing. Where a file system does not tell when files were made, the bytes decide.
    """
    if file.path == f"{other.path}.gz":
        return True
    if not rotated_base(file.path) or not is_kin(file.path, other.path):
        return False
    if not other.facts.links:
        return True
    if rotated_base(other.path):
        return False
    if 0 in (file.facts.born, other.facts.born):
        return True
    made = file.facts.written * 1e9 - _TICK_NS if file.is_packed else file.facts.born
    return made > other.facts.born


def _marks(file: FollowedFile) -> list[str]:
    head = file.cursor.head
    if file.text is not None and not file.cursor.offset:
        head = file.text.read(0, SAMPLE_BYTES)
    base = rotated_base(file.path) or file.path
    return [base, digest(head)] if len(head) == SAMPLE_BYTES else [base]


def _is_like(file: FollowedFile, text: Text, other: FollowedFile, beside: Text) -> bool:
    cursor = other.cursor
    taken = cursor.head or beside.read(0, SAMPLE_BYTES)
    head = text.read(0, len(taken))
    is_rotated = bool(rotated_base(file.path)) and is_kin(file.path, other.path)
    is_close = is_rotated or len(head) == SAMPLE_BYTES
    if not (head and is_close and taken.startswith(head)):
        return False
    if cursor.offset == 0:
        return True
    size = file.facts.size_bytes if not file.is_packed else _size(text, cursor.offset)
    end = min(size, cursor.offset)
    start = max(0, end - SAMPLE_BYTES)
    sample = text.read(start, end - start)
    if size >= cursor.offset:
        return sample == cursor.last
    # Where the other one has just been truncated, the next look knows more.
    is_truncated = beside.read(0, len(cursor.head)) != cursor.head
    return is_truncated or sample == beside.read(start, end - start)


def _may_be_same(file: FollowedFile, position: LogPosition) -> bool:
    """Return whether equal bytes mean that a file is the one of a position.

    A few bytes may be equal in any two files, unless the names say that one was rotated.
    """
    if position.offset >= SAMPLE_BYTES:
        return True
    is_rotated = position.offset > 0 and bool(rotated_base(file.path))
    return is_rotated and is_kin(file.path, position.path)


def _size(text: Text, most: int) -> int:
    """Return how many bytes a file has, decompressed, or `most` if it has more."""
    with suppress(SdbError):
        if text.read(most, 1):
            return most
    at = 0
    while piece := text.read(at, min(1 << 20, most - at)):
        at += len(piece)
    return at
