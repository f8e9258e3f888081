"""`sdb spark pack`: its options, and what it tells in the end."""

from __future__ import annotations

import sys
from itertools import chain

from sdb import bounds, sizes
from sdb.cli import output
from sdb.cli.compat import rewrite
from sdb.cli.meter import Meter
from sdb.cli.parameters import Option, Together
from sdb.errors import UsageError
from sdb.records import field_names, record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.cli.inputoptions import InputReading
    from sdb.cli.optionrecords import FullReport
    from sdb.cli.render.pack import Rejects
    from sdb.spark.bulk.attempt import Outcome
    from sdb.spark.bulk.pack import BulkResult

Master = Annotated[
    str | None, Option("--master", metavar="URL", help="Master of Spark: local[2], yarn, ...")
]
Tasks = Annotated[
    int | None,
    Option(
        "--tasks",
        metavar="N",
        bounds=bounds.TASKS,
        help="Number of tasks; default: by --target-size.",
    ),
]
TargetSize = Annotated[
    str | None,
    Option(
        "--target-size",
        metavar="SIZE",
        bounds=bounds.TARGET,
        help="Bytes of input for each task; default: 1GiB.",
    ),
]
Conf = Annotated[
    list[str] | None, Option("--conf", metavar="NAME=VALUE", help="Setting of Spark. Repeatable.")
]
Append = Annotated[
    bool, Option("--append", help="Add to the packfiles that are in the folder already.")
]
PrintSubmit = Annotated[
    bool, Option("--print-submit", help="Print the spark-submit command, and do nothing.")
]

_MOST_TASKS = 20
_TARGET_SIZE = "1GiB"
_OWN_FLAGS = {"--print-submit": 0, "--master": 1, "--conf": 1}


def program() -> str:
    """Return the path of the program that `spark-submit` gets."""
    from pathlib import Path

    return str(Path(__file__).parent / "submitted" / "program.py")


@record
class Choice(Together):
    """Options that only make sense on Spark."""

    master: Master = None
    tasks: Tasks = None
    target_size: TargetSize = None
    conf: Conf = None
    append: Append = False
    print_submit: PrintSubmit = False

    def target_bytes(self) -> int:
        """Return how much input a task gets, in bytes."""
        return bounds.TARGET.read(_TARGET_SIZE if self.target_size is None else self.target_size)

    def check_unused(self, hint: str = "sdb spark pack") -> None:
        """Refuse them where packing is not for Spark."""
        options = {
            f"--{name.replace('_', '-')}": getattr(self, name) for name in field_names(Choice)
        }
        unused = [
            flag for flag, value in options.items() if value is not None and value is not False
        ]
        if unused:
            raise UsageError(f"these options are for Spark: {', '.join(unused)}", hint=hint)


def settings(conf: list[str] | None) -> dict[str, str]:
    """Read settings of Spark, each ``NAME=VALUE``."""
    values = {}
    for assignment in conf or []:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"--conf {assignment!r} is not NAME=VALUE")
        values[name] = value
    return values


CHOICE = Choice()


@record
class Form:
    """Options of the command itself: existing outputs, malformed records, and reports."""

    force: bool
    reading: InputReading
    report: FullReport


def run(
    choice: Choice, inputs: list[str], target: str, options: dict[str, Any], form: Form
) -> None:
    """Pack on Spark, and tell what it came to; see :func:`sdb.spark.bulk.pack.pack_on_spark`."""
    if target == "-":
        raise UsageError("Spark cannot write to standard output", hint="-o FOLDER")
    if form.force and choice.append:
        raise UsageError("--force replaces what is there, and --append keeps it")
    target_bytes = choice.target_bytes()
    if choice.print_submit:
        output.say(submit_command(choice.master, choice.conf))
        return
    from sdb.cli.render.pack import Rejects
    from sdb.spark.bulk.attempt import Options
    from sdb.spark.bulk.pack import pack_on_spark

    reading, report = form.reading, form.report
    with (
        Meter("packing", report.progress, quiet=report.quiet) as meter,
        Rejects(
            reading.on_error,
            overwrite=form.force,
            verbose=report.verbose,
            apart_from=[*inputs, target, reading.hints, *_kept_in(target, reading.on_error)],
        ) as rejects,
    ):
        is_filed = reading.on_error.startswith("quarantine:")
        action = "quarantine" if is_filed else rejects.action
        result = pack_on_spark(
            inputs,
            target,
            Options(**options, on_error=action),
            master=choice.master,
            conf=settings(choice.conf),
            tasks=choice.tasks,
            target_bytes=target_bytes,
            mode="overwrite" if form.force else "append" if choice.append else "fail",
            progress=meter,
        )
        for record in chain.from_iterable(outcome.records for outcome in result.outcomes):
            if rejects.take is not None:
                rejects.take(record)
    _report(result, rejects, report)


