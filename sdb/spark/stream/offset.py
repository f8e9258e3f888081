"""Offsets of streams of a table: how far it has been read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


@dataclass(frozen=True, slots=True)
class VersionMark:
    """A version of a table, which another program may have overwritten since."""

    number: int = 0  # its number; 0: the table before its first version
    commit: str = ""  # id of its commit


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The progress of a stream of a table."""

    table: str = ""  # what identifies the table; empty before its first version
    done: VersionMark = VersionMark()  # the version up to which all rows were read
    next: VersionMark | None = None  # the version that is being read; None: none is
    packfiles: int = 0  # how many of the packfiles were read that came in between these two
    # Where the stream began, when that was the newest version of that moment
    first: VersionMark | None = None

    def advanced(self, target: VersionMark, packfiles: int, total: int) -> Self:
        """Return the offset at which some packfiles on the way to a version are read."""
        if packfiles >= total:
            return replace(self, done=target, next=None, packfiles=0)
        return replace(self, next=target, packfiles=packfiles)

    def of(self, table: str) -> Self:
        """Return the offset with the table that it is of, once that is known."""
        return replace(self, table=self.table or table)

    def begun_as(self, end: StreamOffset) -> StreamOffset:
        """Return where the batch to another offset began.

        A first batch that is run again is asked from the newest version of now, and not of then.
        """
        is_fresh = self.first == self.done and self.next is None
        if is_fresh and end.first is not None and end.first != self.first:
            return StreamOffset(end.table, end.first, first=end.first)
        return self

    def encode(self) -> dict[str, Any]:
        """Return the offset as Spark stores it: equal ones are equal texts."""
        value: dict[str, Any] = {"table": self.table, "version": _encoded(self.done)}
        if self.next is not None:
            value |= {"next": _encoded(self.next), "packfiles": self.packfiles}
        if self.first is not None:
            value["first"] = _encoded(self.first)
        return value

    @classmethod
    def decode(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`encode` returned.

        Raises `UsageError` if it is the offset of another source, such as a folder of packfiles.
        """
        try:
            return cls(
                str(value["table"]),
                _mark(value["version"]),
                _mark(value["next"]) if "next" in value else None,
                int(value.get("packfiles", 0)),
                _mark(value["first"]) if "first" in value else None,
            )
        except (KeyError, TypeError, ValueError):
            hint = "a checkpoint is that of one source: start anew with a new one"
            raise UsageError("invalid checkpoint: expected one of a table", hint=hint) from None


def _encoded(mark: VersionMark) -> list[Any]:
    return [mark.number, mark.commit]


def _mark(value: Any) -> VersionMark:  # noqa: ANN401 - JSON
    number, commit = value
    return VersionMark(int(number), str(commit))
