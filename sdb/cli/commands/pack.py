"""`sdb pack`."""

from __future__ import annotations

import sys

from sdb.cli import spark as sparks
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Algorithm,
    AsJson,
    BlockSize,
    Constants,
    Hints,
    InputFormat,
    Level,
    NoVerify,
    OnError,
    ProgressMode,
    Quiet,
    Stats,
    Threads,
    TimeFields,
    Verbose,
    beside,
    given,
    packing,
)
from sdb.cli.output import binary, plain, prepare, say
from sdb.cli.parameters import Argument, Option
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb pack -o events.zion events.json.gz",
    "zcat events.json.gz | sdb pack -o events.zion --constant region=eu --force",
)

HIDDEN = {"spark", *sparks.Choice.__annotations__}
"""What `sdb spark pack` has taken over, and is still understood here."""


def command(
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="What to pack; a pipe needs none."),
    ] = None,
    target: Annotated[
        str | None,
        Option("--output", "-o", metavar="PACKFILE", help="Where to; a.zion for a.json.gz."),
    ] = None,
    fmt: InputFormat = None,
    algorithm: Algorithm = "zion+zstd",
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    constant: Constants = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    stats: Stats = "auto",
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
    verify = not no_verify
    options = packing(algorithm, level, block_size, constant, hints, fmt, time_field, verify=verify)
    options["stats"] = stats
    prepare(verbose=verbose, unverified=no_verify, quiet=quiet)
    inputs = given(inputs)
    if target is None and spark:
        raise UsageError("where to is not clear", hint="-o FOLDER")
    if target is None:
        target = beside(inputs)
        if not quiet:
            say(plain(f"sdb: packing into {target}"), to=sys.stderr)
    choice = sparks.Choice(master, tasks, target_size, conf, append, print_submit)
    if spark:
        form = sparks.Form(force, on_error, hints, progress, as_json, quiet, verbose)
        sparks.run(choice, inputs, target, options, threads, form)
        return
    choice.check_unused()
    from sdb.cli.render.pack import Rejects, report
    from sdb.packfile.write.pack import pack

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
            on_errors=rejects.take_batch,
            overwrite=force,
            progress=meter,
        )
    if stats != "auto":
        from sdb.packfile.build.options import tell_absent

        tell_absent(stats, result.path, result.trailer)
    report(result, rejects, meter.seconds, as_json=as_json, quiet=quiet, verbose=verbose)
