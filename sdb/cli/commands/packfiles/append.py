"""`sdb append`."""

from __future__ import annotations

from sdb.cli.inputoptions import INPUT_READING, InputReading
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import FULL_REPORT, LAYOUT, BlockOptions, FullReport
from sdb.cli.options import NoVerify, Packfile, Replace, Stats
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option, Together
from sdb.cli.values import constants, given, locate
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb append events.zion events.json.gz",
    "zcat events.json.gz | sdb append --create events.zion",
)


@record
class _Packing(Together):
    """The blocks that come in."""

    layout: BlockOptions = LAYOUT
    constant: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE", help="Fail unless the packfile has this constant. Repeatable."
        ),
    ] = None
    stats: Stats = "auto"


@record
class _Growing(Together):
    """The packfile that rows are appended to."""

    force: Replace = False
    unsafe_single_writer: Annotated[
        bool,
        Option(
            "--unsafe-single-writer",
            help="Append even where two writers may overwrite each other (see sdb doctor).",
        ),
    ] = False
    skip_known: Annotated[
        bool,
        Option("--skip-known", help="Skip inputs whose rows the packfile has already."),
    ] = False
    create: Annotated[bool, Option("--create", help="Create the packfile if it is not there.")] = (
        False
    )
    no_verify: NoVerify = False


PACKING = _Packing()
GROWING = _Growing()


def command(
    context: Context,
    packfile: Packfile,
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
            help="Write a new packfile; the old one stays as it is.",
        ),
    ] = None,
    reading: InputReading = INPUT_READING,
    packing: _Packing = PACKING,
    growing: _Growing = GROWING,
    report: FullReport = FULL_REPORT,
) -> None:
    """Add rows to a packfile; its full blocks stay as they are.

    Formats are recognised as for pack. Compression and constants are those of the packfile.
    """
    from sdb.cli.render.pack import Rejects, report_append
    from sdb.packfile.write.append import append

    prepare(verbose=report.verbose, unverified=growing.no_verify, quiet=report.quiet)
    inputs = given(inputs)
    with (
        Meter("appending", report.progress, quiet=report.quiet) as meter,
        Rejects(
            reading.on_error,
            overwrite=growing.force,
            verbose=report.verbose,
            apart_from=[*inputs, locate(context, packfile), target, reading.hints],
        ) as rejects,
    ):
        result = append(
            locate(context, packfile),
            inputs,
            output=target,
            **packing.layout.options(),
            **reading.options(),
            constants=constants(packing.constant) if packing.constant else None,
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            overwrite=growing.force,
            unsafe_single_writer=growing.unsafe_single_writer,
            skip_known=growing.skip_known,
            create=growing.create,
            verify=not growing.no_verify,
            stats=packing.stats,
            progress=meter,
        )
    if packing.stats != "auto":
        from sdb.packfile.build.options import warn_absent_paths

        warn_absent_paths(packing.stats, result.path, result.trailer)
    report_append(result, rejects, report)
