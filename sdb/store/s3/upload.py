"""Uploads in parts: parts go up in the background, and memory stays bounded."""

from __future__ import annotations

import contextlib
import threading
import time
from base64 import b64encode
from collections import deque
from dataclasses import dataclass
from hashlib import md5
from typing import TYPE_CHECKING, Any

from sdb.errors import UnsupportedError
from sdb.store.s3.client import connect
from sdb.store.s3.errors import code_of, translated
from sdb.store.s3.reader import status_of_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.s3.place import Place
    from sdb.store.s3.reader import S3Reader

MIN_PART_BYTES = 5 << 20
FIRST_PART_BYTES = 8 << 20
MAX_PART_BYTES = 5 << 30
MAX_PARTS = 10_000
COPY_BYTES = 256 << 20
WORKERS = 4
_DOUBLINGS = 10
_WAITING_BYTES = 64 << 20
_STOP_SECONDS = 2.0
_ABORTS = 5


def part_bytes(index: int, budget: int) -> int:
    """Give the size that the next part should have.

    Parts become larger on the way, so that those that are left suffice for the largest object.

    Parameters
    ----------
    index : int
        How many parts there are already.
    budget : int
        How many there may be.

    Returns
    -------
    int
        Size in bytes.
    """
    return min(MAX_PART_BYTES, FIRST_PART_BYTES << (index * _DOUBLINGS // budget))


def copy_ranges(count: int) -> list[tuple[int, int]]:
    """Cut the first bytes of an object into parts that the store copies, all about equal.

    Parameters
    ----------
    count : int
        How many bytes, at least those of the smallest part.

    Returns
    -------
    list of tuple
        Half-open ranges, at most half as many as there may be parts.
    """
    largest = min(MAX_PART_BYTES, max(COPY_BYTES, -(-count // (MAX_PARTS // 2))))
    parts = -(-count // largest)
    if parts >= MAX_PARTS:
        raise UnsupportedError(f"{count:,} bytes are more than {MAX_PARTS:,} parts can hold")
    return [(count * n // parts, count * (n + 1) // parts) for n in range(parts)]


@dataclass(frozen=True, slots=True)
class _Task:
    number: int
    size_bytes: int
    run: Callable[[], str]


class Upload:
    """An upload in parts.

    Nothing is sent before the first part. Parts are sent by threads of its own, which do not keep
    the program from ending.

    Parameters
    ----------
    place : Place
        Where the object shall be.
    metadata : dict
        Its metadata.
    """

    def __init__(self, place: Place, metadata: dict[str, str]) -> None:
        self.place = place
        self.id = ""
        self._metadata = metadata
        self._count = 0
        self._copies = 0
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
        """How large the next part should be."""
        return part_bytes(self._count - self._copies, MAX_PARTS - self._copies)

    def put(self, data: bytes) -> None:
        """Send a part; waits while too many are on their way."""
        number = self._number()
        size = len(data)
        digest = b64encode(md5(data, usedforsecurity=False).digest()).decode()

        def run() -> str:
            answer = connect().upload_part(
                **self.place.names,
                UploadId=self.id,
                PartNumber=number,
                Body=data,
                ContentMD5=digest,
            )
            return str(answer["ETag"])

        self._add(_Task(number, size, run))

    def copy(self, source: S3Reader, start: int, stop: int) -> None:
        """Let the store copy a part out of another object."""
        number = self._number()
        self._copies += 1

        def run() -> str:
            answer = connect().upload_part_copy(
                **self.place.names,
                UploadId=self.id,
                PartNumber=number,
                CopySource=source.place.names,
                CopySourceIfMatch=source.etag,
                CopySourceRange=f"bytes={start}-{stop - 1}",
            )
            return str(answer["CopyPartResult"]["ETag"])

        self._add(_Task(number, 0, run))

    def _number(self) -> int:
        """Begin the upload if it has not begun, and count one more part."""
        if not self.id:
            with translated("writing", str(self.place)):
                answer = connect().create_multipart_upload(
                    **self.place.names,
                    Metadata=self._metadata,
                    ContentType="application/octet-stream",
                )
            self.id = answer["UploadId"]
        self._count += 1
        if self._count > MAX_PARTS:
            raise UnsupportedError(f"{self.place}: more than {MAX_PARTS:,} parts")
        return self._count

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
        """Tell whether as much is on its way as may be."""
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
            with translated("writing", str(self.place)):
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

        Raises
        ------
        SdbError
            A part could not be sent.
        """
        with self._changed:
            while (self._waiting or self._running) and self._error is None:
                self._changed.wait()
            self._raise()
        self._stop()
        parts = [{"PartNumber": n, "ETag": tag} for n, tag in sorted(self._tags.items())]
        return {"Parts": parts}

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def is_gone(self) -> bool:
        """Tell whether the store has no such upload: it was completed, or aborted."""
        from botocore.exceptions import ClientError

        try:
            answer = connect().list_parts(**self.place.names, UploadId=self.id, MaxParts=1)
        except ClientError as error:
            if code_of(error) in {"NoSuchUpload", "NoSuchKey"}:
                return True
            raise
        return status_of_answer(answer) >= 300  # noqa: PLR2004 - anything but success

    def abort(self) -> bool:
        """Give the upload up, and everything that was sent.

        Returns
        -------
        bool
            Whether the store has confirmed that nothing of it is left.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        self._stop()
        if not self.id:
            return True
        for attempt in range(_ABORTS):
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
            connect().abort_multipart_upload(**self.place.names, UploadId=self.id)
        except ClientError as error:
            if code_of(error) != "NoSuchUpload":
                raise

    def _join(self) -> bool:
        """Wait a little for parts that are being sent; tells whether there were any."""
        with self._changed:
            running = self._running
            self._changed.wait_for(lambda: not self._running, _STOP_SECONDS)
        return running > 0


class Parts:
    """Cuts what is written into parts.

    Parameters
    ----------
    upload : Upload
        What takes them.
    """

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self.written_bytes = 0

    def write(self, data: bytes) -> int:
        """Write bytes at the end."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._size_bytes += len(piece)
        self.written_bytes += len(piece)
        while self._size_bytes >= self._upload.next_bytes:
            self._cut(self._upload.next_bytes)
        return len(piece)

    def _cut(self, count: int) -> None:
        data = memoryview(self.rest())
        self._pieces = [bytes(data[count:])]
        self._size_bytes = len(data) - count
        self._upload.put(bytes(data[:count]))

    def rest(self) -> bytes:
        """Give what is not sent yet."""
        return b"".join(self._pieces)

    def flush(self) -> None:
        """Send what is left as the last part."""
        if self._size_bytes:
            self._upload.put(self.rest())
        self._pieces, self._size_bytes = [], 0
