"""`sdb unpack`."""

from __future__ import annotations

import sys

from sdb import formats
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    At,
    Fields,
    Force,
    Limit,
    NoSafeCsv,
    NoVerify,
    PackfilesOrTables,
    ProgressMode,
    SafeCsv,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    Verbose,
    Where,
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render.csvsafety import csv_safety, made_safe
from sdb.cli.settings import terminal_format
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names, period
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
    "sdb unpack --root lake -o gha.parquet web.gha",
)


def command(
    context: TableContext,
    packfiles: PackfilesOrTables,
    fmt: Annotated[
        str | None,
        Option(
            metavar=formats.metavar("unpack"),
            help="Format; default: by the suffix of the output, or ion.",
        ),
    ] = None,
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")
    ] = "-",
    fields: Fields = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    blocks: Annotated[
        str | None, Option(metavar="N,N-N,...", help="Only these blocks of each file: 0-3,7,9-.")
    ] = None,
    limit: Limit = None,
    threads: Threads = None,
    force: Force = False,
    safe_csv: SafeCsv = False,
    no_safe_csv: NoSafeCsv = False,
    no_verify: NoVerify = False,
    at: At = "",
    progress: ProgressMode = "auto",
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Write rows as JSON, CSV, TSV, Ion, Arrow or Parquet.

    Blocks are skipped where the time index or statistics show that no row matches.
    """
    from sdb.packfile.export.unpack import unpack

    if fmt is None and target == "-" and sys.stdout.isatty():
        preferred = terminal_format()
        fmt = preferred if preferred in formats.TEXTS else None
    packfiles = at_version(packfiles, at)
    name = None if target == "-" else target
    fmt, compression = formats.written(name, fmt, formats.written_by("unpack"), "ion")
    safety = csv_safety(fmt, target, wanted=safe_csv, refused=no_safe_csv)
    output.prepare(verbose=verbose, unverified=no_verify)
    since, until = period(since, until)

    def select() -> None:
        _write_selected(
            packfiles,
            where,
            (fmt, compression, target),
            force=force,
            safety=safety,
            verbose=verbose,
            progress=progress,
            root=context.root,
            fields=names(fields),
            strict=strict,
            since=since,
            until=until,
            time_field=time_field,
            limit=limit,
            threads=threads,
        )

    if where is not None:
        if blocks is not None or no_verify:
            raise UsageError("with --where neither --blocks nor --no-verify is possible")
        select()
        return
    quiet = target == "-" and sys.stdout.isatty()
    with Sources(context) as sources:
        references = sources.resolve(packfiles)
        if sources.schemas and blocks is None:
            select()
            return
        sources.tell_stored("--blocks writes")
        output.check_apart(target, [reference.location for reference in references])
        with (
            Meter("unpacking", progress, quiet=quiet) as meter,
            output.opened(
                target, force=force, is_text=fmt in formats.TEXTS, compression=compression
            ) as file,
            made_safe(file, safety) as cells,
        ):
            unpack(
                references,
                cells,
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
    where: str | None,
    form: tuple[str, str, str],
    *,
    force: bool,
    safety: str,
    verbose: bool,
    progress: str,
    **choice: Any,  # noqa: ANN401 - those of `selected`
) -> None:
    """Write the rows for which a condition is true: the answer to a query.

    * ``where``: The condition; None: all rows.
    """
    import time
    from functools import partial

    from sdb.cli.following import Following
    from sdb.cli.interrupts import Interruptible
    from sdb.cli.render import query
    from sdb.query.result.reading import summary
    from sdb.query.rows.selected import selected

    fmt, compression, target = form
    started = time.perf_counter()
    query.allow_many_files()
    with (
        Interruptible() as signals,
        Meter("unpacking", progress) as meter,
        selected(packfiles, where, typed=fmt in formats.TYPED, **choice) as result,
    ):
        signals.arm(result.interrupt)
        output.check_apart(target, result.paths)
        follow = partial(Following, meter=meter)
        query.write(
            result, fmt, target, force=force, compression=compression, follow=follow, safety=safety
        )
        if verbose:
            spent = time.perf_counter() - started
            output.say(summary(result.reading, spent), to=sys.stderr)
