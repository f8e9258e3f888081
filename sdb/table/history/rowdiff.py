"""Rows that two versions have otherwise: inserted, deleted, and changed with both values.

A row that was changed is known again by its identity, or by the values of some fields. Rows that
differ wait in memory for their other half, or if they are many in temporary files, parted by what
they are known by.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from struct import Struct

from sdb.errors import CorruptError
from sdb.progress import silent
from sdb.records import field, record
from sdb.table.history.diff import located_rows
from sdb.table.packfiles.identities import identities_of
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO, TypeAlias

    from sdb.packfile.trailer.identities import Numbers, RowIdentities
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.history.diff import TableDifference

    Differing: TypeAlias = tuple[str, bytes, bytes]

INSERTED, DELETED, CHANGED = "+", "-", "~"
MOST_HELD = 50_000
"""How many rows that differ are held in memory; more wait in files."""

_PARTS = 64
_HEAD = Struct("<cII")


@record
class RowDifference:
    """A row that two versions have otherwise."""

    # ``+`` for a row that only the later version has, ``-`` for one that only the earlier has, and
    # ``~`` for one that was changed.
    sign: str
    row: bytes  # the row as JSON; of a changed one that of the later version
    # Of a changed one for each path that differs ``old`` and ``new``, as far as there are values.
    changed: dict[str, dict[str, object]] | None = field(default=None)

    def encode(self) -> bytes:
        """Return it as a line of JSON."""
        more = b"" if self.changed is None else b', "changed": ' + _dumped(self.changed)
        return b'{"sign": "%s", "row": %s%s}\n' % (self.sign.encode(), self.row, more)


def changed_rows(
    difference: TableDifference,
    *,
    key: Sequence[str] = (),
    progress: Progress = silent,
) -> Iterator[RowDifference]:
    """Iterate over the rows that differ between two versions, those that were changed as one.

    * ``difference``: The packfiles that differ; no others are read.
    * ``key``: Paths of fields whose values tell one row from all others, as ``a.b``; without them
      rows are known by where they came from, as far as packfiles say that.

    Raises `CorruptError` if a packfile is missing or damaged.
    """
    names = {
        INSERTED: _namer(difference.after, difference.added, key),
        DELETED: _namer(difference.before, difference.removed, key),
    }
    with ExitStack() as stack:
        waiting = _Waiting(stack)
        for sign, line, packfile, number in located_rows(difference, progress=progress):
            name = names[sign](line, packfile, number)
            if name:
                waiting.add((sign, name, line))
            else:
                yield RowDifference(sign, line)
        for rows in waiting.parts():
            yield from _paired(rows)


def _paired(rows: Sequence[Differing]) -> Iterator[RowDifference]:
    """Put rows of the same name together, in their order."""
    before: dict[bytes, list[bytes]] = {}
    for sign, name, line in rows:
        if sign == DELETED:
            before.setdefault(name, []).append(line)
    for lines in before.values():
        lines.reverse()
    for sign, name, line in rows:
        if sign == INSERTED:
            old = before.get(name)
            if old:
                yield RowDifference(CHANGED, line, changed_fields(old.pop(), line))
            else:
                yield RowDifference(INSERTED, line)
    for lines in before.values():
        for line in reversed(lines):
            yield RowDifference(DELETED, line)


def changed_fields(before: bytes, after: bytes) -> dict[str, dict[str, object]]:
    """Return for each path at which two rows, as JSON, differ the old and the new value.

    >>> changed_fields(b'{"a": {"b": 1}, "c": 2}', b'{"a": {"b": 3}}')
    {'a.b': {'old': 1, 'new': 3}, 'c': {'old': 2}}
    """
    changed: dict[str, dict[str, object]] = {}

    def compare(old: dict[str, Any], new: dict[str, Any], above: str) -> None:
        for name in dict.fromkeys((*old, *new)):
            values = {
                when: side[name] for when, side in (("old", old), ("new", new)) if name in side
            }
            if len(values) > 1 and all(isinstance(value, dict) for value in values.values()):
                compare(old[name], new[name], f"{above}{name}.")
            elif len(values) < 2 or _dumped(old[name]) != _dumped(new[name]):  # noqa: PLR2004 - both
                changed[f"{above}{name}"] = values

    compare(json.loads(before), json.loads(after), "")
    return changed


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()


def _namer(
    handle: TableHandle, packfiles: Sequence[Descriptor], key: Sequence[str]
) -> Callable[[bytes, int, int], bytes]:
    """Return a function that names the rows of a side; an empty name: the row has no name."""
    if key:
        paths = [path.split(".") for path in key]
        return lambda line, _, __: _values(json.loads(line), paths)
    return _Identities(handle, packfiles).name


def _values(row: Any, paths: Sequence[Sequence[str]]) -> bytes:  # noqa: ANN401 - JSON
    """Return the values of the key of a row; nothing if one is missing."""
    values = []
    for path in paths:
        value = row
        for name in path:
            if not isinstance(value, dict) or name not in value:
                return b""
            value = value[name]
        values.append(value)
    return _dumped(values)


class _Identities:
    """Names rows by the packfile that they came in with, and their number there."""

    def __init__(self, handle: TableHandle, packfiles: Sequence[Descriptor]) -> None:
        self._root = handle.root
        self._packfiles = packfiles
        self._opened = -1
        self._identities: RowIdentities | None = None
        self._ends: Numbers | None = None

    def name(self, _: bytes, packfile: int, number: int) -> bytes:
        """Return the name of a row."""
        if self._opened != packfile:
            self._opened = packfile
            self._identities = self._read(self._packfiles[packfile])
            self._ends = None if self._identities is None else self._identities.ends
        identities, ends = self._identities, self._ends
        if identities is None or ends is None:
            return b""
        run = int(ends.searchsorted(number, "right"))
        source = identities.sources[int(identities.source[run])][0]
        start = int(ends[run] - identities.count[run])
        return source + (int(identities.first[run]) + number - start).to_bytes(8, "little")

    def _read(self, packfile: Descriptor) -> RowIdentities | None:
        objects = OpenObjects()
        try:
            trailer = whole_packfile(self._root, packfile, objects).trailer
            return identities_of(packfile.key, trailer)
        except CorruptError:
            return None  # its rows are shown as they are
        finally:
            objects.close()


class _Waiting:
    """Rows that differ, until all are there."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._held: list[Differing] = []
        self._files: list[BinaryIO] = []

    def add(self, row: Differing) -> None:
        """Take a row."""
        self._held.append(row)
        if len(self._held) > MOST_HELD:
            self._spill()

    def _spill(self) -> None:
        """Write the rows that are held to files, those of the same name to the same."""
        from tempfile import TemporaryFile
        from zlib import crc32

        if not self._files:
            enter = self._stack.enter_context
            self._files = [enter(TemporaryFile()) for _ in range(_PARTS)]  # noqa: SIM115
        for sign, name, line in self._held:
            file = self._files[crc32(name) % _PARTS]
            file.write(_HEAD.pack(sign.encode(), len(name), len(line)) + name + line)
        self._held.clear()

    def parts(self) -> Iterator[Sequence[Differing]]:
        """Yield the rows, those of the same name together."""
        if not self._files:
            yield self._held
            return
        self._spill()
        for file in self._files:
            file.seek(0)
            yield list(_stored(file))
            file.close()


def _stored(file: BinaryIO) -> Iterator[Differing]:
    while head := file.read(_HEAD.size):
        sign, name_bytes, line_bytes = _HEAD.unpack(head)
        yield sign.decode(), file.read(name_bytes), file.read(line_bytes)
