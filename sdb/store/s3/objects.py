"""Objects of S3 that are open for reading at any position."""

from __future__ import annotations

from sdb.errors import CorruptError, SdbError, UnsupportedError
from sdb.log import Logger
from sdb.retry import Backoff
from sdb.store.objectstore_base import ObjectReaderBase
from sdb.store.s3.address import ObjectAddress, parse
from sdb.store.s3.client import connect
from sdb.store.s3.failures import changed, code_of, is_answer, status_of, translate, translated
from sdb.store.s3.history import ids_of, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from botocore.response import StreamingBody

ATTEMPTS = 5
_PIECE_BYTES = 1 << 20
_log = Logger("sdb.store.s3")
_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 1.6
_NO_SUCH_RANGE = 416


class S3Reader(ObjectReaderBase):
    """One version of an object, open for reading at any position.

    Every request has the version that was opened as its condition.

    * ``settings``: Its metadata and how it is stored, as arguments of a request that makes an
      object like it.
    * ``known``: Bytes that were read when it was opened, and where they start.
    """

    __slots__ = ("_known", "_known_start", "address", "etag", "path", "settings", "size_bytes")

    def __init__(
        self,
        address: ObjectAddress,
        size_bytes: int,
        etag: str,
        settings: dict[str, Any],
        known: tuple[int, bytes],
    ) -> None:
        self.address = address
        self.path = str(address)
        self.size_bytes = size_bytes
        self.etag = etag
        self.settings = settings
        self._known_start, self._known = known

    @property
    def history(self) -> tuple[str, ...]:
        """The writes that made it, see :mod:`sdb.store.s3.history`."""
        return ids_of(self.settings)

    def forget(self) -> None:
        """Release bytes that were read when it was opened; it can still be read."""
        self._known = b""

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range.

        Raises `ConflictError` if someone replaced the object since it was opened, `NotFoundError`
        if someone removed it and `CorruptError` if the object ends before `stop`.
        """
        known_stop = self._known_start + len(self._known)
        if self._known_start <= start <= stop <= known_stop:
            return self._known[start - self._known_start : stop - self._known_start]
        return b"".join(self.pieces(start, stop))

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a range piece by piece, as they arrive.

        Where the connection breaks, reading goes on with a new one.
        Raises `ConflictError`, `NotFoundError` or `CorruptError` as :meth:`read` does.
        """
        if stop > self.size_bytes:
            message = f"reading {self.path}: the object ends at byte {self.size_bytes:,}"
            raise CorruptError(message, path=self.path, offset=self.size_bytes)
        if self._known_start <= start < self._known_start + len(self._known):
            offset = start - self._known_start
            yield self._known[offset : offset + stop - start]
            start = min(stop, self._known_start + len(self._known))
        backoff = _backoff(f"reading {self.path}")
        while start < stop:
            try:
                for piece in self._request(start, stop):
                    start += len(piece)
                    backoff.failures = 0
                    yield piece
            except _BrokenError as broken:
                if not backoff.may_retry(broken):
                    raise self._gave_up(broken, start) from broken
                backoff.pause()

    def _request(self, start: int, stop: int) -> Generator[bytes]:
        with translated("reading", self.path):
            answer = connect().get_object(
                **self.address.names, Range=f"bytes={start}-{stop - 1}", IfMatch=self.etag
            )
        if answer["ETag"] != self.etag:
            answer["Body"].close()
            raise changed(f"reading {self.path}", self.path)
        if status_of_answer(answer) != 206:  # noqa: PLR2004 - partial content
            answer["Body"].close()
            raise _without_ranges(self.path)
        yield from _received(answer["Body"], stop - start)

    def _gave_up(self, broken: Exception, start: int) -> SdbError:
        message = f"reading {self.path}: the connection broke {ATTEMPTS} times at byte {start:,}"
        return SdbError(f"{message}: {broken}", path=self.path, offset=start)


