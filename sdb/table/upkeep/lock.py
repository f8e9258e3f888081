"""The lock of upkeep: as a rule one program at a time works on a table.

It saves work and nothing else: every step is a commit that is right even if others work on the
table. So a program that is too slow to renew its lock, or whose clock is wrong, does no harm.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext

from sdb import instants
from sdb.errors import (
    ConflictError,
    CorruptError,
    NotFoundError,
    UncertainError,
    UnsupportedError,
    UsageError,
)
from sdb.records import changing_record, record, replace
from sdb.table.format.keys import new_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.keys import TableKeys

RENEWAL_SECONDS = 20.0
STALE_SECONDS = 120.0
"""A lock that was not renewed for so long is that of a program that died."""

_MOST_BYTES = 1 << 16


@record
class LockState:
    """Content of the object of the lock."""

    holder: str = ""  # a random name of the program; empty: nobody works on the table
    host: str = ""
    pid: int = 0
    beat_us: int = 0  # when it was renewed, by the clock of the holder
    collected_us: int = 0  # when a collection has looked through the table last

    def encode(self) -> bytes:
        """Return the object."""
        text = {
            "holder": self.holder,
            "host": self.host,
            "pid": self.pid,
            "at": instants.text(self.beat_us),
            "collected": instants.text(self.collected_us),
        }
        return json.dumps(text).encode()

    @classmethod
    def decode(cls, data: bytes) -> LockState:
        """Read the object; what cannot be understood is a lock that nobody holds."""
        try:
            members: Any = json.loads(data)
            return cls(
                str(members["holder"]),
                str(members["host"]),
                int(members["pid"]),
                instants.parse(members["at"]),
                instants.parse(members["collected"]),
            )
        except (ValueError, KeyError, TypeError, UsageError):
            return cls()

    @property
    def is_orphaned(self) -> bool:
        """True if it is that of a program of this machine that is there no more."""
        if self.host != os.uname().nodename or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


def read_lock(root: TableRoot, keys: TableKeys) -> tuple[LockState, Reader, int] | None:
    """Read the lock of a table: what it says, the object, and when that was written; None: none."""
    entry = root.store.head(root.place(keys.upkeep))
    if entry is None:
        return None
    try:
        reader = root.open(keys.upkeep)
    except NotFoundError:
        return None
    try:
        data = reader.read(0, min(reader.size_bytes, _MOST_BYTES))
    finally:
        reader.close()
    return LockState.decode(data), reader, entry.modified_us


@changing_record
class UpkeepLock:
    """The lock of one table; `take` it, `renew` it now and then, `release` it."""

    root: TableRoot
    keys: TableKeys
    env: Environment
    state: LockState = LockState()
    held_by: LockState | None = None  # who has it, where another program does
    is_held: bool = False
    _renewed_at: float = 0.0

    def take(self) -> bool:
        """Take the lock, unless another program holds it that seems to live.

        Returns: Whether this program may work on the table; True, too, where the store has no
        conditional writes, so that there are no locks.
        """
        self.held_by = None
        seen = read_lock(self.root, self.keys)
        before = LockState() if seen is None else seen[0]
        self.state = replace(self.state, collected_us=before.collected_us)
        if seen is not None and before.holder:
            age_seconds = (self.env.now_us() - seen[2]) / instants.SECOND_US
            if not before.is_orphaned and abs(age_seconds) < STALE_SECONDS:
                self.held_by = before
                return False
        self.state = replace(
            self.state,
            holder=new_uid(self.env.random_bytes),
            host=os.uname().nodename,
            pid=os.getpid(),
        )
        try:
            self.is_held = self._put(self.state, None if seen is None else seen[1])
        except UnsupportedError:
            return True
        return self.is_held

    def renew(self) -> None:
        """Say that this program lives, if it is time to."""
        if self.is_held and self.env.elapsed() - self._renewed_at >= RENEWAL_SECONDS:
            self.is_held = self._again(self.state)

    def collected(self) -> None:
        """Note that a collection has looked through the table just now."""
        self.state = replace(self.state, collected_us=self.env.now_us())

    def release(self) -> None:
        """Release the lock, if it is held still; an interrupt waits until that is done."""
        if not self.state.holder:
            return
        self.is_held = False
        free = replace(self.state, holder="")
        try:
            self._again(free)
        except (KeyboardInterrupt, SystemExit):
            self._again(free)
            raise

    def _again(self, state: LockState) -> bool:
        """Write the lock again, unless another program has taken it."""
        seen = read_lock(self.root, self.keys)
        if seen is None or seen[0].holder != self.state.holder:
            return False
        return self._put(state, seen[1])

    def _put(self, state: LockState, before: Reader | None) -> bool:
        data = replace(state, beat_us=self.env.now_us()).encode()
        location = self.root.place(self.keys.upkeep)
        try:
            with self.root.store.lock(location) if before is not None else nullcontext():
                self.root.store.put_if_match(location, data, before, durable=False)
        except (ConflictError, CorruptError, NotFoundError, UncertainError):
            return False  # another program was faster, the table is not there, or nobody knows
        self._renewed_at = self.env.elapsed()
        return True
