"""Packs inputs on Spark: tasks write packfiles, and the driver lets those of the winners count."""

from __future__ import annotations

import io
import time
import uuid
from dataclasses import dataclass
from functools import partial

from sdb import bounds, formats, notes
from sdb.errors import ConflictError, ExistsError, SdbError, UsageError, text_of
from sdb.packfile.inputs.inputs import Input, recognise
from sdb.packfile.read import manifest
from sdb.progress import silent
from sdb.spark.bulk.attempt import Options, Outcome, Work, attempt, located, packed
from sdb.spark.bulk.plan import TARGET_BYTES, Task, measure, plan
from sdb.spark.session import session
from sdb.spark.session.job import Job
from sdb.store.url import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from sdb.progress import Progress
    from sdb.store.base import Location


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result of packing on Spark.

    Attributes
    ----------
    path : str
        The folder.
    job : str
        Number of the job.
    outcomes : tuple of Outcome
        What each task came to, in their order.
    removed : int
        How many packfiles were removed: of attempts that lost, and what was replaced.
    packing_seconds : float
        How long the tasks took, all of them together.
    seconds : float
        How long everything took, with the start of the session.
    """

    path: str
    job: str
    outcomes: tuple[Outcome, ...]
    removed: int
    packing_seconds: float
    seconds: float


def pack_on_spark(  # noqa: PLR0913 - the command's options, by name
    inputs: Location | Iterable[Location],
    prefix: Location,
    options: Options | None = None,
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    tasks: int | None = None,
    target_bytes: int = TARGET_BYTES,
    mode: str = "fail",
    progress: Progress = silent,
) -> BulkResult:
    """Pack inputs into packfiles of a folder, which all appear in one step, or not at all.

    Parameters
    ----------
    inputs : path or URL, or iterable of these
        What to pack: files, patterns and folders; the executors must see it under the same name.
    prefix : path or URL
        The folder, or the beginning of a URL of S3.
    options : Options, optional
        How to pack.
    spark : pyspark.sql.SparkSession, optional
        The session to use; without it what runs, or else what is stopped in the end.
    master, conf
        See :func:`sdb.spark.session.session.start`.
    tasks, target_bytes
        See :func:`sdb.spark.bulk.plan.plan`.
    mode : {"fail", "append", "overwrite"}
        What if the folder has packfiles, see :func:`sdb.packfile.read.manifest.publish`.
    progress : Progress, optional
        Told how many bytes of the inputs, as they are stored, are packed.

    Returns
    -------
    BulkResult
        What each task came to.

    Raises
    ------
    ExistsError, UsageError
        See :func:`sdb.packfile.read.manifest.publish`; options that make no sense.
    InputError, CorruptError
        An input is malformed.
    NotFoundError, AccessError
        An input is not there or may not be read; no pyspark, or no Java.
    ConflictError
        An input was changed meanwhile, or others published at each attempt.
    UncertainError
        It is not known whether the packfiles count.

    Examples
    --------
    >>> pack_on_spark(["s3://logs/2026/*.json.gz"], "s3://bucket/packed/")      # doctest: +SKIP
    """
    began = time.monotonic()
    bounds.TASKS.check(tasks)
    bounds.TARGET.check(target_bytes)
    options = options or Options()
    place = absolute(prefix)
    if mode != "append" and not text_of(prefix).endswith("/"):
        formats.check_packfile(prefix)
    files = measure(inputs)
    _try(options, files[0].path)
    manifest.prepare(place, mode)
    work = Work(place, uuid.uuid4().hex, options)
    context = spark.sparkContext if spark is not None else session.running()
    stop = _stay
    if context is None:
        context = session.start_context(master, name="sdb pack", conf=conf)
        stop = context.stop
    started = time.monotonic()
    try:
        cut = plan(
            files,
            tasks=tasks,
            target_bytes=target_bytes,
            parallelism=context.defaultParallelism,
            format=options.format,
        )
        job = Job(context, ("sdb pack", work.job), cut, partial(_attempt, work))
        outcomes = tuple(job.run(progress))
    except BaseException:
        stop()
        _sweep(work)
        raise
    packing_seconds = time.monotonic() - started
    removed = _publish(work, outcomes, mode, stop)
    if not any(one.rows for one in outcomes):
        others = f" and {len(files) - 1:,} more" if files[1:] else ""
        notes.warn(f"no rows in {files[0].path}{others}: {place} gets none")
    seconds = time.monotonic() - began
    return BulkResult(place, work.job, outcomes, removed, packing_seconds, seconds)


def _stay() -> None:
    """Leave the session of somebody else alone."""


def _publish(work: Work, outcomes: Sequence[Outcome], mode: str, stop: Callable[[], None]) -> int:
    """Let the packfiles count, and remove the others; gives how many.

    As long as it is not known whether they count, they stay: the manifest may list them yet.
    """
    winners = [manifest.File(one.name, one.output_bytes, one.rows) for one in outcomes]
    try:
        published = manifest.publish(work.prefix, winners, mode=mode, job=work.job)
    except (ConflictError, ExistsError, UsageError):
        stop()
        _sweep(work)
        raise
    except BaseException:
        stop()
        raise
    # Attempts that lost may be at work until the session is gone.
    stop()
    return _sweep(work, published.replaced)


def _sweep(work: Work, replaced: Sequence[str] = ()) -> int:
    """Remove what does not count; what cannot be removed stays, and nobody reads it."""
    try:
        return len(manifest.sweep(work.prefix, work.job, replaced))
    except SdbError:
        return 0


def _try(options: Options, path: str) -> None:
    """See whether the options make sense, before anything is started."""
    found = recognise(path, options.format, hints=options.hints)
    name = "json" if found.hints is None else found.format
    packed([Input("nothing", name, hints=found.hints, source=_nothing)], io.BytesIO(), options)


def _nothing() -> Generator[bytes]:
    yield b""


def _attempt(work: Work, task: Task, threads: int) -> Outcome:
    try:
        return attempt(work, task, threads)
    except SdbError as error:
        raise located(error, task) from None
