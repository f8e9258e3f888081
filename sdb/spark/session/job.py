"""Jobs of Spark that pack: tasks that are watched, and whose errors are ours."""

from __future__ import annotations

import re
from functools import partial
from typing import Generic, TypeVar

from sdb.errors import SdbError, UncertainError
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from pyspark import Accumulator, SparkContext

    from sdb.progress import Progress

_POLL_SECONDS = 0.1
_STOP_SECONDS = 10
_CHANCES = 4
_LOCAL_CHANCES = re.compile(r"local\[[^,\]]+,\s*(\d+)\]")
_FAILED_TASK = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times?")
_PYTHON_ERROR = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b.*$", re.MULTILINE)


class JobTask(Protocol):
    """The work of a task."""

    @property
    def size_bytes(self) -> int:
        """Size of its inputs, as they are stored."""

    @property
    def paths(self) -> list[str]:
        """Its inputs."""


class JobOutcome(Protocol):
    """The outcome of a task."""

    @property
    def task(self) -> int:
        """Number of the task."""

    @property
    def input_bytes(self) -> int:
        """Size of its inputs, as they are stored."""


_Task = TypeVar("_Task", bound=JobTask)
_Outcome = TypeVar("_Outcome", bound=JobOutcome)


class Job(Generic[_Task, _Outcome]):
    """One job of Spark, which runs in a thread, so that this one can watch it.

    * ``tasks``: What is to be done, each on an executor.
    """

    def __init__(
        self,
        context: SparkContext,
        names: tuple[str, str],
        tasks: Sequence[_Task],
        act: Callable[[_Task, int], _Outcome],
    ) -> None:
        from pyspark.accumulators import AddingAccumulatorParam

        self._context = context
        self._name, number = names
        self._act = act
        self._tasks = tasks
        self._group = f"sdb-{number}"
        self._done = context.accumulator(0)
        nothing: Any = ()  # adding makes a new tuple, where a list would be changed
        self._failures = context.accumulator(nothing, AddingAccumulatorParam(nothing))
        self._outcomes: list[_Outcome] = []
        self._error: Exception | None = None

    def run(self, progress: Progress) -> list[_Outcome]:
        """Run the tasks, and return their outcomes in order.

        Raises `SdbError` if a task failed for good; the others were cancelled.
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
        return sorted(self._outcomes, key=lambda outcome: outcome.task)

    def _collect(self) -> None:
        context, count = self._context, len(self._tasks)
        context.setJobGroup(self._group, f"{self._name}: {count} tasks", interruptOnCancel=True)
        run = partial(_run, self._act, _chances(context), self._done, self._failures)
        try:
            outcomes = context.parallelize(self._tasks, count).mapPartitions(run).collect()
            self._outcomes.extend(outcomes)
        except Exception as error:  # noqa: BLE001 - raised by the thread that waits
            self._error = error

    def _explained(self, error: Exception) -> SdbError:
        """Say which inputs a task had that failed, and why."""
        java = getattr(error, "java_exception", None)
        text = str(java.getMessage() if java is not None else error)
        reasons = _PYTHON_ERROR.findall(text)
        reason = reasons[-1] if reasons else text.partition("\n")[0]
        match = _FAILED_TASK.search(text)
        if match is None:
            return SdbError(f"packing on Spark: {reason}", hint="SDB_DEBUG=1 shows more")
        paths = self._tasks[int(match[1])].paths
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        return SdbError(
            f"packing {paths[0]}{more}: the task failed {match[2]} times: {reason}",
            path=paths[0],
            hint="SDB_DEBUG=1 shows more",
        )


def _chances(context: SparkContext) -> int:
    """Report how often Spark tries a task."""
    master = str(context.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        match = _LOCAL_CHANCES.fullmatch(master)
        return int(match[1]) if match else 1
    return int(context.getConf().get("spark.task.maxFailures", str(_CHANCES)) or _CHANCES)


def _run(
    act: Callable[[_Task, int], _Outcome],
    chances: int,
    done: Accumulator[int],
    failures: Accumulator[tuple[SdbError, ...]],
    tasks: Iterator[_Task],
) -> Iterator[_Outcome]:
    """Run the task of a partition, on an executor.

    An error that another attempt would meet too is reported to the driver, and the task ends
    without one.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark sets it
    for task in tasks:
        try:
            outcome = act(task, context.cpus())
        except SdbError as error:
            is_passing = type(error) is SdbError or isinstance(error, UncertainError)
            if is_passing and context.attemptNumber() + 1 < chances:
                raise
            failures.add((error,))
            return
        done.add(outcome.input_bytes)
        yield outcome
