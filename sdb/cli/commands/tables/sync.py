"""`sdb sync`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli import spark as sparks
from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.options import (
    AllowInputs,
    AsJson,
    Branch,
    DryRun,
    Hints,
    OnError,
    ProgressMode,
    Root,
    TableStats,
    Threads,
    TimeFields,
    TimeMode,
    Timezone,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option, Quiet
from sdb.cli.tablenames import author, database_and_pattern
from sdb.cli.values import content, table_root, times
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb sync --root lake web.gha",
    "sdb sync --dry-run --json --root lake web 'gh*'",
    "sdb sync --follow --interval 10s --root lake web",
    "sdb sync --root lake --tail app.log -f logfmt web.gha",
    "sdb sync --queue https://sqs.eu-west-1.amazonaws.com/123456789012/logs web",
    "sdb sync --spark --master 'local[2]' --root lake web",
)

TYPE_CHECKING = False


def command(
    context: Context,
    database: Annotated[str, Argument(metavar="DB", help="The database, or DB.TABLE.")],
    patterns: Annotated[
        list[str] | None,
        Argument(metavar="PATTERN", help="Names of tables, as 'gh*'; default: all."),
    ] = None,
    dry_run: DryRun = False,
    retry: Annotated[
        bool,
        Option("--retry", help="Also try inputs that failed before and have not changed since."),
    ] = False,
    changed: Annotated[
        str | None,
        Option(
            "--changed",
            metavar="keep|replace|fail",
            help="Rows of inputs whose content has changed: keep them, replace them, or fail. "
            "Default: upkeep.changed of the definition, or keep; of Delta and Iceberg replace.",
            values=("keep", "replace", "fail"),
        ),
    ] = None,
    vanished: Annotated[
        str | None,
        Option(
            "--vanished",
            metavar="keep|delete",
            help="Rows of inputs that are gone: keep or delete them. Default: keep; of Delta and "
            "Iceberg tables delete.",
            values=("keep", "delete"),
        ),
    ] = None,
    follow: Annotated[
        bool, Option("--follow", help="Keep running: take inputs as they appear.")
    ] = False,
    queue: Annotated[
        str | None,
        Option(
            "--queue",
            metavar="URL|FOLDER",
            help="Keep running: ingest the objects that this queue announces.",
        ),
    ] = None,
    tail: Annotated[
        list[str] | None,
        Option(
            "--tail",
            metavar="FILE",
            help="Keep running: take the lines of this log file as they are written, through "
            "rotations. Repeatable; a pattern finds files that appear later.",
        ),
    ] = None,
    once: Annotated[
        bool, Option("--once", help="With --tail: end when all lines that are there were taken.")
    ] = False,
    interval: Annotated[
        str | None,
        Option(
            "--interval",
            metavar="TIME",
            help="Least time between commits of --follow, --queue (5s) and --tail (1s).",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        Option(
            "--batch",
            metavar="LINES|SIZE",
            help="With --tail: commit after this many lines, or 16MiB.",
        ),
    ] = None,
    settle: Annotated[
        str | None,
        Option(
            "--settle",
            metavar="TIME",
            help="Local inputs of --follow, and rotated files of --tail, are complete once "
            "unchanged for this time; default: 2s.",
        ),
    ] = None,
    form: InputForm = FORM,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    on_error: OnError = "fail",
    spark: Annotated[
        bool, Option("--spark", help="Pack on Spark and commit here; for terabytes.")
    ] = False,
    master: sparks.Master = None,
    tasks: sparks.Tasks = None,
    target_size: sparks.TargetSize = None,
    conf: sparks.Conf = None,
    print_submit: sparks.PrintSubmit = False,
    branch: Branch = "main",
    allow_inputs: AllowInputs = None,
    root: Root = None,
    threads: Threads = None,
    stats: TableStats = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Take new inputs into tables, each input once.

    Inputs that cannot be read are reported, recorded as failed and left out (exit code 1).
    With --tail FILE... DB.TABLE lines of growing log files are taken as they are written.
    """
    from sdb.cli.syncing import (
        check_alone,
        fitting_tables,
        follow_tables,
        seconds_of,
        sync_tables,
        syncs_of,
    )

    prepare(verbose=verbose, quiet=quiet)
    options = {} if stats is None else {"stats": stats}
    location = table_root(context, root, allow_inputs)
    unfit = {"--dry-run": dry_run, "--retry": retry, "--spark": spark}
    unfit |= {"--vanished": vanished is not None}
    of_tail = {"--once": once, "--batch": batch is not None, "--timezone": timezone != ""}
    of_tail |= {"--hints": hints is not None, "--on-error": on_error != "fail"}
    of_tail |= {"--time-field": bool(time_field), "--times": mode != "all"}
    of_tail |= form.given()
    if tail:
        from sdb.cli.streaming import Telling, bounds_of
        from sdb.cli.tailing import table_and_files, tail_into
        from sdb.table.feed.lines import LineTarget
        from sdb.table.feed.logs import SETTLE_SECONDS, LogFiles
        from sdb.table.tail.names import LogNames

        unfit |= {"--follow": follow, "--queue": queue is not None}
        unfit |= {"--changed": changed is not None, "--branch": branch != "main"}
        check_alone("--tail", unfit)
        keys, files = table_and_files(location, [database, *(patterns or [])], tail)
        packing = {**options, "threads": threads, **times(mode, timezone, time_field)}
        return tail_into(
            LineTarget(
                location,
                keys,
                author=author(),
                partition=None,
                hints=content(hints),
                options=packing,
            ),
            LogFiles(
                LogNames(files),
                bounds_of(interval, batch),
                once,
                SETTLE_SECONDS if settle is None else seconds_of(settle, "--settle", 0.0),
                form.named(),
            ),
            on_error,
            Telling(quiet, verbose, as_json),
        )
    check_alone("a sync without --tail", of_tail)
    choice = sparks.Choice(
        master, tasks, target_size, conf, append=False, print_submit=print_submit
    )
    if not spark:
        choice.check_unused("sdb sync --spark")
    if print_submit:
        output.say(sparks.submit_command(master, conf))
        return 0
    pattern = _only(patterns or [])
    is_pattern = pattern is not None and not set(pattern).isdisjoint("*?[")
    database, pattern = database_and_pattern(location, database, pattern)
    if follow or queue is not None:
        if queue is not None:
            unfit |= {"--changed": changed is not None, "--settle": settle is not None}
        check_alone("--follow" if queue is None else "--queue", unfit)
        from sdb.cli.streaming import Telling
        from sdb.table.feed.tables import FeedTables

        who = (branch, author())
        packing = {**options, "threads": threads}
        return follow_tables(
            FeedTables(location, database, pattern, changed, *who, packing),
            Telling(quiet, verbose, as_json),
            "5s" if interval is None else interval,
            settle,
            queue,
        )
    check_alone("a sync without --follow", {"--settle": settle is not None})
    tables = fitting_tables(location, database, pattern, is_pattern=is_pattern)
    with syncs_of(choice if spark else None, threads=threads, quiet=quiet) as sync:
        synced, failures = sync_tables(
            sync,
            (location, database, tables),
            progress=progress,
            dry_run=dry_run,
            verbose=verbose,
            quiet=quiet,
            retry=retry,
            changed=changed,
            vanished=vanished,
            branch=branch,
            author=author(),
            **options,
        )
    if as_json:
        output.say_json({"tables": [outcome.as_dict() for outcome in synced]})
    for failure in failures[1:]:
        output.complain(failure.message, failure.hint)
    if failures:
        raise failures[0]
    return int(any(outcome.rejected for outcome in synced))


def _only(patterns: list[str]) -> str | None:
    """Return the pattern if there is one."""
    if patterns[1:]:
        raise UsageError(f"unexpected word {patterns[1]!r}", expected="DB, DB.TABLE or DB PATTERN")
    return patterns[0] if patterns else None
