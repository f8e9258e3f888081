"""`sdb spark pack`."""

from __future__ import annotations

from sdb.cli import spark as sparks
from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.options import (
    Algorithm,
    AsJson,
    BlockSize,
    Constants,
    Hints,
    Level,
    NoHive,
    NoVerify,
    OnError,
    ProgressMode,
    Stats,
    TimeFields,
    TimeMode,
    Timezone,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Option, Quiet
from sdb.cli.values import packing, times
from sdb.typed import Annotated

EXAMPLES = (
    "sdb spark pack -o packed/ events.json.gz",
    "sdb spark pack -o packed/ events.json.gz --master yarn --print-submit",
)


def command(
    inputs: Annotated[
        list[str],
        Argument(
            metavar="INPUT...", help="Files, URLs, patterns, folders that executors can read."
        ),
    ],
    target: Annotated[
        str, Option("--output", "-o", metavar="FOLDER", help="A folder, or s3://bucket/prefix/.")
    ],
    master: sparks.Master = None,
    tasks: sparks.Tasks = None,
    target_size: sparks.TargetSize = None,
    conf: sparks.Conf = None,
    append: sparks.Append = False,
    print_submit: sparks.PrintSubmit = False,
    form: InputForm = FORM,
    algorithm: Algorithm = "zion+zstd",
    level: Level = None,
    block_size: BlockSize = "50MiB",
    constant: Constants = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    stats: Stats = "auto",
    no_hive: NoHive = False,
    on_error: OnError = "fail",
    force: Annotated[bool, Option("--force", help="Replace the packfiles of the folder.")] = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Pack on Spark into a folder of packfiles, which appear in one step.

    Each task packs one packfile; formats and compressions are recognised by content.
    """
    reading = times(mode, timezone, time_field)
    options = packing(
        algorithm,
        level,
        block_size,
        constant,
        hints,
        form.named(),
        reading,
        verify=not no_verify,
    )
    options |= {"stats": stats, "hive": not no_hive}
    prepare(verbose=verbose, unverified=no_verify, quiet=quiet)
    choice = sparks.Choice(master, tasks, target_size, conf, append, print_submit)
    report = sparks.Form(force, on_error, hints, progress, as_json, quiet, verbose)
    sparks.run(choice, inputs, target, options, report)
