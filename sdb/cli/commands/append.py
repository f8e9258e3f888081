"""`sdb append`."""

from __future__ import annotations

from sdb import bounds, effort
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    BlockSize,
    Hints,
    InputFormat,
    Level,
    NoVerify,
    OnError,
    Packfile,
    ProgressMode,
    Quiet,
    Stats,
    Threads,
    TimeFields,
    Verbose,
    constants,
    content,
    given,
    locate,
    paths,
    suffix,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option
from sdb.typed import Annotated

EXAMPLES = (
    "sdb append events.zion events.json.gz",
    "zcat events.json.gz | sdb append --create events.zion",
)


def command(
    context: Context,
    packfile: Packfile,
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="What to append; a pipe needs none."),
    ] = None,
    target: Annotated[
        str | None,
        Option(
            "--output", "-o", metavar="PACKFILE", help="Write here; the packfile stays as it is."
        ),
    ] = None,
    fmt: InputFormat = None,
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    constant: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE", help="A constant that the packfile must have; rows get them all."
        ),
    ] = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    stats: Stats = "auto",
    on_error: OnError = "fail",
    force: Annotated[bool, Option("--force", help="Replace an existing output.")] = False,
    unsafe_single_writer: Annotated[
        bool,
        Option(
            "--unsafe-single-writer",
            help="Append even where the store cannot tell two writers apart (sdb doctor).",
        ),
    ] = False,
    skip_known: Annotated[
        bool,
        Option("--skip-known", help="Leave out inputs that the packfile has the rows of."),
    ] = False,
    create: Annotated[bool, Option("--create", help="Make a packfile that is not there.")] = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Append inputs to a packfile; full blocks are never touched again.

    Formats are recognised as for pack. Compression and constants are those of the packfile.
    """
    from sdb.cli.render.pack import Rejects, report_append
    from sdb.packfile.write.append import append

    prepare(verbose=verbose, unverified=no_verify, quiet=quiet)
    inputs = given(inputs)
    with (
        Meter("appending", progress, quiet=quiet) as meter,
        Rejects(
            on_error,
            overwrite=force,
            verbose=verbose,
            apart_from=[*inputs, locate(context, packfile), target, hints],
        ) as rejects,
    ):
        result = append(
            locate(context, packfile),
            inputs,
            output=target,
            level=None if level is None else effort.read(level),
            block_bytes=bounds.BLOCK.read(block_size),
            threads=threads,
            constants=constants(constant) if constant else None,
            hints=content(hints),
            format=suffix(fmt),
            time_fields=paths(time_field),
            on_errors=rejects.take_batch,
            overwrite=force,
            unsafe_single_writer=unsafe_single_writer,
            skip_known=skip_known,
            create=create,
            verify=not no_verify,
            stats=stats,
            progress=meter,
        )
    if stats != "auto":
        from sdb.packfile.build.options import tell_absent

        tell_absent(stats, result.path, result.trailer)
    report_append(result, rejects, as_json=as_json, quiet=quiet)
