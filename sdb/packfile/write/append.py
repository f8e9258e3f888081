"""Appends inputs to a packfile, at a cost that depends on what is added.

The new packfile begins with the bytes of the old one that stay, which the store copies by itself,
and takes the old one's place in one step, if that is still the one that was read. If someone else
was faster, everything starts over from what they left.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack, closing, nullcontext
from functools import partial

from sdb import bounds, effort, formats, notes
from sdb.errors import ConflictError, ExistsError, UsageError, text_of
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.arguments import listed, locations
from sdb.packfile.inputs.duplicates import repeated
from sdb.packfile.inputs.inputs import recognise_all
from sdb.packfile.inputs.spool import Spool
from sdb.packfile.prune.unknownfields import tell
from sdb.packfile.trailer.read import read_trailer
from sdb.packfile.write.appended import AppendResult
from sdb.packfile.write.pack import BLOCK_BYTES, Feeder, pack, taker_of
from sdb.packfile.write.resume import AppendRequest, Counted, Told, finish, keep, start
from sdb.progress import silent
from sdb.records import replace
from sdb.store.apart import check_apart
from sdb.store.url import grow, locked, open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sdb._core import Packer, RejectedBatch
    from sdb.packfile.build.retained import Kept
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.packfile.write.pack import Rejected
    from sdb.progress import Progress
    from sdb.store.base import Draft, Location, Reader

ATTEMPTS = 20
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 5.0


def append(  # noqa: PLR0913 - the command's options, by name
    packfile: Location,
    inputs: Inputs,
    *,
    output: Location | None = None,
    level: int | str | None = None,
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    constants: Mapping[str, object] | None = None,
    hints: bytes | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    time_fields: Sequence[Path] = (),
    on_error: Callable[[Rejected], None] | None = None,
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

    Whoever reads the old packfile goes on reading it. Others who append to it at the same time
    wait, or start over: nothing gets lost. Without new rows nothing is written.

    Parameters
    ----------
    packfile : path or URL
        The packfile. It keeps its compression, chunk size and constants.
    inputs : path, URL, binary file, iterable of these, or iterable of dict
        What to append, one after the other; ``-`` is standard input. Dicts are rows.
    output : path or URL, optional
        Where to write the longer packfile; `packfile` then stays as it is.
    level : int or str, optional
        How much time to take for a smaller packfile, as :func:`sdb.pack` has it; that of the
        packfile if not given. A level that is given counts for later appends too.
    block_bytes : int
        Decompressed size of a block in bytes.
    threads : int, optional
        Threads that parse and compress; one for each processor if not given. The packfile does not
        depend on it.
    constants : mapping, optional
        The constants that the packfile is known to have; new rows get those of the packfile anyway.
    hints : bytes, optional
        A hints file for the format of the inputs.
    format : str, optional
        Format of all inputs; recognised if not given.
    time_fields : sequence of path, optional
        Paths (tuples of names) that get a time index as soon as they hold any timestamp.
    on_error : callable, optional
        Takes each malformed record, which is then passed over. Without it the first is an error.
    on_errors : callable, optional
        Takes many of them at once instead, see :func:`sdb.pack`.
    overwrite : bool
        Whether an existing `output` may be replaced.
    attempts : int
        How often to start over when others change the packfile.
    unsafe_single_writer : bool
        Whether to append where the store cannot keep two writers from undoing each other's work.
    skip_known : bool
        Whether to leave out inputs that the packfile has the rows of: those of the same name, size
        and content. Without it their rows are appended again, with a warning.
    create : bool
        Whether a packfile that is not there is made, as :func:`sdb.pack` makes it.
    verify : bool
        Whether a wrong checksum in what is read of a packfile is an error. Turn it off only to go
        on with a damaged one: values may be wrong then.
    stats : str or sequence of path
        Which paths of new blocks get statistics, see :func:`sdb.pack`; with ``"auto"`` also those
        that the packfile has filters of. Blocks that stay keep theirs.
    progress : Progress, optional
        Told how many bytes of the inputs were read.

    Returns
    -------
    AppendResult
        Rows, sizes and times.

    Raises
    ------
    ConflictError
        Others changed the packfile at each attempt. It is as they left it.
    CorruptError
        `packfile` is no packfile, or what has to be read of it is damaged.
    InputError
        An input is malformed.
    NotFoundError, AccessError
        The packfile or an input is not there, or may not be used.
    UsageError
        Other constants than those of the packfile, or a time field that cannot be indexed any more.
    ExistsError
        `output` exists and `overwrite` is off.
    UncertainError
        It is not known whether the packfile was replaced.

    Examples
    --------
    >>> import pathlib, sdb
    >>> _ = pathlib.Path("/tmp/sdb-example.json").write_text('{"a": 1}')
    >>> _ = sdb.pack(["/tmp/sdb-example.json"], "/tmp/sdb-example.zion", overwrite=True)
    >>> sdb.append("/tmp/sdb-example.zion", ["/tmp/sdb-example.json"]).rows_total
    2
    """
    began = time.monotonic()
    number = None if level is None else effort.number(level)
    bounds.BLOCK.check(block_bytes)
    bounds.THREADS.check(threads)
    bounds.ATTEMPTS.check(attempts)
    named = listed(inputs)
    if not named:
        raise UsageError("no inputs", hint="sdb append PACKFILE INPUT...")
    is_missing = create and store_of(packfile).version(packfile) is None
    if is_missing and output is not None:
        raise UsageError(f"{text_of(packfile)} is not there: it is made, so leave out the output")
    if "-" in named and not is_missing:
        # Nobody shall type rows for a packfile that is not there.
        open_read(packfile).close()
    if output is not None and _is_at(output, packfile):
        output = None
    if output is not None:
        check_apart(output, locations(named))
        formats.check_packfile(output)
    with ExitStack() as stack:
        found = recognise_all(named, format, hints=hints, verify=verify)
        sources = [
            stack.enter_context(closing(Spool(source))).input if source.once else source
            for source in found
        ]
        taker = taker_of(on_error, on_errors)
        request = AppendRequest(
            packfile=packfile,
            output=output,
            sources=sources,
            level=number,
            block_bytes=block_bytes,
            threads=threads or 0,
            constants=constants,
            time_fields=time_fields,
            told=Told(taker) if taker else None,
            overwrite=overwrite,
            single_writer=unsafe_single_writer,
            skip_known=skip_known,
            verify=verify,
            stats=StatisticsChoice.of(stats),
            progress=progress,
        )
        result = _created(request, taker) if is_missing else None
        if result is None:
            stack.enter_context(locked(packfile) if output is None else nullcontext())
            result = _persist(request, attempts)
    tell(time_fields, [(result.path, result.trailer)])
    if number is not None:
        effort.tell(number, result.trailer.algorithm)
    for name in result.known:
        notes.warn(f"{result.path} had the rows of {name} already, and has them once more now")
    return replace(result, seconds=time.monotonic() - began)


