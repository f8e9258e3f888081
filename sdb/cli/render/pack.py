"""Report the result of `sdb pack` and `sdb append`, and keep malformed records."""

from __future__ import annotations

import sys

from sdb import instants, sizes
from sdb.cli import output
from sdb.cli.values import malformed
from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import BinaryIO, Self

    from sdb._core import RejectedBatch
    from sdb.cli.optionrecords import FullReport
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.packfile.write.appended import AppendResult
    from sdb.packfile.write.malformed import Rejected
    from sdb.packfile.write.pack import PackResult

_MOST_INDEXES = 5


class Rejects:
    """A context manager that keeps, counts or refuses malformed records.

    * ``mode``: What ``--on-error`` says.
    * ``apart_from``: What the command reads and writes, which that file must not be; ``-`` is
      standard input.

    Raises `UsageError` for another mode, or a file that is taken.
    """

    def __init__(
        self,
        mode: str,
        *,
        overwrite: bool,
        verbose: bool,
        apart_from: Iterable[str | None] = (),
        writes_out: bool = False,
    ) -> None:
        self.action, self._path = malformed(mode)  # as packing takes it, and a file
        if self._path is not None:
            _check_free(self._path, apart_from, writes_out=writes_out)
        self._overwrite = overwrite
        self._verbose = verbose
        self._file: BinaryIO | None = None
        self._opened: AbstractContextManager[BinaryIO] | None = None
        self._first: Rejected | None = None

    @property
    def take_batch(self) -> Callable[[RejectedBatch], None] | None:
        """The function that takes many records at once; None when the first one is an error."""
        return None if self.action == "fail" else self._take_batch

    def _take_batch(self, batch: RejectedBatch) -> None:
        from sdb.packfile.write.malformed import Rejected

        if self._verbose:
            for number in range(len(batch)):
                self._take(Rejected(*batch[number]))
            return
        self._first = self._first or Rejected(*batch[0])
        if self._file is not None:
            self._file.write(batch.lines())

    @property
    def take(self) -> Callable[[Rejected], None] | None:
        """The function that takes a record; None when the first one is an error."""
        return None if self.action == "fail" else self._take

    def _take(self, record: Rejected) -> None:
        self._first = self._first or record
        if self._file is not None:
            self._file.write(record.text)
            if not record.text.endswith(b"\n"):
                self._file.write(b"\n")
        if self._verbose:
            verb = "kept" if self.action == "keep" else "skipped"
            output.say(output.plain(output.shortened(f"{verb} {record}")), to=sys.stderr)

    def summary(self, count: int) -> str | None:
        """Say in a line what became of this many records."""
        if self._first is None:
            return None
        from sdb.packfile.write.malformed import outcome

        where = f"; kept in {self._path}" if self._path else ""
        return f"{outcome(count, is_kept=self.action == 'keep')}{where}; first {self._first}"

    def __enter__(self) -> Self:
        """Open the file for the records."""
        if self._path is not None:
            from sdb.store.url import atomic_write

            self._opened = atomic_write(self._path, overwrite=self._overwrite)
            self._file = self._opened.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Publish the file, unless packing failed."""
        if self._opened is not None:
            self._opened.__exit__(kind, value, traceback)


def _check_free(path: str, taken: Iterable[str | None], *, writes_out: bool) -> None:
    from sdb.store.aliasing import same

    places: list[str | int] = [0 if other == "-" else other for other in taken if other is not None]
    if any(same(path, other) for other in [*places, *([1] if writes_out else [])]):
        raise UsageError(
            f"--on-error quarantine:{path} is a file that the command reads or writes",
            path=path,
            hint="name another file",
        )


def report(result: PackResult, rejects: Rejects, seconds: float, wanted: FullReport) -> None:
    """Report what packing came to; when nobody is watching only if it is asked for."""
    _tell_malformed(rejects, result.rejected + result.kept_records, quiet=wanted.quiet)
    if wanted.as_json:
        output.say_json(_facts(result, seconds))
    elif not wanted.quiet and (wanted.verbose or sys.stderr.isatty()):
        output.say(output.plain(_text(result, seconds)), to=sys.stderr)


def report_append(result: AppendResult, rejects: Rejects, wanted: FullReport) -> None:
    """Report what appending came to, and what it saved."""
    _tell_malformed(rejects, result.rejected + result.kept_records, quiet=wanted.quiet)
    if wanted.as_json:
        output.say_json(_append_facts(result))
    elif not wanted.quiet:
        output.say(output.plain(_append_text(result)), to=sys.stderr)


def _tell_malformed(rejects: Rejects, count: int, *, quiet: bool) -> None:
    text = rejects.summary(count)
    if text and not quiet:
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)


def index_facts(trailer: Trailer) -> list[dict[str, object]]:
    """Return the time indexes of a packfile for JSON."""
    return [
        {
            "path": list(path),
            "first_at": instants.text(index.first_us),
            "last_at": instants.text(index.last_us),
        }
        for path, index in trailer.sparse.indices.items()
    ]


def _append_facts(result: AppendResult) -> dict[str, object]:
    return {
        "path": result.path,
        "algorithm": result.trailer.algorithm,
        "inputs": result.inputs,
        "rows_added": result.rows_added,
        "rows": result.rows_total,
        "rejected": result.rejected,
        "kept": result.kept_records,
        "known": list(result.known),
        "skipped": list(result.skipped),
        "blocks": len(result.trailer.blocks),
        "text_bytes": result.text_bytes,
        "output_bytes": result.output_bytes,
        "copied_bytes": result.copied_bytes,
        "copied_by": result.copied_by,
        "read_bytes": result.read_bytes,
        "written_bytes": result.written_bytes,
        "attempts": result.attempts,
        "seconds": round(result.seconds, 3),
        "indexes": index_facts(result.trailer),
    }


def _append_text(result: AppendResult) -> str:
    known = ""
    if result.skipped:
        more = f" and {len(result.skipped) - 1:,} more" if result.skipped[1:] else ""
        known = f"left out {result.skipped[0]}{more}: its rows are in {result.path} already\n"
    if result.copied_by is None and result.written_bytes:
        rows, blocks = _count(result.rows_added, "row"), _count(len(result.trailer.blocks), "block")
        return (
            f"made     {result.path}: {rows} in {blocks}\n"
            f"size     {sizes.human(result.output_bytes)}\n"
            f"time     {result.seconds:.2f} s"
        )
    if not result.rows_added:
        return f"{known}nothing to append: {result.path} has the rows that were there"
    size, copied, read, written = (
        sizes.human(count)
        for count in (
            result.output_bytes,
            result.copied_bytes,
            result.read_bytes,
            result.written_bytes,
        )
    )
    total = "" if result.rows_total is None else f" to {result.rows_total - result.rows_added:,}"
    blocks = _count(len(result.trailer.blocks), "block")
    how = "shared on disk" if result.copied_by == "reflink" else f"kept by {result.copied_by}"
    tries = f", {result.attempts} attempts" if result.attempts > 1 else ""
    return known + (
        f"appended {_count(result.rows_added, 'row')}{total}, {blocks} now\n"
        f"size     {size}: {copied} {how}, {written} written\n"
        f"read     {read} of the old file\n"
        f"time     {result.seconds:.2f} s{tries}"
    )


def _facts(result: PackResult, seconds: float) -> dict[str, object]:
    return {
        "path": result.path,
        "algorithm": result.trailer.algorithm,
        "inputs": result.inputs,
        "rows": result.rows,
        "rejected": result.rejected,
        "kept": result.kept_records,
        "blocks": len(result.trailer.blocks),
        "text_bytes": result.text_bytes,
        "output_bytes": result.output_bytes,
        "seconds": round(seconds, 3),
        "indexes": index_facts(result.trailer),
    }


def _text(result: PackResult, seconds: float) -> str:
    blocks = len(result.trailer.blocks)
    ratio = sizes.ratio(result.text_bytes, result.output_bytes)
    before, after = sizes.human(result.text_bytes), sizes.human(result.output_bytes)
    lines = [
        f"packed   {_count(result.rows, 'row')} in {_count(blocks, 'block')}",
        f"size     {after}, {ratio}x smaller than {before}",
        f"speed    {result.text_bytes / 1e6 / max(seconds, 1e-3):.0f} MB/s, {seconds:.2f} s",
    ]
    indexes = list(result.trailer.sparse.indices.items())
    label = "indexed"
    for path, index in indexes[:_MOST_INDEXES]:
        first, last = (instants.text(us, fraction=False) for us in (index.first_us, index.last_us))
        lines += [f"{label:8} {'.'.join(path)}", f"         {first} to {last}"]
        label = ""
    if not indexes and result.rows:
        lines.append("indexed  nothing: no field has times (docs/times.md)")
    if len(indexes) > _MOST_INDEXES:
        lines.append(f"         and {len(indexes) - _MOST_INDEXES} more fields")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
