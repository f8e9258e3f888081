"""`sdb pack`."""

from __future__ import annotations

from typing import Annotated

import typer

from sdb import sizes
from sdb.cli.options import (
    AsJson,
    BlockSize,
    Hints,
    InputFormat,
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
from sdb.cli.output import binary
from sdb.cli.progress import Meter
from sdb.errors import UsageError

EXAMPLES = (
    "sdb pack -o events.zion events.json.gz",
    "zcat events.json.gz | sdb pack -o events.zion --constant region=eu --force -",
)


def command(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="What to pack; - is standard input.")
    ],
    target: Annotated[
        str,
        typer.Option("--output", "-o", metavar="PACKFILE", help="Where to; - is standard output."),
    ],
    fmt: InputFormat = None,
    algorithm: Annotated[
        str,
        typer.Option(
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
        typer.Option(metavar="NAME=VALUE", help="A field for every row; NAME:str=VALUE for text."),
    ] = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    on_error: OnError = "fail",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
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
    from sdb.cli.report import Rejects, report
    from sdb.packfile.writer import pack

    with (
        Meter("packing", progress, quiet=quiet) as meter,
        Rejects(on_error, overwrite=force, verbose=verbose) as rejects,
    ):
        result = pack(
            inputs,
            binary(force=force) if target == "-" else target,
            algorithm=algorithm,
            block_bytes=sizes.parse(block_size),
            threads=threads,
            constants=constants(constant or []),
            hints=content(hints),
            format=suffix(fmt),
            time_fields=paths(time_field),
            on_error=rejects.take,
            overwrite=force,
            progress=meter,
        )
    report(result, rejects, meter.seconds, as_json=as_json, quiet=quiet, verbose=verbose)
