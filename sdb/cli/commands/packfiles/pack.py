"""`sdb pack`."""

from __future__ import annotations

import sys

from sdb.cli.inputoptions import INPUT_READING, InputReading
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import FULL_REPORT, LAYOUT, BlockOptions, FullReport
from sdb.cli.options import Algorithm, Constants, NoVerify, Replace, Stats
from sdb.cli.output import binary, plain, prepare, say
from sdb.cli.parameters import Argument, Option, Together
from sdb.cli.values import beside, constants, given
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb pack -o events.zion events.json.gz",
    "zcat events.json.gz | sdb pack -o events.zion --constant region=eu --force",
)


@record
class _Packing(Together):
    """The packfile that is made."""

    algorithm: Algorithm = "zion+zstd"
    layout: BlockOptions = LAYOUT
    constant: Constants = None
    stats: Stats = "auto"


PACKING = _Packing()


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
    reading: InputReading = INPUT_READING,
    packing: _Packing = PACKING,
    force: Replace = False,
    no_verify: NoVerify = False,
    report: FullReport = FULL_REPORT,
) -> None:
    """Pack JSON, CSV, CloudTrail, Ion or Parquet into a packfile.

    Formats and compressions are recognised by content.
    `sdb spark pack` packs on Spark.
    """
    from sdb.cli.render import pack as reporting
    from sdb.packfile.write.pack import pack

    if report.as_json and target == "-":
        raise UsageError("--json and -o - both write to standard output")
    options = packing.layout.options() | reading.options()
    options |= {"algorithm": packing.algorithm, "constants": constants(packing.constant or [])}
    prepare(verbose=report.verbose, unverified=no_verify, quiet=report.quiet)
    inputs = given(inputs)
    if target is None:
        target = beside(inputs)
        if not report.quiet:
            say(plain(f"sdb: packing into {target}"), to=sys.stderr)
    with (
        Meter("packing", report.progress, quiet=report.quiet) as meter,
        reporting.Rejects(
            reading.on_error,
            overwrite=force,
            verbose=report.verbose,
            apart_from=[*inputs, None if target == "-" else target, reading.hints],
            writes_out=target == "-",
        ) as rejects,
    ):
        result = pack(
            inputs,
            binary(force=force) if target == "-" else target,
            **options,
            stats=packing.stats,
            verify=not no_verify,
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            overwrite=force,
            progress=meter,
        )
    if packing.stats != "auto":
        from sdb.packfile.build.options import warn_absent_paths

        warn_absent_paths(packing.stats, result.path, result.trailer)
    if target != "-" and not report.quiet and not result.trailer.sparse.indices:
        from sdb.packfile.read.likelytimes import tell_likely_times

        tell_likely_times(target)
    reporting.report(result, rejects, meter.seconds, report)
