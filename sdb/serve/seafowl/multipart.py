"""Forms with a file (multipart/form-data), read as they come: no part is held that is too large."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from sdb.serve.bodies import streamed
from sdb.serve.problems import HttpError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from starlette.requests import Request

MOST_FILE_BYTES = 256 << 20
_MOST_FORM_BYTES = MOST_FILE_BYTES + (2 << 20)
_MOST_FIELD_BYTES = 1 << 20
_MOST_HEADER_BYTES = 16 << 10
_MOST_PARTS = 16
_FILES = frozenset({"data", "file"})


class UploadForm:
    """The parts of a form: texts by their names, and one file in a folder for it.

    * ``folder``: Where the file goes.
    * ``check``: Called with the name of the file before a byte of it is kept.
    """

    def __init__(self, folder: str, check: Callable[[str], object]) -> None:
        self._folder, self._check = folder, check
        self.fields: dict[str, str] = {}
        self.file_name = ""
        self.file: IO[bytes] | None = None
        self._parts = 0
        self._name, self._header = "", b""
        self._headers: dict[str, bytes] = {}
        self._key, self._value = b"", b""
        self._field, self._size = b"", 0
        self._is_file = self.is_ended = False

    async def read(self, request: Request) -> None:
        """Read the body of a request.

        Raises `HttpError` if it is no such form, or a part is too large, or the form has no end.
        """
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            hint = "curl -F data=@FILE.csv sends one"
            raise HttpError(415, "the body is no form with a file", hint=hint)
        parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._begin,
                "on_header_field": self._on_key,
                "on_header_value": self._on_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_headers,
                "on_part_data": self._on_data,
                "on_part_end": self._end_part,
                "on_end": self._end,
            },
        )
        try:
            async for piece in streamed(request, _MOST_FORM_BYTES):
                parser.write(piece)
        except MultipartParseError as error:
            raise HttpError(400, f"the body is no form: {error}") from None
        if not self.is_ended:
            raise HttpError(400, "the body is cut: the form has no end")

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise HttpError(413, f"the form has more than {_MOST_PARTS} parts")
        self._headers, self._key, self._value = {}, b"", b""
        self._field, self._size, self._name, self._is_file = b"", 0, "", False

    def _on_key(self, data: bytes, start: int, end: int) -> None:
        self._key += data[start:end]
        self._check_header()

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check_header()

    def _check_header(self) -> None:
        if len(self._key) + len(self._value) > _MOST_HEADER_BYTES:
            raise HttpError(413, "a header of the form is too large")

    def _end_header(self) -> None:
        self._headers[self._key.decode("latin-1").lower()] = self._value
        self._key, self._value = b"", b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        self._is_file = self._name in _FILES
        if not self._is_file:
            return
        if self.file is not None:
            raise HttpError(400, "the form has more than one file")
        self.file_name = options.get(b"filename", b"").decode("utf-8", "replace")
        self._check(self.file_name)
        self.file = tempfile.NamedTemporaryFile(dir=self._folder, delete=False)  # noqa: SIM115

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        self._size += end - start
        most = MOST_FILE_BYTES if self._is_file else _MOST_FIELD_BYTES
        if self._size > most:
            raise HttpError(413, f"{self._name[:40]!r} is larger than {most:,} bytes")
        if self._is_file and self.file is not None:
            self.file.write(data[start:end])
        else:
            self._field += data[start:end]

    def _end_part(self) -> None:
        if self._is_file and self.file is not None:
            self.file.close()
        elif self._name in self.fields:
            raise HttpError(400, f"the form has {self._name[:40]!r} twice")
        else:
            self.fields[self._name] = self._field.decode("utf-8", "replace")

    def _end(self) -> None:
        self.is_ended = True
