"""One writer at a time where the store cannot choose among several that complete at once.

S3 lets one of them win. Others, SeaweedFS for one, look whether the condition holds and complete
then, so that two can pass; what they do for single requests is done in one step. So a small object
beside the target says that someone publishes there, and is removed when that is done, which takes a
moment. The lock of a writer that died is taken over when it is old.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from contextvars import ContextVar

from sdb import notes
from sdb.errors import ConflictError, UnsupportedError
from sdb.store.s3.client import connect, endpoint
from sdb.store.s3.failures import is_answer, status_of, translated
from sdb.store.s3.history import ids_of, new_id, settings
from sdb.store.s3.orphans import clock
from sdb.store.s3.place import HIDDEN, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEASE_SECONDS = 180
_EXTRA_SECONDS = 30
_PATIENCE_SECONDS = 1.5
_FIRST_PAUSE_SECONDS = 0.03
_LONGEST_PAUSE_SECONDS = 0.3
_SHORTEST_PAUSE_SECONDS = 0.03
_HURRIED_SECONDS = 5.0
_HELD = {409, 412}
_NOT_FOUND = 404
_OTHERS = "*"

_guard = threading.Lock()
_excluding: dict[tuple[str, str], bool] = {}
_held: ContextVar[frozenset[Place]] = ContextVar("held", default=frozenset())


@contextlib.contextmanager
def exclusive(place: Place, *, insist: bool) -> Iterator[None]:
    """Publish alone; does nothing on S3 itself, nor where the lock is held already.

    Parameters
    ----------
    place : Place
        Where.
    insist : bool
        Whether it is an error if the endpoint ignores the condition that makes a lock; otherwise
        there is none.

    Yields
    ------
    None
        Nobody else publishes there.

    Raises
    ------
    ConflictError
        Others did so all the time.
    UnsupportedError
        The endpoint ignores the condition that makes a lock.
    """
    if endpoint().is_aws or place in _held.get():
        yield
        return
    lock = _Lock(place)
    before = _held.get()
    try:
        with translated("locking", str(lock.place)):
            lock.acquire()
            if insist:
                lock.check()
        _held.set(before | {place})
        yield
    finally:
        _held.set(before)
        lock.release()


class _Lock:
    """An object that only one can make."""

    def __init__(self, target: Place) -> None:
        folder, slash, name = target.key.rpartition("/")
        self.place = Place(target.bucket, f"{folder}{slash}{HIDDEN}lock-{name}")
        self._id = new_id()
        self._since = 0.0
        self._is_held = False
        self._waits_for = "", 0.0

    def acquire(self) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        began = time.monotonic()
        condition = {"IfNoneMatch": "*"}
        while True:
            self._since = time.monotonic()
            try:
                self._put(condition)
            except (ClientError, BotoCoreError) as error:
                if is_answer(error) and status_of(error) not in _HELD:
                    raise
            else:
                break
            found = self._awaited(began)
            if found is None:
                break
            condition = found
        self._is_held = True

    def _awaited(self, began: float) -> dict[str, str] | None:
        """Look until the lock can be had, and give the condition for that; None: it is ours.

        Looking costs less than to try: writes of several to one object hold each other up, in
        SeaweedFS for seconds. Who has waited for long looks more often.
        """
        pause = _FIRST_PAUSE_SECONDS
        while True:
            holder = self._holder()
            if holder is None:
                return None
            if holder != _OTHERS:
                return {"IfMatch": holder} if holder else {"IfNoneMatch": "*"}
            waited = time.monotonic() - began
            if waited > LEASE_SECONDS + _EXTRA_SECONDS:
                url = str(self.place)
                raise ConflictError(f"{url} is always locked by someone else", path=url)
            time.sleep(random.uniform(0, pause))  # noqa: S311 - nothing to guess
            longest = _LONGEST_PAUSE_SECONDS / max(1.0, waited / _HURRIED_SECONDS)
            pause = max(_SHORTEST_PAUSE_SECONDS, min(longest, 1.5 * pause))

    def _put(self, condition: dict[str, str], *, once: bool = True) -> None:
        connect(once=once).put_object(
            **self.place.names, Body=b"", **settings(self._id, {}), **condition
        )

    def _holder(self) -> str | None:
        """Look who has the lock.

        Returns
        -------
        str or None
            None: this writer; empty: nobody; an ETag: one that died; `_OTHERS`: somebody else.
        """
        from botocore.exceptions import ClientError

        try:
            answer = connect().head_object(**self.place.names)
        except ClientError as error:
            if status_of(error) == _NOT_FOUND:
                return ""
            raise
        if self._id in ids_of(answer):
            return None
        left = LEASE_SECONDS - (clock(answer) - answer["LastModified"]).total_seconds()
        self._tell(" ".join(ids_of(answer)) or str(answer["LastModified"]), left)
        return str(answer["ETag"]) if left < 0 else _OTHERS

    def _tell(self, holder: str, left_seconds: float) -> None:
        """Warn when one writer keeps the lock for longer than it takes to publish."""
        now = time.monotonic()
        if holder != self._waits_for[0]:
            self._waits_for = holder, now
        elif left_seconds > 0 and now - self._waits_for[1] > _PATIENCE_SECONDS:
            at = time.strftime("%H:%M:%S", time.localtime(time.time() + left_seconds))
            notes.warn(
                f"waiting for {self.place} until {at}: another writer publishes there, or died "
                "and left its lock, which is taken over then"
            )
            self._waits_for = holder, now + LEASE_SECONDS

    def check(self) -> None:
        """Insist, once in a process, on a lock that another one cannot have too."""
        from botocore.exceptions import ClientError

        identity = endpoint().url, self.place.bucket
        with _guard:
            if identity not in _excluding:
                try:
                    self._put({"IfNoneMatch": "*"}, once=False)
                except ClientError as error:
                    if status_of(error) not in _HELD:
                        raise
                    _excluding[identity] = True
                else:
                    _excluding[identity] = False
            excludes = _excluding[identity]
        if not excludes:
            raise UnsupportedError(
                f"{identity[0]} ignores conditions of writes: two writers would undo each other",
                path=str(self.place),
                hint="sdb doctor tells more; --unsafe-single-writer if nobody else writes",
            )

    def release(self) -> None:
        """Let others in, unless they have taken the lock already because it was old."""
        from botocore.exceptions import BotoCoreError, ClientError

        if not self._since or time.monotonic() - self._since > LEASE_SECONDS:
            return
        with contextlib.suppress(ClientError, BotoCoreError):
            if self._is_held or self._holder() is None:
                connect().delete_object(**self.place.names)