def _created(
    request: AppendRequest, taker: Callable[[RejectedBatch], None] | None
) -> AppendResult | None:
    """Make the packfile; None: someone else has, and it is to be appended to."""
    try:
        made = pack(
            request.sources,
            request.packfile,
            level=request.level,
            block_bytes=request.block_bytes,
            threads=request.threads or None,
            constants=request.constants,
            time_fields=request.time_fields,
            on_errors=taker,
            verify=request.verify,
            stats=request.stats,
            progress=request.progress,
        )
    except ExistsError:
        return None
    return AppendResult(
        path=made.path,
        inputs=made.inputs,
        rows_added=made.rows,
        rows_total=made.rows,
        text_bytes=made.text_bytes,
        output_bytes=made.output_bytes,
        copied_bytes=0,
        copied_by=None,
        read_bytes=0,
        written_bytes=made.output_bytes,
        trailer=made.trailer,
        rejected=made.rejected,
        known=(),
        skipped=(),
        attempts=1,
        seconds=0.0,
    )


def _is_at(output: Location, packfile: Location) -> bool:
    """Tell whether a path leads to the packfile; another hard link of it may part from it."""
    one, other = (store_of(place).path_of(place) for place in (output, packfile))
    if one is None or other is None:
        return os.fspath(output) == os.fspath(packfile)
    return os.path.realpath(one) == os.path.realpath(other)


def _persist(request: AppendRequest, attempts: int) -> AppendResult:
    """Start over as long as others are faster."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return replace(_attempt(request), attempts=attempt)
        except ConflictError as error:
            if error.path in {source.name for source in request.sources}:
                raise
            if attempt >= attempts:
                message = f"{error.message}; gave up after {attempts} attempts"
                raise ConflictError(message, path=error.path, hint=error.hint) from error
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt)
        time.sleep(random.uniform(0, longest))  # noqa: S311 - nothing to guess


class _NothingNewError(Exception):
    """The inputs have no rows."""


def _attempt(request: AppendRequest) -> AppendResult:
    """Append to the packfile as it is now."""
    path = text_of(request.packfile)
    with closing(open_read(request.packfile)) as reader:
        source = Counted(reader)
        old = read_trailer(source, path)
        with start(request, old) as packer:
            kept = keep(request, source, old, packer)
            output = _Output(partial(_grow, request, reader, kept.size_bytes))
            known = repeated(request.sources, old)
            left_out = set(map(id, known)) if request.skip_known else set()
            sources = [one for one in request.sources if id(one) not in left_out]
            feeder = Feeder(packer, output.write, request.told.restart() if request.told else None)
            new = old
            try:
                with output:
                    if request.output is not None:
                        output.open()
                    feeder.feed_all(sources, request.progress)
                    if not _added(packer, kept):
                        raise _NothingNewError  # noqa: TRY301 - leaves no draft behind
                    new = finish(request, sources, kept, packer)
                    output.write(new.encode())
            except _NothingNewError:
                output = _Output(partial(_grow, request, reader, reader.size_bytes))
                if request.output is not None:
                    with output:
                        output.open()
            result = _result(request, packer, kept, new, output.draft, source, feeder.rejected)
            names = tuple([one.name for one in known])
            result = replace(result, inputs=len(sources))
            return replace(result, **{"skipped" if request.skip_known else "known": names})


def _grow(request: AppendRequest, reader: Reader, kept_bytes: int) -> AbstractContextManager[Draft]:
    return grow(
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


def _added(packer: Packer, kept: Kept) -> int:
    """Count the new rows; without any input not even the old ones are packed again."""
    return max(0, packer.rows - kept.rows_again)


def _result(
    request: AppendRequest,
    packer: Packer,
    kept: Kept,
    new: Trailer,
    draft: Draft | None,
    source: Counted,
    rejected: int,
) -> AppendResult:
    return AppendResult(
        path=text_of(request.target),
        inputs=len(request.sources),
        rows_added=_added(packer, kept),
        rows_total=new.rows,
        text_bytes=packer.text_bytes,
        output_bytes=draft.copied_bytes + draft.written_bytes if draft else source.size_bytes,
        copied_bytes=draft.copied_bytes if draft else 0,
        copied_by=draft.kept_by if draft else None,
        read_bytes=source.read_bytes,
        written_bytes=draft.written_bytes if draft else 0,
        trailer=new,
        rejected=rejected,
        known=(),
        skipped=(),
        attempts=1,
        seconds=0.0,
    )
