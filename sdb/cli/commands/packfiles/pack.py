"""`sdb pack`."""

from __future__ import annotations

import sys

from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Algorithm,
    AsJson,
    BlockSize,
    Constants,
    Hints,
    Level,
    MaxRow,
    NoHive,
    NoVerify,
    OnError,
    ProgressMode,
    Replace,
    Stats,
    Threads,
    TimeFields,
    TimeMode,
    Timezone,
    Verbose,
)
from sdb.cli.output import binary, plain, prepare, say
from sdb.cli.parameters import Argument, Option, Quiet
from sdb.cli.values import beside, given, packing, times
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb pack -o events.zion events.json.gz",
    "zcat events.json.gz | sdb pack -o events.zion --constant region=eu --force",
)


def command(
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="Files, URLs, patterns, folders; default: a pipe."),
    ] = None,
    target: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="PACKFILE",
            help="The packfile to write; default: a.zion for a.json.gz.",
        ),
    ] = None,
    form: InputForm = FORM,
    algorithm: Algorithm = "zion+zstd",
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    max_row: MaxRow = None,
    constant: Constants = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    stats: Stats = "auto",
    no_hive: NoHive = False,
    on_error: OnError = "fail",
    force: Replace = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Pack JSON, CSV, CloudTrail, Ion or Parquet into a packfile.

    Formats and compressions are recognised by content.
    `sdb spark pack` packs on Spark.
    """
    if as_json and target == "-":
        raise UsageError("--json and -o - both write to standard output")
    verify = not no_verify
    reading = times(mode, timezone, time_field)
    options = packing(
        algorithm,
        level,
        block_size,
        constant,
        hints,
        form.named(),
        reading,
        verify=verify,
        max_row=max_row,
    )
    options |= {"stats": stats, "hive": False if no_hive else None}
    prepare(verbose=verbose, unverified=no_verify, quiet=quiet)
    inputs = given(inputs)
    if target is None:
        target = beside(inputs)
        if not quiet:
            say(plain(f"sdb: packing into {target}"), to=sys.stderr)
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
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            overwrite=force,
            progress=meter,
        )
    if stats != "auto":
        from sdb.packfile.build.options import warn_absent_paths

        warn_absent_paths(stats, result.path, result.trailer)
    if target != "-" and not quiet and not result.trailer.sparse.indices:
        from sdb.packfile.read.likelytimes import tell_likely_times

        tell_likely_times(target)
    report(result, rejects, meter.seconds, as_json=as_json, quiet=quiet, verbose=verbose)
