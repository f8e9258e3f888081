"""Multipart uploads: parts are sent or copied in the background, and memory stays bounded."""

from __future__ import annotations

import contextlib
import threading
import time
from base64 import b64encode
from collections import deque
from hashlib import md5

from sdb.errors import UnsupportedError
from sdb.log import Logger
from sdb.records import record
from sdb.retry import Backoff
from sdb.store.s3.client import ATTEMPTS, connect
from sdb.store.s3.failures import code_of, is_answer, translated
from sdb.store.s3.objects import status_of_answer
from sdb.store.s3.orphans import remove_nameless
from sdb.store.s3.parts import MAX_PARTS, part_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sdb.store.s3.address import ObjectAddress
    from sdb.store.s3.objects import S3Reader

WORKERS = 4
_WAITING_BYTES = 64 << 20
_STOP_SECONDS = 2.0
_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.6
_log = Logger("sdb.store.s3")


@record
class _Task:
    number: int
    size_bytes: int
    run: Callable[[], str]


class Upload:
    """An upload in parts.

    Nothing is sent before the first part. Parts are sent by separate threads, which do not keep
    the program from ending.

    * ``settings``: Its metadata and how it shall be stored, see :mod:`sdb.store.s3.history`.
    """

    def __init__(self, address: ObjectAddress, settings: dict[str, Any]) -> None:
        self.address = address
        self.id = ""
        self._settings = settings
        self._count = 0
        self._copies = 0
        self._unanswered = 0.0
        self._tags: dict[int, str] = {}
        self._waiting: deque[_Task] = deque()
        self._waiting_bytes = 0
        self._running = 0
        self._error: BaseException | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    @property
    def next_bytes(self) -> int:
        """Size that the next part should have, in bytes."""
        return part_bytes(self._count - self._copies, MAX_PARTS - self._copies)

    def put(self, data: bytes) -> None:
        """Send a part; waits while too many are on their way."""
        number = self._number()
        size = len(data)
        digest = b64encode(md5(data, usedforsecurity=False).digest()).decode()

        def run() -> str:
            answer = connect().upload_part(
                **self.address.names,
                UploadId=self.id,
                PartNumber=number,
                Body=data,
                ContentMD5=digest,
            )
            return str(answer["ETag"])

        self._add(_Task(number, size, run))

    def copy(self, source: S3Reader, start: int, stop: int) -> None:
        """Have the store copy a part out of another object."""
        number = self._number()
        self._copies += 1

        def run() -> str:
            answer = connect().upload_part_copy(
                **self.address.names,
                UploadId=self.id,
                PartNumber=number,
                CopySource=source.address.names,
                CopySourceIfMatch=source.etag,
                CopySourceRange=f"bytes={start}-{stop - 1}",
            )
            return str(answer["CopyPartResult"]["ETag"])

        self._add(_Task(number, 0, run))

    def _number(self) -> int:
        """Begin the upload if it has not begun, and count one more part."""
        if not self.id:
            with translated("writing", str(self.address)):
                self._begin()
        self._count += 1
        if self._count > MAX_PARTS:
            raise UnsupportedError(f"{self.address}: more than {MAX_PARTS:,} parts")
        return self._count

    def _begin(self) -> None:
        """Begin the upload, and remember when there was no answer: it may have begun twice."""
        from botocore.exceptions import BotoCoreError, ClientError

        backoff = Backoff(
            f"beginning an upload of {self.address}",
            _log,
            first_seconds=_PAUSE_SECONDS,
            longest_seconds=_LONGEST_PAUSE_SECONDS,
            attempts=ATTEMPTS,
        )
        while True:
            began = time.monotonic()
            try:
                answer = connect(once=True).create_multipart_upload(
                    **self.address.names, **self._settings
                )
            except (ClientError, BotoCoreError) as error:
                if is_answer(error):
                    raise
                self._unanswered = self._unanswered or began
                if not backoff.may_retry(error):
                    self._remove_nameless()
                    raise
            else:
                self.id = answer["UploadId"]
                return
            backoff.pause()

    def _remove_nameless(self) -> None:
        if self._unanswered:
            remove_nameless(self.address, self.id, time.monotonic() - self._unanswered)
            self._unanswered = 0.0

    def finish(self) -> None:
        """Leave nothing behind but the object that has appeared."""
        self._stop()
        self._remove_nameless()

    def _add(self, task: _Task) -> None:
        with self._changed:
            while self._is_full(task.size_bytes) and self._error is None:
                self._changed.wait()
            self._raise()
            self._waiting.append(task)
            self._waiting_bytes += task.size_bytes
            self._changed.notify_all()
            if len(self._threads) < WORKERS and self._running + len(self._waiting) > len(
                self._threads
            ):
                thread = threading.Thread(target=self._work, name="sdb-upload", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _is_full(self, size_bytes: int) -> bool:
        """Return whether as much is on its way as may be."""
        many = self._waiting_bytes + size_bytes > _WAITING_BYTES
        return bool(self._waiting_bytes) and (many or len(self._waiting) >= WORKERS)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._stopped:
                    self._changed.wait()
                if self._stopped:
                    return
                task = self._waiting.popleft()
                self._running += 1
            self._run(task)

    def _run(self, task: _Task) -> None:
        tag, failure = "", None
        try:
            with translated("writing", str(self.address)):
                tag = task.run()
        except BaseException as error:  # noqa: BLE001 - raised where the parts come from
            failure = error
        with self._changed:
            self._running -= 1
            self._waiting_bytes -= task.size_bytes
            self._tags[task.number] = tag
            self._error = self._error or failure
            self._changed.notify_all()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def parts(self) -> dict[str, Any]:
        """Wait for all parts, and give the list of them that completes the upload.

        Raises `SdbError` if a part could not be sent.
        """
        with self._changed:
            while (self._waiting or self._running) and self._error is None:
                self._changed.wait()
            self._raise()
        parts = [{"PartNumber": n, "ETag": tag} for n, tag in sorted(self._tags.items())]
        return {"Parts": parts}

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def is_gone(self) -> bool:
        """Return whether the store has no such upload: it was completed, or aborted."""
        from botocore.exceptions import ClientError

        try:
            answer = connect().list_parts(**self.address.names, UploadId=self.id, MaxParts=1)
        except ClientError as error:
            if code_of(error) in {"NoSuchUpload", "NoSuchKey"}:
                return True
            raise
        return status_of_answer(answer) >= 300  # noqa: PLR2004 - anything but success

    def abort(self) -> bool:
        """Return the upload up, and everything that was sent.

        Returns: Whether the store has confirmed that nothing of it is left.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        self.finish()
        if not self.id:
            return True
        for attempt in range(ATTEMPTS):
            with contextlib.suppress(ClientError, BotoCoreError):
                self._request_abort()
                # What was on its way meanwhile may have arrived after that.
                if self._join() and attempt == 0:
                    self._request_abort()
                if self.is_gone():
                    return True
            time.sleep(0.1 * attempt)
        return False

    def _request_abort(self) -> None:
        from botocore.exceptions import ClientError

        try:
            connect().abort_multipart_upload(**self.address.names, UploadId=self.id)
        except ClientError as error:
            if code_of(error) != "NoSuchUpload":
                raise

    def _join(self) -> bool:
        """Wait a little for parts that are being sent; tells whether there were any."""
        with self._changed:
            running = self._running
            self._changed.wait_for(lambda: not self._running, _STOP_SECONDS)
        return running > 0
