"""`sdb sync`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli import spark as sparks
from sdb.cli.options import (
    AsJson,
    Branch,
    Changed,
    DryRun,
    ProgressMode,
    TableStats,
    Threads,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, InputContext, Option, Quiet
from sdb.cli.tablenames import author, tables_on_branch
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb sync --root lake web.gha",
    "sdb sync --dry-run --json --root lake web 'gh*'",
    "sdb sync --spark --master 'local[2]' --root lake web",
)


def command(
    context: InputContext,
    database: Annotated[str, Argument(metavar="DB", help="The database, or DB.TABLE[@BRANCH].")],
    patterns: Annotated[
        list[str] | None,
        Argument(metavar="PATTERN", help="Names of tables, as 'gh*'; default: all."),
    ] = None,
    dry_run: DryRun = False,
    retry: Annotated[
        bool,
        Option("--retry", help="Also try inputs that failed before and have not changed since."),
    ] = False,
    changed: Changed = None,
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
    spark: Annotated[
        bool, Option("--spark", help="Pack on Spark and commit here; for terabytes.")
    ] = False,
    master: sparks.Master = None,
    tasks: sparks.Tasks = None,
    target_size: sparks.TargetSize = None,
    conf: sparks.Conf = None,
    print_submit: sparks.PrintSubmit = False,
    branch: Branch = "main",
    threads: Threads = None,
    stats: TableStats = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Take new inputs into tables, each input once.

    Inputs that cannot be read are reported, recorded as failed and left out (exit code 1).
    `sdb follow` keeps running, and takes inputs as they appear.
    """
    from sdb.cli.syncing import fitting_tables, sync_tables, syncs_of

    prepare(verbose=verbose, quiet=quiet)
    options = {} if stats is None else {"stats": stats}
    location = table_root(context)
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
    database, pattern, branch = tables_on_branch(location, database, pattern, branch)
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
