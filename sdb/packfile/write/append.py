"""Appends inputs to a packfile, at a cost that depends on what is added.

The new packfile begins with the bytes of the old one that stay, which the store copies by itself,
and takes the old one's place in one step, if that is still the one that was read. If someone else
was faster, everything starts over from what they left.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing, nullcontext
from functools import partial

from sdb import bounds, formats, levels, notes
from sdb.errors import ConflictError, ExistsError, UsageError, text_of
from sdb.log import Logger
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.arguments import locations, normalize_inputs
from sdb.packfile.inputs.duplicates import repeated
from sdb.packfile.inputs.recognised import recognise_all
from sdb.packfile.inputs.spool import Spool
from sdb.packfile.prune.unknownfields import warn_unknown
from sdb.packfile.trailer.read import read_trailer
from sdb.packfile.write.appended import AppendResult
from sdb.packfile.write.malformed import actions_of
from sdb.packfile.write.pack import BLOCK_BYTES, Feeder, pack
from sdb.packfile.write.resume import AppendRequest, Counted, RejectedOnce, finish, retain, start
from sdb.progress import silent
from sdb.records import replace
from sdb.retry import Backoff
from sdb.store.aliasing import check_apart, same
from sdb.store.url import create_from_prefix, locked, open_read, store_of
from sdb.times import ALL, Times
from sdb.times import of as times_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sdb._core import Packer, RejectedBatch
    from sdb.packfile.build.retained import RetainedPrefix
    from sdb.packfile.inputs.arguments import Inputs, Nulls
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.packfile.write.malformed import Rejected
    from sdb.progress import Progress
    from sdb.store.base import Draft, Location, Reader

ATTEMPTS = 20
_log = Logger("sdb.packfile.write")
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0


def append(  # noqa: PLR0913 - the command's options, by name
    packfile: Location,
    inputs: Inputs,
    *,
    output: Location | None = None,
    level: int | str | None = None,
    block_bytes: int = BLOCK_BYTES,
    max_row_bytes: int | None = None,
    threads: int | None = None,
    constants: Mapping[str, object] | None = None,
    hints: bytes | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    hive: bool | None = None,
    nulls: Nulls = "null",
    time_fields: Sequence[Path] = (),
    times: Times | str = ALL,
    on_error: Callable[[Rejected], None] | str | None = None,
    on_errors: Callable[[RejectedBatch], None] | None = None,
    overwrite: bool = False,
    attempts: int = ATTEMPTS,
    unsafe_single_writer: bool = False,
    skip_known: bool = False,
    create: bool = False,
    verify: bool = True,
    stats: str | Sequence[str | Sequence[str | None]] = "auto",
    progress: Progress = silent,
) -> AppendResult:
    """Append inputs to a packfile, all of them or, after any error, nothing.

    Readers of the old packfile continue undisturbed. Concurrent appends wait, or retry: no rows are
    lost. Without new rows nothing is written.

    Parameters
    ----------
    packfile : path or URL
        The packfile. It keeps its compression, chunk size and constants.
    inputs, block_bytes, max_row_bytes, threads, hints, format, hive, nulls, time_fields, progress
        As in :func:`sdb.pack`.
    times, on_error, on_errors
        As in :func:`sdb.pack`.
    output : path or URL, optional
        Where to write the result; `packfile` then stays as it is.
    level : int or str, optional
        How much time to spend on a smaller packfile, as in :func:`sdb.pack`; the level of the
        packfile if not given. An explicit level is recorded for later appends.
    constants : mapping, optional
        The expected constants of the packfile; new rows get those of the packfile anyway.
    overwrite : bool
        Whether an existing `output` may be replaced.
    attempts : int
        How often to retry when other writers change the packfile.
    unsafe_single_writer : bool
        Whether to append on a store that cannot keep two writers from overwriting each other.
    skip_known : bool
        Whether to skip inputs whose rows the packfile has already: those of the same name, size
        and content. Without it their rows are appended again, with a warning.
    create : bool
        Whether to create a missing packfile, as :func:`sdb.pack` does.
    verify : bool
        Whether a wrong checksum in a part of the packfile that is read is an error. Turn it off
        only to rescue a damaged packfile: values may be wrong then.
    stats : str or sequence of path
        Paths that get statistics in new blocks, see :func:`sdb.pack`; with ``"auto"`` also those
        with filters in the packfile. Retained blocks keep theirs.

    Returns
    -------
    AppendResult
        Rows, sizes and times.

    Raises
    ------
    ConflictError
        Other writers changed the packfile at each attempt. It is as they left it.
    CorruptError
        `packfile` is no packfile, or a part that has to be read is damaged.
    InputError
        An input is malformed.
    NotFoundError, AccessError
        The packfile or an input does not exist, or may not be used.
    UsageError
        Other constants than those of the packfile, or a time field that cannot be indexed any more.
    ExistsError
        `output` exists and `overwrite` is off.
    UncertainError
        It is not known whether the packfile was replaced.

    Examples
    --------
    >>> sdb.append("events.zion", "testdata/parking2.json.gz", output="more.zion").rows_total
    2023
    """
    began = time.monotonic()
    number = None if level is None else levels.number(level)
    bounds.BLOCK.check(block_bytes)
    bounds.THREADS.check(threads)
    bounds.ATTEMPTS.check(attempts)
    named = normalize_inputs(inputs, nulls)
    if not named:
        raise UsageError("no inputs", hint="sdb append PACKFILE INPUT...")
    if any(same(packfile, 0 if source == "-" else source) for source in locations(named)):
        raise UsageError(
            f"{text_of(packfile)} is the packfile that rows are appended to, and an input, too",
            path=text_of(packfile),
            hint="its rows would be in it twice; leave it out of the inputs",
        )
    is_missing = create and store_of(packfile).version(packfile) is None
    if is_missing and output is not None:
        raise UsageError(
            f"{text_of(packfile)} does not exist: it will be made, so leave out the output"
        )
    if "-" in named and not is_missing:
        # Nobody shall type rows for a packfile that is not there.
        open_read(packfile).close()
    if output is not None and _is_at(output, packfile):
        output = None
    if output is not None:
        check_apart(output, locations(named))
        formats.check_packfile(output)
    with ExitStack() as stack:
        action, taker = actions_of(on_error, on_errors)
        recognised = recognise_all(
            named,
            format,
            hints=hints,
            verify=verify,
            hive=hive,
            times=times_of(times),
            on_error=action,
        )
        sources = [
            stack.enter_context(closing(Spool(source))).input if source.once else source
            for source in recognised
        ]
        request = AppendRequest(
            packfile=packfile,
            output=output,
            sources=sources,
            level=number,
            block_bytes=block_bytes,
            threads=threads or 0,
            constants=constants,
            max_row_bytes=max_row_bytes,
            time_fields=time_fields,
            rejected_once=RejectedOnce(taker) if taker else None,
            overwrite=overwrite,
            single_writer=unsafe_single_writer,
            skip_known=skip_known,
            verify=verify,
            stats=StatisticsChoice.of(stats),
            progress=progress,
        )
        result = _created(request, action, taker) if is_missing else None
        if result is None:
            stack.enter_context(locked(packfile) if output is None else nullcontext())
            result = _persist(request, attempts)
    warn_unknown(time_fields, [(result.path, result.trailer)])
    if number is not None:
        levels.tell(number, result.trailer.algorithm)
    for name in result.known:
        notes.warn(f"{result.path} had the rows of {name} already, and has them once more now")
    return replace(result, seconds=time.monotonic() - began)


def _created(
    request: AppendRequest, action: str, taker: Callable[[RejectedBatch], None] | None
) -> AppendResult | None:
    """Make the packfile; None: another writer has made it, so append to it."""
    try:
        packed = pack(
            request.sources,
            request.packfile,
            level=request.level,
            block_bytes=request.block_bytes,
            threads=request.threads or None,
            constants=request.constants,
            max_row_bytes=request.max_row_bytes,
            time_fields=request.time_fields,
            on_error=action,
            on_errors=taker,
            verify=request.verify,
            stats=request.stats,
            progress=request.progress,
        )
    except ExistsError:
        return None
    return AppendResult(
        path=packed.path,
        inputs=packed.inputs,
        rows_added=packed.rows,
        rows_total=packed.rows,
        text_bytes=packed.text_bytes,
        output_bytes=packed.output_bytes,
        copied_bytes=0,
        copied_by=None,
        read_bytes=0,
        written_bytes=packed.output_bytes,
        trailer=packed.trailer,
        rejected=packed.rejected,
        kept_records=packed.kept_records,
        known=(),
        skipped=(),
        attempts=1,
        seconds=0.0,
    )


def _is_at(output: Location, packfile: Location) -> bool:
    """Return whether a path leads to the packfile; another hard link of it may part from it."""
    path, other = (store_of(name).path_of(name) for name in (output, packfile))
    if path is None or other is None:
        return os.fspath(output) == os.fspath(packfile)
    return os.path.realpath(path) == os.path.realpath(other)


def _persist(request: AppendRequest, attempts: int) -> AppendResult:
    """Start over as long as others are faster."""
    backoff = Backoff(
        f"appending to {text_of(request.packfile)}",
        _log,
        first_seconds=_FIRST_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        attempts=attempts,
    )
    while True:
        try:
            return replace(_attempt(request), attempts=backoff.failures + 1)
        except ConflictError as error:
            if error.path in {source.name for source in request.sources}:
                raise
            if not backoff.may_retry(error):
                raise backoff.exhausted(error) from None
        backoff.pause()


class _NothingNewError(Exception):
    """The inputs have no rows."""


def _attempt(request: AppendRequest) -> AppendResult:
    """Append to the packfile as it is now."""
    path = text_of(request.packfile)
    with closing(open_read(request.packfile)) as reader:
        source = Counted(reader)
        old = read_trailer(source, path)
        with start(request, old) as packer:
            prefix = retain(request, source, old, packer)
            output = _Output(partial(_grow, request, reader, prefix.size_bytes))
            duplicates = repeated(request.sources, old)
            left_out = set(map(id, duplicates)) if request.skip_known else set()
            sources = [new_input for new_input in request.sources if id(new_input) not in left_out]
            feeder = Feeder(
                packer,
                output.write,
                request.rejected_once.restart() if request.rejected_once else None,
            )
            new = old
            try:
                with output:
                    if request.output is not None:
                        output.open()
                    feeder.feed_all(sources, request.progress)
                    if not _added(packer, prefix):
                        raise _NothingNewError  # noqa: TRY301 - leaves no draft behind
                    new = finish(request, sources, prefix, packer)
                    if request.max_row_bytes is None:
                        feeder.findings.tell_chunks(old.align_bytes)
                    output.write(new.encode())
            except _NothingNewError:
                output = _Output(partial(_grow, request, reader, reader.size_bytes))
                if request.output is not None:
                    with output:
                        output.open()
            result = _result(request, packer, prefix, new, output.draft, source, feeder)
            names = tuple([duplicate.name for duplicate in duplicates])
            result = replace(result, inputs=len(sources))
            return replace(result, **{"skipped" if request.skip_known else "known": names})


def _grow(request: AppendRequest, reader: Reader, kept_bytes: int) -> AbstractContextManager[Draft]:
    return create_from_prefix(
        reader,
        kept_bytes,
        request.target,
        overwrite=request.overwrite,
        single_writer=request.single_writer,
    )


class _Output(ExitStack):
    """A draft that is begun when there is something to write."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Draft]]) -> None:
        super().__init__()
        self._begin = begin
        self.draft: Draft | None = None

    def open(self) -> Draft:
        if self.draft is None:
            self.draft = self.enter_context(self._begin())
        return self.draft

    def write(self, data: bytes) -> None:
        self.open().write(data)


def _added(packer: Packer, prefix: RetainedPrefix) -> int:
    """Count the new rows; without any input not even the old ones are packed again."""
    return max(0, packer.rows - prefix.rows_again)


def _result(
    request: AppendRequest,
    packer: Packer,
    prefix: RetainedPrefix,
    new: Trailer,
    draft: Draft | None,
    source: Counted,
    feeder: Feeder,
) -> AppendResult:
    return AppendResult(
        path=text_of(request.target),
        inputs=len(request.sources),
        rows_added=_added(packer, prefix),
        rows_total=new.rows,
        text_bytes=packer.text_bytes,
        output_bytes=draft.copied_bytes + draft.written_bytes if draft else source.size_bytes,
        copied_bytes=draft.copied_bytes if draft else 0,
        copied_by=draft.kept_by if draft else None,
        read_bytes=source.read_bytes,
        written_bytes=draft.written_bytes if draft else 0,
        trailer=new,
        rejected=feeder.rejected,
        kept_records=feeder.kept_records,
        known=(),
        skipped=(),
        attempts=1,
        seconds=0.0,
    )
