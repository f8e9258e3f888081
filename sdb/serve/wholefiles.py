"""Answers that are made whole before they are sent: files with a length, some with ranges."""

from __future__ import annotations

import os
import tempfile

from starlette.responses import FileResponse

from sdb.lru import LruCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from sdb.serve.forms import AnswerForm

_FILES = 16
_FILES_BYTES = 1 << 30


class WholeFile:
    """A file without a name, which is gone with the last who reads it, or with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sdb-serve-")  # noqa: SIM115 - closed with this
        self.headers: dict[str, str] = {}  # of its answer

    def write(self, data: bytes) -> None:
        """Write bytes at its end."""
        self._file.write(data)

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return self._file.tell()

    def response(self, request: Request, headers: dict[str, str], form: AnswerForm) -> FileResponse:
        """Return the response that sends it."""
        self._file.flush()
        path = f"/proc/self/fd/{self._file.fileno()}"
        # Without a strong tag two of them need not have the same bytes; times are no such thing.
        if not form.is_whole or not request.headers.get("if-range", '"').startswith('"'):
            request.scope["headers"] = [
                pair for pair in request.scope["headers"] if pair[0] != b"range"
            ]
        response = FileResponse(
            path,
            headers={**headers, **self.headers},
            media_type=form.media_type,
            stat_result=os.fstat(self._file.fileno()),
        )
        if not form.is_whole:
            del response.headers["accept-ranges"]
        if "etag" not in headers:
            del response.headers["etag"]
        elif form.is_whole:
            # Of the same bytes, so ranges fit.
            response.headers["etag"] = headers["etag"].removeprefix("W/")
        response.file = self  # type: ignore[attr-defined]  # it stays open until it is sent
        return response


class WholeFiles:
    """The files that were made last, by the tags of their answers."""

    def __init__(self) -> None:
        self._files: LruCache[str, WholeFile] = LruCache(
            most_entries=_FILES, most_bytes=_FILES_BYTES, size_of=lambda file: file.size_bytes
        )

    def get(self, key: str) -> WholeFile | None:
        """Return a file; None: it has to be made."""
        return self._files.get(key) if key else None

    def put(self, key: str, file: WholeFile) -> None:
        """Keep a file for others who ask for it."""
        if key:
            self._files.put(key, file)
