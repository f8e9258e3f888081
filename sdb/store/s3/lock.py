"""A lock object, for stores that check the condition of a write and write in two steps.

S3 lets one of several conditional writes win. Other servers, SeaweedFS for one, check the condition
of a multipart upload first and complete it then, so that two writers can pass; single requests are
atomic there too. So a small lock object beside the target, made by a single conditional request,
keeps other writers out for the moment that publishing takes. The lock of a writer that died is
taken over when it is old.
"""

from __future__ import annotations

import contextlib
import threading
import time
from contextvars import ContextVar

from sdb import notes
from sdb.errors import ConflictError, UnsupportedError
from sdb.log import Logger
from sdb.retry import Backoff
from sdb.store.s3.address import HIDDEN, ObjectAddress
from sdb.store.s3.client import connect, endpoint
from sdb.store.s3.failures import is_answer, status_of, translated
from sdb.store.s3.history import ids_of, new_id, settings
from sdb.store.s3.orphans import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEASE_SECONDS = 180
_EXTRA_SECONDS = 30
_PATIENCE_SECONDS = 1.5
_FIRST_PAUSE_SECONDS = 0.03
_LONGEST_PAUSE_SECONDS = 0.3
_HURRIED_SECONDS = 5.0
_FACTOR = 1.5
_HELD = {409, 412}
_NOT_FOUND = 404
_OTHERS = "*"

_log = Logger("sdb.store.s3")
_guard = threading.Lock()
_excluding: dict[tuple[str, str], bool] = {}
_held: ContextVar[frozenset[ObjectAddress]] = ContextVar("held", default=frozenset())


@contextlib.contextmanager
def exclusive(address: ObjectAddress, *, required: bool) -> Iterator[None]:
    """Publish alone; does nothing on S3 itself, nor where the lock is held already.

    * ``required``: Whether it is an error if the endpoint ignores the condition that makes a lock;
      otherwise nothing is locked.

    Raises `ConflictError` if other writers held the lock all the time and `UnsupportedError` if the
    endpoint ignores the condition that makes a lock.
    """
    if endpoint().is_aws or address in _held.get():
        yield
        return
    lock = _Lock(address)
    before = _held.get()
    try:
        with translated("locking", str(lock.address)):
            lock.acquire()
            if required:
                lock.check()
        _held.set(before | {address})
        yield
    finally:
        _held.set(before)
        lock.release()


class _Lock:
    """An object that only one can make."""

    def __init__(self, target: ObjectAddress) -> None:
        folder, slash, name = target.key.rpartition("/")
        self.address = ObjectAddress(target.bucket, f"{folder}{slash}{HIDDEN}lock-{name}")
        self._id = new_id()
        self._since = 0.0
        self._is_held = False
        self._waits_for = "", 0.0

    def acquire(self) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        backoff = Backoff(
            f"locking {self.address}",
            _log,
            first_seconds=_FIRST_PAUSE_SECONDS,
            longest_seconds=_LONGEST_PAUSE_SECONDS,
            patience_seconds=LEASE_SECONDS + _EXTRA_SECONDS,
            factor=_FACTOR,
            hurried_seconds=_HURRIED_SECONDS,
        )
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
            wanted = self._awaited(backoff)
            if wanted is None:
                break
            condition = wanted
        self._is_held = True

    def _awaited(self, backoff: Backoff) -> dict[str, str] | None:
        """Poll until the lock is free, and return the condition to take it; None: it is ours.

        Polling costs less than trying: writes to one object hold each other up, in SeaweedFS for
        seconds. After a long wait it polls more often.
        """
        backoff.failures = 0
        while True:
            holder = self._holder()
            if holder is None:
                return None
            if holder != _OTHERS:
                return {"IfMatch": holder} if holder else {"IfNoneMatch": "*"}
            if not backoff.may_retry():
                url = str(self.address)
                error = ConflictError(f"{url}: other writers hold the lock", path=url)
                raise backoff.exhausted(error)
            backoff.pause()

    def _put(self, condition: dict[str, str], *, once: bool = True) -> None:
        connect(once=once).put_object(
            **self.address.names, Body=b"", **settings(self._id, {}), **condition
        )

    def _holder(self) -> str | None:
        """Look who has the lock.

        Returns: None: this writer; empty: none; an ETag: one that died; `_OTHERS`: another one.
        """
        from botocore.exceptions import ClientError

        try:
            answer = connect().head_object(**self.address.names)
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
                f"waiting for {self.address} until {at}: another writer publishes there, or died "
                "and left its lock, which is taken over then"
            )
            self._waits_for = holder, now + LEASE_SECONDS

    def check(self) -> None:
        """Check, once in a process, on a lock that another one cannot have too."""
        from botocore.exceptions import ClientError

        identity = endpoint().url, self.address.bucket
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
                path=str(self.address),
                hint="sdb doctor tells more; --unsafe-single-writer if nobody else writes",
            )

    def release(self) -> None:
        """Release the lock, unless another writer has taken it over because it was old."""
        from botocore.exceptions import BotoCoreError, ClientError

        if not self._since or time.monotonic() - self._since > LEASE_SECONDS:
            return
        with contextlib.suppress(ClientError, BotoCoreError):
            if self._is_held or self._holder() is None:
                connect().delete_object(**self.address.names)
