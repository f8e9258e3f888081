"""`sdb pack`."""

from __future__ import annotations

from sdb import bounds
from sdb.cli import spark as sparks
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    BlockSize,
    Hints,
    InputFormat,
    NoVerify,
    OnError,
    ProgressMode,
    Quiet,
    Threads,
    TimeFields,
    Verbose,
    constants,
    content,
    paths,
    suffix,
)
from sdb.cli.output import binary, prepare
from sdb.cli.parameters import Argument, Option
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    "sdb pack -o events.zion events.json.gz",
    "sdb pack --spark -o packed/ events.json.gz --master yarn --print-submit",
    "zcat events.json.gz | sdb pack -o events.zion --constant region=eu --force -",
)


def command(
    inputs: Annotated[
        list[str], Argument(metavar="INPUT...", help="What to pack; - is standard input.")
    ],
    target: Annotated[
        str,
        Option("--output", "-o", metavar="PACKFILE", help="Where to; - is standard output."),
    ],
    fmt: InputFormat = None,
    algorithm: Annotated[
        str,
        Option(
            "--algorithm",
            "-c",
            metavar="NAME",
            help="zion+zstd, zion+iguana_v0, zion+iguana_v0/specialized or zstd.",
        ),
    ] = "zion+zstd",
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    constant: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="A field for every row; NAME:str=VALUE for text."),
    ] = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    on_error: OnError = "fail",
    force: Annotated[bool, Option("--force", help="Replace an existing output.")] = False,
    spark: sparks.OnSpark = False,
    master: sparks.Master = None,
    tasks: sparks.Tasks = None,
    target_size: sparks.TargetSize = None,
    conf: sparks.Conf = None,
    append: sparks.Append = False,
    print_submit: sparks.PrintSubmit = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Pack JSON, CSV, CloudTrail, Ion or Parquet into a packfile.

    Formats and compressions are recognised by content.
    """
    if as_json and target == "-":
        raise UsageError("--json and -o - both write to standard output")
    options: dict[str, Any] = {
        "algorithm": algorithm,
        "block_bytes": bounds.BLOCK.read(block_size),
        "constants": constants(constant or []),
        "hints": content(hints),
        "format": suffix(fmt),
        "time_fields": tuple(paths(time_field)),
        "verify": not no_verify,
    }
    prepare(verbose=verbose, unverified=no_verify)
    choice = sparks.Choice(master, tasks, target_size, conf, append, print_submit)
    if spark:
        form = sparks.Form(force, on_error, hints, progress, as_json, quiet, verbose)
        sparks.run(choice, inputs, target, options, threads, form)
        return
    choice.check_unused()
    from sdb.cli.report import Rejects, report
    from sdb.packfile.writer import pack

    with (
        Meter("packing", progress, quiet=quiet) as meter,
        Rejects(
            on_error,
            overwrite=force,
            verbose=verbose,
            apart_from=[*inputs, None if target == "-" else target, hints],
            writes_out=target == "-",
        ) as rejects,
    ):
        result = pack(
            inputs,
            binary(force=force) if target == "-" else target,
            **options,
            threads=threads,
            on_error=rejects.take,
            overwrite=force,
            progress=meter,
        )
    report(result, rejects, meter.seconds, as_json=as_json, quiet=quiet, verbose=verbose)
