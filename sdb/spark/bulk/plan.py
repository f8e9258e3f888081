"""Divide inputs, or pieces of them, among tasks.

A file is cut where that is sure to be right: plain JSON between two lines that both are complete
objects, because JSON has two values side by side at its top level only. Everything else is packed
by one task from its beginning to its end.
"""

from __future__ import annotations

import heapq
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

from sdb import formats
from sdb.errors import UsageError
from sdb.packfile.inputs.arguments import normalize_inputs
from sdb.packfile.inputs.inputs import Input, recognise_each
from sdb.packfile.inputs.streams import is_stream
from sdb.packfile.read.resolve import resolve
from sdb.store import url
from sdb.store.aliasing import warn_repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.store.base import Location, Reader

TARGET_BYTES = 1 << 30
_LEAST_BYTES = 32 << 20
_WINDOW_BYTES = 64 << 10
_MOST_WINDOW_BYTES = 16 << 20
_OPENERS = 32
_LINE = b"\n"
_CUT_AT_LINES = {form.parser for form in formats.FORMATS if form.is_cut_at_lines}


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input."""

    path: str  # absolute path or URL
    size_bytes: int  # its size
    etag: str  # which version of it, on S3


@dataclass(frozen=True, slots=True)
class Piece:
    """An input, or a range of one."""

    file: InputFile  # the input, as it was when the work was planned
    # The range, in bytes
    start: int
    stop: int
    number: int  # its place in the order of the inputs

    @property
    def is_whole(self) -> bool:
        """True if it is all of the input."""
        return self.start == 0 and self.stop == self.file.size_bytes


@dataclass(frozen=True, slots=True)
class Task:
    """The pieces that become one packfile."""

    number: int  # number of the task
    pieces: tuple[Piece, ...]  # what it packs, in this order

    @property
    def size_bytes(self) -> int:
        """Size of the pieces, as they are stored."""
        return sum(piece.stop - piece.start for piece in self.pieces)

    @property
    def paths(self) -> list[str]:
        """The inputs."""
        return [piece.file.path for piece in self.pieces]


def measure(inputs: Location | Iterable[Location]) -> list[InputFile]:
    """Find inputs, and how large they are.

    * ``inputs``: What to pack: files, patterns and folders.

    Raises `NotFoundError` or `AccessError` if an input is not there, or may not be read;
    `UsageError` without inputs, and for one that is no file or can be read only once.
    """
    sources = normalize_inputs(inputs)
    if not sources:
        raise UsageError("no inputs", hint="sdb spark pack -o FOLDER INPUT...")
    if "-" in sources:
        raise UsageError("Spark cannot pack standard input", hint="name files or URLs")
    named: list[Location] = []
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            what = "rows" if isinstance(source, Input) else "an open file"
            hint = "give paths or URLs that the executors see; sdb.pack takes rows and open files"
            raise UsageError(f"Spark cannot pack {what}", hint=hint)
        named.append(source)
    paths = [source.location for source in resolve(named, folders=False)]
    warn_repeated(paths)
    with ThreadPoolExecutor(_OPENERS) as pool:
        return list(pool.map(_measure, paths))


def _measure(path: str) -> InputFile:
    path = url.absolute(path)
    if url.store_of(path).path_of(path) is not None and is_stream(path):
        raise UsageError(f"{path} can be read only once, and tasks may have to start over")
    with closing(url.open_read(path)) as reader:
        return InputFile(path, reader.size_bytes, reader.etag)


def plan(
    files: Sequence[InputFile],
    *,
    tasks: int | None = None,
    target_bytes: int = TARGET_BYTES,
    parallelism: int = 1,
    format: str | None = None,  # noqa: A002 - the word users know
) -> list[Task]:
    """Divide inputs among tasks.

    * ``tasks``: How many tasks, if there is enough to do for that many.
    * ``target_bytes``: Without `tasks`: about how many bytes of input, as they are stored, a task
      gets.
    * ``parallelism``: Without `tasks`: how many tasks run at a time. Tasks get less than
      `target_bytes` rather than that some of the processors have nothing to do.
    * ``format``: Format of all inputs; recognised if not given.

    Returns: None of them without an input; of about the same size, as far as the inputs can be cut.
    Raises `UsageError` for sizes that make no sense and `InputError` if the format of a large input
    is unknown.
    """
    if target_bytes < 1 or (tasks is not None and tasks < 1):
        raise UsageError("invalid plan: expected at least one task, and one byte for each")
    total = sum(file.size_bytes for file in files)
    if tasks is None:
        tasks = tasks_for(total, target_bytes, parallelism)
    share = max(1, -(-total // tasks))
    pieces: list[Piece] = []
    for file in files:
        cuts = _cuts(file, share, format) if file.size_bytes > share else []
        for start, stop in pairwise([0, *cuts, file.size_bytes]):
            pieces.append(Piece(file, start, stop, len(pieces)))
    return _divided(pieces, tasks)


def tasks_for(size_bytes: int, target_bytes: int, parallelism: int) -> int:
    """Report how many tasks inputs of a size are for, see :func:`plan`."""
    busy = min(parallelism, -(-size_bytes // _LEAST_BYTES))
    return max(1, busy, -(-size_bytes // target_bytes))


def _cuts(file: InputFile, share: int, format: str | None) -> list[int]:  # noqa: A002 - as above
    """Find positions at which a file can be cut into pieces of about a size."""
    source = next(recognise_each(file.path, format))
    if source.format not in _CUT_AT_LINES or not source.is_plain:
        return []
    size = file.size_bytes
    count = -(-size // share)
    cuts: list[int] = []
    with closing(url.open_read(file.path)) as reader:
        for number in range(1, count):
            cut = boundary(reader, size * number // count)
            if cut is not None and cut < size and cut > (cuts[-1] if cuts else 0):
                cuts.append(cut)
    return cuts


def boundary(reader: Reader, near: int) -> int | None:
    """Find a place between two lines that both are complete JSON objects.

    Returns: Where the second of the lines starts; None when there is no such place nearby.
    """
    window = _WINDOW_BYTES
    while True:
        start, stop = max(0, near - window), min(reader.size_bytes, near + window)
        text = reader.read(start, stop)
        cut = _boundary(text, near - start, from_start=start == 0, to_end=stop == reader.size_bytes)
        whole = start == 0 and stop == reader.size_bytes
        if cut is not None or whole or window >= _MOST_WINDOW_BYTES:
            return None if cut is None else start + cut
        window *= 8


def _boundary(text: bytes, near: int, *, from_start: bool, to_end: bool) -> int | None:
    """Look for the place in a window, from the line that `near` is in."""
    at = text.rfind(_LINE, 0, near) + 1
    if at == 0 and not from_start:
        return None
    before = False
    while at < len(text):
        end = text.find(_LINE, at)
        if end < 0 and not to_end:
            return None
        end = len(text) if end < 0 else end
        is_object = _is_object(text[at:end])
        if before and is_object:
            return at
        before, at = is_object, end + 1
    return None


def _is_object(line: bytes) -> bool:
    import json

    if not line.lstrip().startswith(b"{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _divided(pieces: Sequence[Piece], tasks: int) -> list[Task]:
    """Return the largest piece that is left to the task that has least, until none is left."""
    loads = [(0, 0, number) for number in range(tasks)]
    shares: list[list[Piece]] = [[] for _ in range(tasks)]
    for piece in sorted(pieces, key=lambda piece: piece.start - piece.stop):
        load, count, number = heapq.heappop(loads)
        shares[number].append(piece)
        heapq.heappush(loads, (load + piece.stop - piece.start, count + 1, number))
    for share in shares:
        share.sort(key=lambda piece: piece.number)
    filled = sorted(filter(None, shares), key=lambda share: share[0].number)
    return [Task(number, tuple(share)) for number, share in enumerate(filled)]
