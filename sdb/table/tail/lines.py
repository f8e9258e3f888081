"""Lines of log files as inputs of a packfile."""

from __future__ import annotations

import io
import time

from sdb import formats
from sdb.errors import InputError
from sdb.packfile.inputs.inputs import recognise
from sdb.packfile.inputs.lines import stream_form, text_input
from sdb.packfile.inputs.sniff import HEAD_BYTES
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inputs.inputs import Input
    from sdb.table.tail.followed import FollowedFile
    from sdb.table.tail.logtext import LogPiece


_MOST_HELD_BYTES = 768 << 10  # a record of several lines has no more of them once it is so long


@record
class FileLines:
    """Lines of a file that are to be committed."""

    file: FollowedFile
    piece: LogPiece

    def input(self, form: str | None, hints: bytes | None) -> Input:
        """Return the lines as an input.

        * ``form``: Their format as ``-f`` has it; None: it is found out by the start of the file.
        * ``hints``: A hints file for them.

        Raises `InputError` if they are in no known format, or are not a record each.
        """
        file = self.file
        self.find_form(form, hints)
        begin = file.cursor.offset
        name = f"{file.path} behind byte {begin:,}" if begin else file.path
        lines = text_input(name, file.form, self.piece.data, hints)
        written = min(time.time(), file.facts.written)
        return replace(lines, format=formats.parser_at(file.form, written, is_later=True))

    def find_form(self, form: str | None, hints: bytes | None) -> str:
        """Return the parser of the lines; the parameters and errors are those of :meth:`input`."""
        if not self.file.form:
            self.file.form = _parser_of(self.file.path, self._first_lines(), form, hints)
        return self.file.form

    def whole_records(self, form: str | None, hints: bytes | None) -> FileLines | None:
        """Return the lines without a record at their end that lines to come may go on with.

        The parameters are those of :meth:`input`.

        Returns: None: there is no other record yet.
        """
        from sdb import _core

        try:
            parser = formats.taken_apart(self.find_form(form, hints))[0]
        except InputError:
            return self  # taking them says so
        data = self.piece.data
        start = _core.log_last_record(parser, data)
        if start is None or (start == 0 and len(data) >= _MOST_HELD_BYTES):
            return self
        return replace(self, piece=self.file.cursor.taken(data[:start])) if start else None

    def _first_lines(self) -> bytes:
        """Return lines at the start of the file: what comes behind may begin with a stack trace."""
        text = self.file.opened() if self.file.cursor.offset else None
        head = b"" if text is None else text.read(0, HEAD_BYTES).lstrip(b"\0")
        return head[: head.rfind(b"\n") + 1] or self.piece.data


def unread_bytes(file: FollowedFile) -> int:
    """Return how many bytes of a file are new; of one with gzip whether there may be some."""
    if file.is_packed:
        return int(file.text is not None)
    return file.facts.size_bytes - file.cursor.offset


class _Again(io.BytesIO):
    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def _parser_of(path: str, data: bytes, form: str | None, hints: bytes | None) -> str:
    recognised = recognise(_Again(data, path), form, hints=hints)
    parser = stream_form(data, recognised.format) if recognised.is_plain else ""
    if not parser:
        hint = "-f names the format of the lines, such as text or logfmt"
        raise InputError(f"{path}: does not have a record on each line", hint=hint, path=path)
    return parser
