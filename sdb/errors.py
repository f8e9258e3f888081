"""Exceptions of `sdb`: one base class, one subclass for each way out of the command line.

Each class knows the exit code of the command line and, where one fits, is also the builtin
exception that Python programs already catch.

Examples
--------
>>> import sdb.errors
>>> issubclass(sdb.errors.NotFoundError, FileNotFoundError)
True
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Self

_LINE_BREAKS = str.maketrans({"\n": r"\n", "\r": r"\r", "\u2028": r"\u2028", "\u2029": r"\u2029"})


class SdbError(Exception):
    """An operation of `sdb` that failed.

    Parameters
    ----------
    message : str
        What failed, on what, and where, in one line: line breaks, which names in a damaged file may
        hold, are escaped.
    hint : str, optional
        What to do about it, often a command.
    path : str, optional
        The file or URL at fault.
    offset : int, optional
        Position in it, in bytes.
    line : int, optional
        Line number in it, counted from 1.
    expected : str, optional
        What would have been right instead.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        expected: str | None = None,
    ) -> None:
        message = message.translate(_LINE_BREAKS)
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.offset = offset
        self.line = line
        self.expected = expected

    def __str__(self) -> str:
        """Return the message alone."""
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Support copies and pickles, whatever arguments the class takes."""
        return _remade, (type(self), self.args), self.__dict__

    def within(self, where: str, *, path: str | None = None, hint: str | None = None) -> Self:
        """Make the same error with its place in front of the message.

        Parameters
        ----------
        where : str
            The place, without the colon.
        path : str, optional
            The file or URL, when the error does not have it yet.
        hint : str, optional
            A hint, when the error does not have one yet.

        Returns
        -------
        SdbError
            An error of the same class.
        """
        return type(self)(
            f"{where}: {self.message}",
            hint=self.hint or hint,
            path=self.path or path,
            offset=self.offset,
            line=self.line,
            expected=self.expected,
        )


def _remade(kind: type[SdbError], args: tuple[object, ...]) -> SdbError:
    error = kind.__new__(kind)
    error.args = args
    return error


class UsageError(SdbError, ValueError):
    """An invalid call or command line."""

    exit_code: ClassVar[int] = 2


class QueryError(UsageError):
    """A query that cannot be parsed, or that can never have an answer.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    query : str, optional
        The text of the query.
    offset : int, optional
        Where the culprit starts in it, in bytes of UTF-8; line and column follow from it.
    length : int, optional
        Bytes of the culprit.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    line, column : int or None
        The place, counted from 1; columns count bytes.

    Examples
    --------
    >>> print(QueryError("no such word", query="SELECT a?", offset=8, length=1).underlined())
    SELECT a?
            ^
    """

    def __init__(
        self,
        message: str,
        *,
        query: str | None = None,
        offset: int | None = None,
        length: int = 2,
        hint: str | None = None,
        path: str | None = None,
        line: int | None = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, path=path, offset=offset, line=line, expected=expected)
        self.query = query
        self.length = length
        self.column: int | None = None
        if query is not None and offset is not None:
            before = query.encode("utf-8", "replace")[:offset]
            self.line = before.count(b"\n") + 1
            self.column = offset - (before.rfind(b"\n") + 1) + 1

    def within(self, where: str, *, path: str | None = None, hint: str | None = None) -> Self:
        """Make the same error with its place in front of the message; see `SdbError.within`."""
        return type(self)(
            f"{where}: {self.message}",
            query=self.query,
            offset=self.offset,
            length=self.length,
            hint=self.hint or hint,
            path=self.path or path,
            line=self.line,
            expected=self.expected,
        )

    def inside(self, query: str) -> Self:
        """Make the same error with the text of the query that its offset belongs to."""
        return type(self)(
            self.message,
            query=query,
            offset=self.offset,
            length=self.length,
            hint=self.hint,
            path=self.path,
            expected=self.expected,
        )

    def underlined(self, *, context: int = 20, width: int = 200) -> str:
        """Show the query with the culprit underlined.

        Parameters
        ----------
        context : int
            How many lines to show on either side of the one at fault.
        width : int
            How many characters of a line to show around the culprit.

        Returns
        -------
        str
            Lines without a line break at the end; empty when the place is not known.
        """
        if self.query is None or self.line is None or self.column is None:
            return ""
        lines = self.query.split("\n")
        at = self.line - 1
        raw = lines[at].encode("utf-8", "replace")
        start = len(raw[: self.column - 1].decode("utf-8", "replace"))
        marked = len(raw[self.column - 1 :][: self.length].decode("utf-8", "replace"))
        beyond = self.column - 1 + self.length - len(raw)
        left = max(0, start - width // 2)
        pad = "".join("\t" if char == "\t" else " " for char in lines[at][left:start])
        marks = "^" * min(max(1, marked + max(0, min(beyond, 2))), width)
        shown = [line[:width] for line in lines[max(0, at - context) : at]]
        shown += [lines[at][left : left + width], pad + marks]
        return "\n".join(shown + [line[:width] for line in lines[at + 1 : at + 1 + context]])


class NotFoundError(SdbError, FileNotFoundError):
    """A file, folder, block or field that does not exist."""

    exit_code: ClassVar[int] = 3


class ExistsError(SdbError, FileExistsError):
    """An output that exists already and must not be replaced."""

    exit_code: ClassVar[int] = 4


class ConflictError(SdbError):
    """Another writer was first."""

    exit_code: ClassVar[int] = 5


class CorruptError(SdbError, ValueError):
    """A packfile, or another file of the format, that breaks its rules."""

    exit_code: ClassVar[int] = 6


class InputError(SdbError, ValueError):
    """Malformed input text: JSON, CSV, TSV, CloudTrail, hints."""

    exit_code: ClassVar[int] = 6


class AccessError(SdbError, PermissionError):
    """The operating system or the store refuses access."""

    exit_code: ClassVar[int] = 7


class UnsupportedError(SdbError, NotImplementedError):
    """A valid request that this build does not support."""

    exit_code: ClassVar[int] = 8


class UncertainError(SdbError):
    """It is not known whether the operation took place; running it again is safe."""

    exit_code: ClassVar[int] = 9


class ExhaustedError(SdbError):
    """A query needs more memory than it may have, or more room on the disk than there is."""


class SdbWarning(UserWarning):
    """Something that may mislead or takes long, see :func:`sdb.notes.warn`."""


def from_os(error: OSError, action: str, path: str) -> SdbError:
    """Translate an error of the operating system.

    Parameters
    ----------
    error : OSError
        What the operating system said.
    action : str
        What was tried, as in ``"opening"``.
    path : str
        What it was tried on.

    Returns
    -------
    SdbError
        The error to raise, with the exit code that fits.
    """
    text = error.strerror or str(error) or type(error).__name__
    message = f"{action} {path}: {text[:1].lower()}{text[1:]}"
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFoundError(message, path=path)
        case FileExistsError():
            return ExistsError(message, path=path)
        case PermissionError():
            return AccessError(message, path=path)
        case IsADirectoryError():
            return UsageError(message, path=path)
        case _:
            return SdbError(message, path=path)


def text_of(path: str | os.PathLike[str]) -> str:
    """Return a path as printable text, whatever its bytes are."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
