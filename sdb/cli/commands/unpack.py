"""`sdb unpack`."""

from __future__ import annotations

import sys

from sdb import formats
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Fields,
    Force,
    Limit,
    NoVerify,
    Packfiles,
    ProgressMode,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    Verbose,
    Where,
    locate,
    names,
    period,
)
from sdb.cli.parameters import Context, Option
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    "sdb unpack --fmt json events.zion",
    "sdb unpack --fmt json --fields id,type --limit 3 events.zion",
    "sdb unpack --fmt csv --where \"type = 'ForkEvent'\" events.zion",
    "sdb unpack -o events.parquet events.zion",
    "sdb unpack -o events.csv.gz events.zion",
)


def command(
    context: Context,
    packfiles: Packfiles,
    fmt: Annotated[
        str | None,
        Option(
            metavar="json|csv|tsv|ion|ion-text|arrow|parquet",
            help="Format; if not given, by the output's suffix or ion.",
        ),
    ] = None,
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    fields: Fields = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    blocks: Annotated[
        str | None, Option(metavar="N,N-N,...", help="Only these blocks of each file.")
    ] = None,
    limit: Limit = None,
    threads: Threads = None,
    force: Force = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Write the rows of packfiles as JSON, CSV, TSV, Ion, Arrow or Parquet.

    Blocks that the time index, or what is known of their values, rules out are not read.
    """
    from sdb.packfile.export.unpack import FORMATS, TEXTS, unpack

    fmt, compression = formats.written(None if target == "-" else target, fmt, FORMATS, "ion")
    output.prepare(verbose=verbose, unverified=no_verify)
    since, until = period(since, until)
    if where is not None:
        if blocks is not None or no_verify:
            raise UsageError("with --where neither --blocks nor --no-verify is possible")
        _write_selected(
            packfiles,
            where,
            (fmt, compression, target),
            force=force,
            verbose=verbose,
            progress=progress,
            root=context.obj or "",
            fields=names(fields),
            strict=strict,
            since=since,
            until=until,
            time_field=time_field,
            limit=limit,
            threads=threads,
        )
        return
    places = [locate(context, path) for path in packfiles]
    output.check_apart(target, places)
    quiet = target == "-" and sys.stdout.isatty()
    with (
        Meter("unpacking", progress, quiet=quiet) as meter,
        output.opened(target, force=force, is_text=fmt in TEXTS, compression=compression) as file,
    ):
        unpack(
            places,
            file,
            fmt=fmt,
            fields=names(fields),
            strict=strict,
            since=since,
            until=until,
            time_field=time_field,
            blocks=blocks,
            limit=limit,
            threads=threads,
            indent=quiet,
            verify=not no_verify,
            progress=meter,
        )


def _write_selected(
    packfiles: list[str],
    where: str,
    form: tuple[str, str, str],
    *,
    force: bool,
    verbose: bool,
    progress: str,
    **choice: Any,  # noqa: ANN401 - those of `selected`
) -> None:
    """Write the rows for which a condition is true: the answer to a query."""
    import time
    from functools import partial

    from sdb.cli.following import Following
    from sdb.cli.interrupts import Interruptible
    from sdb.cli.render import query
    from sdb.query.result.reading import summary
    from sdb.query.selected import TYPED, selected

    fmt, compression, target = form
    started = time.perf_counter()
    query.allow_many_files()
    with (
        Interruptible() as signals,
        Meter("unpacking", progress) as meter,
        selected(packfiles, where, typed=fmt in TYPED, **choice) as result,
    ):
        signals.arm(result.interrupt)
        output.check_apart(target, result.paths)
        follow = partial(Following, meter=meter)
        query.write(result, fmt, target, force=force, compression=compression, follow=follow)
        if verbose:
            spent = time.perf_counter() - started
            output.say(summary(result.reading, spent), to=sys.stderr)
