"""Packs inputs on Spark: tasks write packfiles, and the driver lets those of the winners count."""

from __future__ import annotations

import io
import time
import uuid
from dataclasses import dataclass
from functools import partial

from sdb import bounds, formats, notes
from sdb.errors import ConflictError, ExistsError, SdbError, UsageError, text_of
from sdb.packfile.inputs.folders import say_folder_fields
from sdb.packfile.inputs.inputs import Input, recognise_each
from sdb.packfile.read import manifest
from sdb.packfile.write.findings import together
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
    """The result of packing on Spark."""

    path: str  # the folder
    job: str  # number of the job
    outcomes: tuple[Outcome, ...]  # what each task came to, in their order
    removed: int  # how many packfiles were removed: of attempts that lost, and what was replaced
    packing_seconds: float  # how long the tasks took, all of them together
    seconds: float  # how long everything took, with the start of the session


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

    * ``inputs``: What to pack: files, patterns and folders; the executors must see it under the
      same name.
    * ``prefix``: The folder, or the beginning of a URL of S3.
    * ``spark``: The session to use; without it what runs, or else what is stopped in the end.
    * ``master, conf``: See :func:`sdb.spark.session.session.start`.
    * ``tasks, target_bytes``: See :func:`sdb.spark.bulk.plan.plan`.
    * ``mode``: What if the folder has packfiles, see :func:`sdb.packfile.read.manifest.publish`.
    * ``progress``: Told how many bytes of the inputs, as they are stored, are packed.

    Raises
    ------
    ExistsError, UsageError
        See :func:`sdb.packfile.read.manifest.publish`; options that make no sense.
    InputError, CorruptError
        An input is malformed.
    NotFoundError, AccessError
        An input is not there or may not be read; no pyspark, or no Java.
    ConflictError
        An input was changed in between, or other jobs published at each attempt.
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
    folder = absolute(prefix)
    if mode != "append" and not text_of(prefix).endswith("/"):
        formats.check_packfile(prefix)
    files = measure(inputs)
    _try(options, files[0].path)
    if options.hive:
        say_folder_fields(file.path for file in files)
    manifest.prepare(folder, mode)
    work = Work(folder, uuid.uuid4().hex, options)
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
    findings = together(outcome.findings for outcome in outcomes)
    findings.tell()
    findings.tell_chunks(0)
    if not any(outcome.rows for outcome in outcomes):
        others = f" and {len(files) - 1:,} more" if files[1:] else ""
        notes.warn(f"no rows in {files[0].path}{others}: {folder} gets none")
    seconds = time.monotonic() - began
    return BulkResult(folder, work.job, outcomes, removed, packing_seconds, seconds)


def _stay() -> None:
    """Leave a session alone that was running before."""


def _publish(work: Work, outcomes: Sequence[Outcome], mode: str, stop: Callable[[], None]) -> int:
    """Publish the packfiles, remove the others, and return how many were removed.

    As long as it is not known whether they count, they stay: the manifest may list them yet.
    """
    winners = [
        manifest.File(outcome.name, outcome.output_bytes, outcome.rows) for outcome in outcomes
    ]
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
    """Remove packfiles that are not published; one that cannot be removed stays, unread."""
    try:
        return len(manifest.sweep(work.prefix, work.job, replaced))
    except SdbError:
        return 0


def _try(options: Options, path: str) -> None:
    """See whether the options make sense, before anything is started."""
    recognised = next(recognise_each(path, options.format, hints=options.hints))
    name = "json" if recognised.hints is None else recognised.format
    packed([Input("nothing", name, hints=recognised.hints, source=_nothing)], io.BytesIO(), options)


def _nothing() -> Generator[bytes]:
    yield b""


def _attempt(work: Work, task: Task, threads: int) -> Outcome:
    try:
        return attempt(work, task, threads)
    except SdbError as error:
        raise located(error, task) from None
