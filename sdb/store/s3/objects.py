"""Objects of S3 that are open for reading at any position."""

from __future__ import annotations

import time

from sdb.errors import CorruptError, SdbError, UnsupportedError
from sdb.store.flat import FlatReader
from sdb.store.s3.client import connect
from sdb.store.s3.failures import changed, code_of, is_answer, status_of, translate, translated
from sdb.store.s3.history import ids_of, settings_of
from sdb.store.s3.place import Place, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from botocore.response import StreamingBody

ATTEMPTS = 5
_PIECE_BYTES = 1 << 20
_PAUSE_SECONDS = 0.1
_NO_SUCH_RANGE = 416


class S3Reader(FlatReader):
    """One version of an object, open for reading at any position.

    Every request insists on the version that was opened.

    Parameters
    ----------
    place : Place
        Where the object is.
    size_bytes : int
        Its size.
    etag : str
        Which version, with the quotes around it.
    settings : dict
        Its metadata and how it is stored, as arguments of a request that makes an object like it.
    known : tuple of int and bytes
        Bytes that were read when it was opened, and where they start.
    """

    __slots__ = ("_known", "_known_start", "etag", "path", "place", "settings", "size_bytes")

    def __init__(
        self,
        place: Place,
        size_bytes: int,
        etag: str,
        settings: dict[str, Any],
        known: tuple[int, bytes],
    ) -> None:
        self.place = place
        self.path = str(place)
        self.size_bytes = size_bytes
        self.etag = etag
        self.settings = settings
        self._known_start, self._known = known

    @property
    def history(self) -> tuple[str, ...]:
        """The writes that made it, see :mod:`sdb.store.s3.history`."""
        return ids_of(self.settings)

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range.

        Parameters
        ----------
        start, stop : int
            Positions in the object, in bytes.

        Returns
        -------
        bytes
            Exactly ``stop - start`` bytes.

        Raises
        ------
        ConflictError
            Someone replaced the object since it was opened.
        NotFoundError
            Someone removed it.
        CorruptError
            The object ends before `stop`.
        """
        known_stop = self._known_start + len(self._known)
        if self._known_start <= start <= stop <= known_stop:
            return self._known[start - self._known_start : stop - self._known_start]
        return b"".join(self.pieces(start, stop))

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a range piece by piece, as they arrive.

        Where the connection breaks, reading goes on with a new one.

        Yields
        ------
        bytes
            At most a mebibyte.

        Raises
        ------
        ConflictError, NotFoundError, CorruptError
            See :meth:`read`.
        """
        if stop > self.size_bytes:
            message = f"reading {self.path}: the object ends at byte {self.size_bytes:,}"
            raise CorruptError(message, path=self.path, offset=self.size_bytes)
        if self._known_start <= start < self._known_start + len(self._known):
            offset = start - self._known_start
            yield self._known[offset : offset + stop - start]
            start = min(stop, self._known_start + len(self._known))
        failures = 0
        while start < stop:
            try:
                for piece in self._request(start, stop):
                    start += len(piece)
                    failures = 0
                    yield piece
            except _BrokenError as broken:
                failures += 1
                if failures == ATTEMPTS:
                    raise self._gave_up(broken, start) from broken
                time.sleep(_PAUSE_SECONDS * 2**failures)

    def _request(self, start: int, stop: int) -> Generator[bytes]:
        with translated("reading", self.path):
            answer = connect().get_object(
                **self.place.names, Range=f"bytes={start}-{stop - 1}", IfMatch=self.etag
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
    """Give the body of an answer, and insist on all of it."""
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

    Parameters
    ----------
    url : str
        Where it is.
    head_bytes, tail_bytes : int
        How many bytes to read at once from its beginning or, if that is 0, from its end.
    start : int
        Where these bytes begin, if that is not its beginning.

    Returns
    -------
    S3Reader
        The version of the object that is there now.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        There is no such object or bucket, or it may not be read.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    place = parse(url)
    stop = start + head_bytes
    wanted = f"bytes={start}-{stop - 1}" if head_bytes else f"bytes=-{max(1, tail_bytes)}"
    failures = 0
    while True:
        try:
            return _open(place, wanted)
        except (ClientError, BotoCoreError, _BrokenError) as error:
            if status_of(error) == _NO_SUCH_RANGE:
                return _empty(place)
            if is_answer(error) and code_of(error) == "AccessDenied":
                raise _denied(error, place) from error
            failures += 1
            if not isinstance(error, _BrokenError):
                raise translate(error, "opening", str(place)) from error
            if failures == ATTEMPTS:
                message = f"opening {place}: the connection broke {failures} times: {error}"
                raise SdbError(message, path=str(place)) from error
            time.sleep(_PAUSE_SECONDS * 2**failures)


def _denied(error: Exception, place: Place) -> SdbError:
    """Say what AWS does not: without permission to list, what is not there is denied."""
    denied = translate(error, "opening", str(place))
    denied.hint = "it may also not exist: s3:GetObject, and s3:ListBucket to tell the difference"
    return denied


def _open(place: Place, wanted: str) -> S3Reader:
    answer = connect().get_object(**place.names, Range=wanted)
    body = answer["Body"]
    size = start = answer["ContentLength"]
    if status_of_answer(answer) == 206:  # noqa: PLR2004 - partial content
        span, _, total = answer["ContentRange"].removeprefix("bytes ").partition("/")
        start, size = int(span.partition("-")[0]), int(total)
    elif size > _PIECE_BYTES:
        body.close()
        raise _without_ranges(str(place))
    else:
        start = 0
    known = b"".join(_received(body, answer["ContentLength"]))
    return S3Reader(place, size, answer["ETag"], settings_of(answer), (start, known))


def _empty(place: Place) -> S3Reader:
    with translated("opening", str(place)):
        answer = connect().head_object(**place.names)
    return S3Reader(place, answer["ContentLength"], answer["ETag"], settings_of(answer), (0, b""))


def _without_ranges(path: str) -> SdbError:
    message = f"reading {path}: the endpoint sends whole objects where parts are asked for"
    return UnsupportedError(message, path=path, hint="sdb doctor tells what it can do")


def status_of_answer(answer: dict[str, Any]) -> int:
    """Give the HTTP status of an answer that boto3 has parsed."""
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])