def _kept_in(target: str, on_error: str) -> list[str]:
    """Name what belongs to the folder: its manifest, and what has the name of a packfile."""
    from sdb.packfile.read.manifest import NAME
    from sdb.store.base import child

    name = on_error.rpartition("/")[2]
    return [child(target, NAME), *([child(target, name)] if name.endswith(".zion") else [])]


def submit_command(master: str | None, conf: list[str] | None) -> str:
    """Return the `spark-submit` command that does what this command line says."""
    import shlex

    from sdb.spark.session.environment import ARCHIVE

    words = ["spark-submit", *(["--master", master] if master else []), "--files", ARCHIVE]
    values = settings(conf)
    python = {
        "spark.pyspark.python": f"./{ARCHIVE}",
        "spark.pyspark.driver.python": f"./{ARCHIVE}",
        "spark.log.level": "ERROR",
    }
    for name, value in (python | values).items():
        words += ["--conf", f"{name}={value}"]
    return shlex.join([*words, program(), *_without_own(rewrite(sys.argv[1:]))])


def _without_own(arguments: list[str]) -> list[str]:
    """Leave out the options of `spark-submit` itself."""
    remaining: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            return [*remaining, word, *rest]
        flag, equals, _ = word.partition("=")
        if flag not in _OWN_FLAGS:
            remaining.append(word)
        elif _OWN_FLAGS[flag] and not equals:
            next(rest, None)
    return remaining


def _report(result: BulkResult, rejects: Rejects, report: FullReport) -> None:
    skipped = rejects.summary(sum(outcome.rejected for outcome in result.outcomes))
    if skipped and not report.quiet:
        output.say(output.plain(f"sdb: {skipped}"), to=sys.stderr)
    if report.as_json:
        output.say_json(_facts(result))
    elif not report.quiet and (report.verbose or sys.stderr.isatty()):
        output.say(output.plain(_text(result, verbose=report.verbose)), to=sys.stderr)


def _facts(result: BulkResult) -> dict[str, object]:
    tasks = [
        {
            "task": outcome.task,
            "name": outcome.name,
            "inputs": outcome.inputs,
            "input_bytes": outcome.input_bytes,
            "rows": outcome.rows,
            "rejected": outcome.rejected,
            "text_bytes": outcome.text_bytes,
            "output_bytes": outcome.output_bytes,
            "seconds": round(outcome.seconds, 3),
        }
        for outcome in result.outcomes
    ]
    return {
        "path": result.path,
        "job": result.job,
        **_totals(result.outcomes),
        "removed": result.removed,
        "packing_seconds": round(result.packing_seconds, 3),
        "seconds": round(result.seconds, 3),
        "tasks": tasks,
    }


def _totals(outcomes: tuple[Outcome, ...]) -> dict[str, int]:
    names = ("rows", "rejected", "input_bytes", "text_bytes", "output_bytes")
    return {name: sum(getattr(outcome, name) for outcome in outcomes) for name in names}


def _text(result: BulkResult, *, verbose: bool) -> str:
    totals = _totals(result.outcomes)
    text, packed = totals["text_bytes"], totals["output_bytes"]
    ratio, seconds = sizes.ratio(text, packed), max(result.packing_seconds, 1e-3)
    count = len(result.outcomes)
    lines = [
        f"packed   {totals['rows']:,} rows in {count:,} packfile{'' if count == 1 else 's'}",
        f"size     {sizes.human(packed)}, {ratio}x smaller than {sizes.human(text)}",
        f"speed    {text / 1e6 / seconds:.0f} MB/s, {seconds:.2f} s; {result.seconds:.2f} s in all",
    ]
    if verbose or len(result.outcomes) <= _MOST_TASKS:
        lines += [
            f"task {outcome.task:<4} {outcome.rows:,} rows, {sizes.human(outcome.input_bytes)} of "
            f"input, {outcome.seconds:.2f} s: {outcome.name}"
            for outcome in result.outcomes
        ]
    return "\n".join(lines)
