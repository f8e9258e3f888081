"""`sdb sync`."""

from __future__ import annotations

from sdb import notes
from sdb.cli import output
from sdb.cli import spark as sparks
from sdb.cli.options import (
    AllowInputs,
    AsJson,
    Branch,
    Database,
    ProgressMode,
    Quiet,
    Root,
    TableStats,
    Threads,
    Verbose,
    table_root,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author
from sdb.typed import Annotated

EXAMPLES = (
    "sdb sync --root lake web",
    "sdb sync --dry-run --json --root lake web 'gh*'",
    "sdb sync --follow --interval 10s --root lake web",
    "sdb sync --queue https://sqs.eu-west-1.amazonaws.com/123456789012/logs web",
    "sdb sync --spark --master 'local[2]' --root lake web",
)

TYPE_CHECKING = False


def command(
    context: Context,
    database: Database,
    pattern: Annotated[
        str, Argument(metavar="PATTERN", help="Names of tables, as in 'gh*'; all if not given.")
    ] = "*",
    dry_run: Annotated[
        bool, Option("--dry-run", "-n", help="Only tell what would be taken.")
    ] = False,
    retry: Annotated[
        bool, Option("--retry", help="Try inputs again that failed and have not changed.")
    ] = False,
    changed: Annotated[
        str,
        Option(
            "--changed",
            metavar="keep|replace|fail",
            help="What of inputs that are not what was taken.",
            values=("keep", "replace", "fail"),
        ),
    ] = "keep",
    vanished: Annotated[
        str,
        Option(
            "--vanished",
            metavar="keep|delete",
            help="What of rows of inputs that are gone.",
            values=("keep", "delete"),
        ),
    ] = "keep",
    follow: Annotated[
        bool, Option("--follow", help="Go on for ever: take inputs as they appear.")
    ] = False,
    queue: Annotated[
        str | None,
        Option(
            "--queue",
            metavar="URL|FOLDER",
            help="Go on for ever: take what messages of a queue name.",
        ),
    ] = None,
    interval: Annotated[
        str,
        Option(
            "--interval", metavar="TIME", help="With --follow or --queue, the time between commits."
        ),
    ] = "5s",
    settle: Annotated[
        str | None,
        Option(
            "--settle",
            metavar="TIME",
            help="With --follow, how long local inputs stand still before they are taken; 2s.",
        ),
    ] = None,
    spark: Annotated[
        bool, Option("--spark", help="Pack on Spark, and commit here: for the first terabytes.")
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
    """Take the inputs that are new into tables, each one once.

    What cannot be read is told, recorded and left out (exit code 1).
    """
    from sdb.cli.syncing import check_alone, follow_tables, sync_tables, syncs_of
    from sdb.table.sync.sync import tables_to_sync

    prepare(verbose=verbose, quiet=quiet)
    options = {} if stats is None else {"stats": stats}
    place = table_root(context, root, allow_inputs)
    choice = sparks.Choice(
        master, tasks, target_size, conf, append=False, print_submit=print_submit
    )
    if not spark:
        choice.check_unused("sdb sync --spark")
    if print_submit:
        output.say(sparks.submit_command(master, conf))
        return 0
    if follow or queue is not None:
        given = {"--dry-run": dry_run, "--retry": retry, "--spark": spark}
        given |= {"--vanished": vanished != "keep"}
        if queue is not None:
            given |= {"--changed": changed != "keep", "--settle": settle is not None}
        check_alone("--follow" if queue is None else "--queue", given)
        return follow_tables(
            place,
            database,
            pattern,
            interval=interval,
            settle=settle,
            changed=changed,
            queue=queue,
            as_json=as_json,
            verbose=verbose,
            quiet=quiet,
            branch=branch,
            author=author(),
            threads=threads,
            **options,
        )
    check_alone("a sync without --follow", {"--settle": settle is not None})
    tables = tables_to_sync(place, database, pattern)
    if not tables:
        notes.warn(
            f"no table of {database} below {place.location} has a definition and fits {pattern!r}"
        )
    with syncs_of(choice if spark else None, threads=threads, quiet=quiet) as sync:
        found, failures = sync_tables(
            sync,
            (place, database, tables),
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
        output.say_json({"tables": [one.as_dict() for one in found]})
    for failure in failures[1:]:
        output.complain(failure.message, failure.hint)
    if failures:
        raise failures[0]
    return int(any(one.rejected for one in found))
