"""`sdb follow`."""

from __future__ import annotations

from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.options import (
    AsJson,
    Branch,
    Changed,
    Hints,
    OnError,
    TableStats,
    Threads,
    TimeFields,
    TimeMode,
    Timezone,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, InputContext, Option, Quiet
from sdb.cli.tablenames import author
from sdb.cli.values import content, table_root, times
from sdb.typed import Annotated

EXAMPLES = (
    "sdb follow --root lake web",
    "sdb follow --root lake --interval 10s --changed replace web.gha",
    "sdb follow --root lake app.log -f logfmt web.gha",
    "sdb follow https://sqs.eu-west-1.amazonaws.com/123456789012/logs web",
)

TYPE_CHECKING = False


def command(
    context: InputContext,
    words: Annotated[
        list[str],
        Argument(
            metavar="[SOURCE...] DB.TABLE",
            help="Log files or patterns of them, or the URL of a queue, and the table; without a "
            "source what the definitions of DB, DB.TABLE or DB PATTERN name.",
        ),
    ],
    queue: Annotated[
        bool, Option("--queue", help="The source is a queue; a folder may be one, too.")
    ] = False,
    once: Annotated[
        bool, Option("--once", help="Of log files: end when all lines that are there were taken.")
    ] = False,
    interval: Annotated[
        str | None,
        Option("--interval", metavar="TIME", help="Time between commits: 5s, of log files 1s."),
    ] = None,
    batch: Annotated[
        str | None,
        Option(
            "--batch",
            metavar="LINES|SIZE",
            help="Of log files: commit after this many lines, or 16MiB.",
        ),
    ] = None,
    settle: Annotated[
        str | None,
        Option(
            "--settle",
            metavar="TIME",
            help="Local inputs, and rotated log files, are complete once unchanged for this time; "
            "default: 2s.",
        ),
    ] = None,
    changed: Changed = None,
    form: InputForm = FORM,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    on_error: OnError = "fail",
    branch: Branch = "main",
    threads: Threads = None,
    stats: TableStats = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Keep running: take inputs or lines as they come, each once.

    Without a source these are the inputs of definitions, as they appear. Lines of log files are
    taken as they are written, through rotations, and objects as messages of a queue name them.
    """
    from sdb.cli import feeding
    from sdb.cli.streaming import Telling, bounds_of
    from sdb.table.feed.lines import LineTarget
    from sdb.table.feed.logs import LogFiles
    from sdb.table.feed.tables import FeedTables
    from sdb.table.tail.names import LogNames

    prepare(verbose=verbose, quiet=quiet)
    location = table_root(context)
    packing = {"threads": threads} | ({} if stats is None else {"stats": stats})
    telling = Telling(quiet, verbose, as_json)
    meant = feeding.meant(location, words, branch, is_queue=queue)
    of_logs = {"--once": once, "--batch": batch is not None, "--timezone": timezone != ""}
    of_logs |= {"--hints": hints is not None, "--on-error": on_error != "fail"}
    of_logs |= {"--time-field": bool(time_field), "--times": mode != "all"} | form.given()
    of_tables = {"--changed": changed is not None}
    if meant.keys is None:
        if meant.queue:
            feeding.check_fits("a queue", of_logs | of_tables | {"--settle": settle is not None})
        feeding.check_fits("inputs of definitions", of_logs)
        names = (meant.database, meant.pattern)
        tables = FeedTables(location, *names, changed, meant.branch, author(), packing)
        return feeding.follow_tables(tables, telling, interval, settle, meant.queue)
    feeding.check_fits("log files", of_tables | {"--branch": branch != "main"})
    target = LineTarget(
        location,
        meant.keys,
        author=author(),
        partition=None,
        hints=content(hints),
        options=packing | times(mode, timezone, time_field),
    )
    logs = LogFiles(
        LogNames(meant.files),
        bounds_of(interval, batch),
        once,
        feeding.settle_seconds(settle),
        form.named(),
    )
    return feeding.follow_files(target, logs, on_error, telling)
