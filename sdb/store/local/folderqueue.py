"""A folder as a queue: each file in it is a message.

A program takes a message by moving it to a separate folder, which it keeps locked: when the
program dies, the lock goes with it, and the next one brings the messages back. The time of writing
of a message that was given back is when it may be received again.
"""

from __future__ import annotations

import fcntl
import os
import time
from itertools import count
from pathlib import Path

from sdb.errors import NotFoundError, UsageError
from sdb.store.local.files import Translated
from sdb.store.messages import MAX_MESSAGE_BYTES, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REFUSED = "refused"
"""The folder below the queue that gets the messages which nobody understands."""

_TAKEN = ".taken-"
_MOST = 100
_POLL_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 0.5
_LOOK_SECONDS = 5.0
_MOST_DELAY_SECONDS = 7_200


class FolderQueue:
    """Files of a folder as messages; see :class:`sdb.store.messages.Queue`.

    * ``folder``: The folder. Names that begin with a dot are no messages: a sender writes a message
      under such a name, and renames it.

    Raises `NotFoundError` if there is no such folder and `UsageError` if it is a file.
    """

    hold_seconds = 5.0

    def __init__(self, folder: str) -> None:
        self.location = folder
        self._folder = Path(folder)
        if not self._folder.is_dir():
            if self._folder.exists():
                raise UsageError(f"the queue {folder} is a file", path=folder, expected="a folder")
            message = f"there is no folder {folder} to be a queue"
            raise NotFoundError(message, path=folder, hint=f"mkdir {folder}")
        self._numbers = count()
        self._look_at = 0.0
        with Translated(folder, "using the queue"):
            self._own, self._lock = _locked_folder(self._folder)

    def receive(self, wait_seconds: float) -> Sequence[Message]:
        """Move some messages to where they are ours, and read them."""
        stop = time.monotonic() + min(wait_seconds, _LONGEST_WAIT_SECONDS)
        while True:
            with Translated(self.location, "receiving from"):
                if time.monotonic() >= self._look_at:
                    self._look()
                    self._look_at = time.monotonic() + _LOOK_SECONDS
                messages = [self._read(*taken) for taken in self._take()]
            left = stop - time.monotonic()
            if messages or left <= 0:
                return messages
            time.sleep(min(_POLL_SECONDS, left))

    def _take(self) -> Iterator[tuple[str, str]]:
        """Take some messages; gives their names, and where they are now."""
        now, left = time.time(), _MOST
        with os.scandir(self.location) as listing:
            for entry in listing:
                if not left:
                    break
                # Links are not followed: the reader may have rights that the sender has not.
                if entry.name.startswith(".") or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    later = entry.stat().st_mtime - now
                    if 0 < later < _MOST_DELAY_SECONDS:
                        continue
                    name = f"{next(self._numbers)}-{entry.name}"
                    Path(entry.path).rename(self._own / name)
                except FileNotFoundError:
                    continue  # another program was faster
                left -= 1
                yield entry.name, name

    def _read(self, name: str, receipt: str) -> Message:
        try:
            with (self._own / receipt).open("rb") as file:
                data = file.read(MAX_MESSAGE_BYTES + 1)
        except OSError:
            data = b""  # which nobody understands
        return Message(name, receipt, data.decode(errors="replace"))

    def hold(self, messages: Sequence[Message]) -> None:
        """Do nothing: they are ours as long as the program lives."""

    def release(self, messages: Sequence[Message], after_seconds: float = 0.0) -> None:
        """Move messages back."""
        at = time.time() + after_seconds
        with Translated(self.location, "giving back to"):
            for message in messages:
                os.utime(self._own / message.receipt, (at, at))
                _put_back(self._own / message.receipt, self._folder)

    def refuse(self, messages: Sequence[Message]) -> None:
        """Move messages to the folder `refused`."""
        folder = self._folder / REFUSED
        with Translated(self.location, "moving messages of"):
            folder.mkdir(exist_ok=True)
            for message in messages:
                _put_back(self._own / message.receipt, folder)

    def delete(self, messages: Sequence[Message]) -> None:
        """Remove messages."""
        with Translated(self.location, "removing from"):
            for message in messages:
                (self._own / message.receipt).unlink()

    def close(self) -> None:
        """Bring back what is left, and remove our folder."""
        if self._lock >= 0:
            with Translated(self.location, "giving back to"):
                _bring_back(self._own, self._folder)
            os.close(self._lock)
            self._lock = -1

    def _look(self) -> None:
        """Bring back what programs hold that have died."""
        for folder in self._folder.glob(f"{_TAKEN}*"):
            if folder == self._own:
                continue
            try:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
                lock = os.open(folder, flags)
            except (FileNotFoundError, NotADirectoryError):
                continue  # of a program that is done; or a link, which no program makes
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _bring_back(folder, self._folder)
            except (BlockingIOError, FileNotFoundError):
                continue  # it lives, or another program brings them back
            finally:
                os.close(lock)


def _locked_folder(above: Path) -> tuple[Path, int]:
    """Make a folder that is locked as soon as others see it; gives the descriptor of the lock."""
    token = os.urandom(8).hex()
    new = above / f".new-{token}"
    new.mkdir()
    lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return new.rename(above / f"{_TAKEN}{token}"), lock


def _bring_back(folder: Path, above: Path) -> None:
    for entry in list(folder.iterdir()):
        _put_back(entry, above)
    folder.rmdir()


def _put_back(source: Path, folder: Path) -> None:
    """Move a message to a folder, under its first name if there is no other message of that name.

    It may be at both places when the program is killed, and is received twice then.
    """
    target = folder / source.name.partition("-")[2]
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if not target.samefile(source):
            other = target.with_name(f"{target.name}-{os.urandom(4).hex()}")
            os.link(source, other, follow_symlinks=False)
    source.unlink()
