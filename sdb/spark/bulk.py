"""Packs inputs on Spark: tasks write packfiles, and the driver lets those of the winners count."""

from __future__ import annotations

import io
import re
import time
import uuid
from dataclasses import dataclass
from functools import partial

from sdb import bounds, formats, notes
from sdb.errors import ConflictError, ExistsError, SdbError, UncertainError, UsageError, text_of
from sdb.packfile import manifest
from sdb.packfile.inputs import Input, recognise
from sdb.progress import silent
from sdb.spark import session
from sdb.spark.attempt import Options, Outcome, Work, attempt, located, packed
from sdb.spark.plan import TARGET_BYTES, Task, measure, plan
from sdb.store.url import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from pyspark import Accumulator, SparkContext
    from pyspark.sql import SparkSession

    from sdb.progress import Progress
    from sdb.store.base import Location

_POLL_SECONDS = 0.1
_STOP_SECONDS = 10
_CHANCES = 4
_LOCAL_CHANCES = re.compile(r"local\[[^,\]]+,\s*(\d+)\]")
_FAILED_TASK = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times?")
_PYTHON_ERROR = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b.*$", re.MULTILINE)


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
        See :func:`sdb.spark.session.start`.
    tasks, target_bytes
        See :func:`sdb.spark.plan.plan`.
    mode : {"fail", "append", "overwrite"}
        What if the folder has packfiles, see :func:`sdb.packfile.manifest.publish`.
    progress : Progress, optional
        Told how many bytes of the inputs, as they are stored, are packed.

    Returns
    -------
    BulkResult
        What each task came to.

    Raises
    ------
    ExistsError, UsageError
        See :func:`sdb.packfile.manifest.publish`; options that make no sense.
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
        outcomes = _Job(context, work, cut).run(progress)
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


class _Job:
    """One job of Spark, which runs in a thread, so that this one can watch it."""

    def __init__(self, context: SparkContext, work: Work, tasks: Sequence[Task]) -> None:
        from pyspark.accumulators import AddingAccumulatorParam

        self._context = context
        self._work = work
        self._tasks = tasks
        self._group = f"sdb-{work.job}"
        self._done = context.accumulator(0)
        nothing: Any = ()  # adding makes a new tuple, where a list would be changed
        self._failures = context.accumulator(nothing, AddingAccumulatorParam(nothing))
        self._outcomes: list[Outcome] = []
        self._error: Exception | None = None

    def run(self, progress: Progress) -> tuple[Outcome, ...]:
        """Run the tasks; gives what each came to.

        Raises
        ------
        SdbError
            A task failed for good; the others were cancelled.
        """
        from pyspark import InheritableThread

        total = sum(task.size_bytes for task in self._tasks)
        thread = InheritableThread(target=self._collect, name="sdb-job", daemon=True)
        thread.start()
        try:
            while thread.is_alive() and not self._failures.value:
                thread.join(_POLL_SECONDS)
                progress(self._done.value, total)
        finally:
            if thread.is_alive():
                self._context.cancelJobGroup(self._group)
                thread.join(_STOP_SECONDS)
        if self._failures.value:
            raise self._failures.value[0]
        if self._error is not None:
            raise self._explained(self._error)
        return tuple(sorted(self._outcomes, key=lambda outcome: outcome.task))

    def _collect(self) -> None:
        context, count = self._context, len(self._tasks)
        context.setJobGroup(self._group, f"sdb pack: {count} tasks", interruptOnCancel=True)
        run = partial(_run, self._work, _chances(context), self._done, self._failures)
        try:
            found = context.parallelize(self._tasks, count).mapPartitions(run).collect()
            self._outcomes.extend(found)
        except Exception as error:  # noqa: BLE001 - raised by the thread that waits
            self._error = error

    def _explained(self, error: Exception) -> SdbError:
        """Say which inputs a task had that failed, and why."""
        java = getattr(error, "java_exception", None)
        text = str(java.getMessage() if java is not None else error)
        reasons = _PYTHON_ERROR.findall(text)
        reason = reasons[-1] if reasons else text.partition("\n")[0]
        found = _FAILED_TASK.search(text)
        if found is None:
            return SdbError(f"packing on Spark: {reason}", hint="SDB_DEBUG=1 shows more")
        paths = [piece.file.path for piece in self._tasks[int(found[1])].pieces]
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        return SdbError(
            f"packing {paths[0]}{more}: the task failed {found[2]} times: {reason}",
            path=paths[0],
            hint="SDB_DEBUG=1 shows more",
        )


def _chances(context: SparkContext) -> int:
    """Tell how often Spark tries a task."""
    master = str(context.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        found = _LOCAL_CHANCES.fullmatch(master)
        return int(found[1]) if found else 1
    return int(context.getConf().get("spark.task.maxFailures", str(_CHANCES)) or _CHANCES)


def _run(
    work: Work,
    chances: int,
    done: Accumulator[int],
    failures: Accumulator[tuple[SdbError, ...]],
    tasks: Iterator[Task],
) -> Iterator[Outcome]:
    """Run the task of a partition, on an executor.

    What another attempt would meet too is no reason for one: it is told to the driver, and the task
    has come to its end.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark sets it
    for task in tasks:
        try:
            outcome = attempt(work, task, context.cpus())
        except SdbError as error:
            is_passing = type(error) is SdbError or isinstance(error, UncertainError)
            if is_passing and context.attemptNumber() + 1 < chances:
                raise
            failures.add((located(error, task),))
            return
        done.add(outcome.input_bytes)
        yield outcome