class _BrokenError(Exception):
    """A connection broke in the middle of an answer."""


def _received(body: StreamingBody, expected: int) -> Generator[bytes]:
    """Yield the body of an answer, and check that it is all there."""
    from botocore.exceptions import BotoCoreError

    received = 0
    try:
        while piece := body.read(min(_PIECE_BYTES, expected - received) or 1):
            received += len(piece)
            yield piece
    except (BotoCoreError, OSError) as error:
        raise _BrokenError(str(error)) from error
    finally:
        body.close()
    if received != expected:
        raise _BrokenError(f"{received:,} bytes of {expected:,}")


def open_read(url: str, *, head_bytes: int = 0, tail_bytes: int = 0, start: int = 0) -> S3Reader:
    """Open an object for reading at any position.

    * ``head_bytes, tail_bytes``: How many bytes to read at once from its beginning or, if that is
      0, from its end.
    * ``start``: Where these bytes begin, if that is not its beginning.

    Raises `NotFoundError`, `AccessError` or `UsageError` if there is no such object or bucket, or
    it may not be read.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    address = parse(url)
    stop = start + head_bytes
    wanted = f"bytes={start}-{stop - 1}" if head_bytes else f"bytes=-{max(1, tail_bytes)}"
    backoff = _backoff(f"opening {address}")
    while True:
        try:
            return _open(address, wanted)
        except (ClientError, BotoCoreError, ResponseParserError, _BrokenError) as error:
            if status_of(error) == _NO_SUCH_RANGE:
                return _empty(address)
            if is_answer(error) and code_of(error) == "AccessDenied":
                raise _denied(error, address) from error
            if not isinstance(error, _BrokenError):
                raise translate(error, "opening", str(address)) from error
            if not backoff.may_retry(error):
                message = f"opening {address}: the connection broke {ATTEMPTS} times: {error}"
                raise SdbError(message, path=str(address)) from error
            backoff.pause()


def _backoff(what: str) -> Backoff:
    return Backoff(
        what,
        _log,
        first_seconds=_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        attempts=ATTEMPTS,
    )


def _denied(error: Exception, address: ObjectAddress) -> SdbError:
    """Say what AWS does not: without permission to list, what is not there is denied."""
    denied = translate(error, "opening", str(address))
    denied.hint = "it may also not exist: s3:GetObject, and s3:ListBucket to tell the difference"
    return denied


def _open(address: ObjectAddress, wanted: str) -> S3Reader:
    answer = connect().get_object(**address.names, Range=wanted)
    body = answer["Body"]
    if "ETag" not in answer:
        body.close()
        raise _no_s3(str(address))
    size = start = answer["ContentLength"]
    if status_of_answer(answer) == 206:  # noqa: PLR2004 - partial content
        span, _, total = answer["ContentRange"].removeprefix("bytes ").partition("/")
        start, size = int(span.partition("-")[0]), int(total)
    elif size > _PIECE_BYTES:
        body.close()
        raise _without_ranges(str(address))
    else:
        start = 0
    known = b"".join(_received(body, answer["ContentLength"]))
    return S3Reader(address, size, answer["ETag"], settings_of(answer), (start, known))


def _empty(address: ObjectAddress) -> S3Reader:
    with translated("opening", str(address)):
        answer = connect().head_object(**address.names)
    return S3Reader(address, answer["ContentLength"], answer["ETag"], settings_of(answer), (0, b""))


def _no_s3(path: str) -> SdbError:
    message = f"opening {path}: the endpoint answers, but not as S3 does"
    return SdbError(message, path=path, hint="AWS_ENDPOINT_URL_S3 names another service")


def _without_ranges(path: str) -> SdbError:
    message = f"reading {path}: the endpoint sends whole objects where parts are asked for"
    return UnsupportedError(message, path=path, hint="sdb doctor tells what it can do")


def status_of_answer(answer: dict[str, Any]) -> int:
    """Return the HTTP status of an answer that boto3 has parsed."""
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])
