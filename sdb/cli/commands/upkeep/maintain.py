"""`sdb maintain`."""

from __future__ import annotations

import json
import sys
import threading

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import AnyDatabase, AsJson, DryRun, TablePattern
from sdb.cli.parameters import InputContext, Option, Quiet, Together
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.tablenames import author, database_and_pattern
from sdb.cli.values import table_root
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb maintain --root lake",
    "sdb maintain --dry-run --root lake web.gha",
    "sdb maintain --watch --cpu 25% --root lake web",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.feed.events import Trouble
    from sdb.table.upkeep.actions import Action
    from sdb.table.upkeep.maintain import Maintained, TableChoice


@record
class _Rounds(Together):
    """The number of rounds, and the time between them."""

    watch: Annotated[
        bool, Option("--watch", help="Keep running, one round over the tables after the other.")
    ] = False
    once: Annotated[bool, Option("--once", help="Do one round, as without --watch.")] = False
    interval: Annotated[
        str | None,
        Option("--interval", metavar="TIME", help="Watch, with this time between rounds, not 1m."),
    ] = None


@record
class _Spending(Together):
    """Limits of maintenance, and the objects that it leaves alone."""

    cpu: Annotated[
        str, Option("--cpu", metavar="PERCENT", help="Share of one processor, on average.")
    ] = "50%"
    min_free: Annotated[
        str,
        Option(
            "--min-free",
            metavar="SIZE",
            bounds=bounds.FREE,
            help="Space that compactions leave free on the disk.",
        ),
    ] = "1GiB"
    grace: Annotated[
        str | None,
        Option(
            "--grace",
            metavar="TIME",
            help="Grace period of collections; default: that of the definition, or 24h.",
        ),
    ] = None


ROUNDS = _Rounds()
SPENDING = _Spending()


def command(
    context: InputContext,
    database: AnyDatabase = None,
    pattern: TablePattern = None,
    rounds: _Rounds = ROUNDS,
    spending: _Spending = SPENDING,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Keep tables small: merge, expire and collect by their rules.

    Does what there is to do now, and ends, unless --watch is given. Small packfiles are merged, old
    rows and versions go, and what nothing needs is deleted. It may run beside writers and readers,
    and on several machines at once. SIGTERM and Ctrl-C end it within a second.
    """
    from sdb import durations
    from sdb.cli.interrupts import until_stopped
    from sdb.cli.values import seconds_of
    from sdb.errors import UsageError
    from sdb.exchange.policies import Exporter
    from sdb.query.rows.mirrorcolumns import packfile_columns
    from sdb.table.upkeep.actions import Request
    from sdb.table.upkeep.budget import Budget
    from sdb.table.upkeep.maintain import INTERVAL_SECONDS, maintainer

    if rounds.once and (rounds.watch or rounds.interval is not None):
        other = "--watch" if rounds.watch else "--interval"
        raise UsageError(f"--once ends, and {other} keeps running", expected="one of them")
    is_once = dry_run or not (rounds.watch or rounds.interval is not None)
    stop = threading.Event()
    telling = _Telling(as_json=as_json, quiet=quiet)
    server = server_of(context)
    if server is not None:
        refuse_options(watch=not is_once, cpu=spending != SPENDING)
        name = ".".join(filter(None, (database, pattern)))
        done = server.maintain(name, dry_run=dry_run, author=author(), tell=telling.action)
        return _one_round(done, telling)
    location = table_root(context)
    chosen = _chosen(location, database, pattern)
    request = Request(
        telling.action,
        Budget(_share(spending.cpu), _free_bytes(spending.min_free), stop),
        author(),
        is_dry=dry_run,
        is_once=is_once,
        interval_seconds=(
            INTERVAL_SECONDS if rounds.interval is None else seconds_of(rounds.interval)
        ),
        grace_seconds=None if spending.grace is None else durations.seconds(spending.grace),
        export=Exporter(stop, packfile_columns),
    )
    upkeep = maintainer(location, chosen, request, telling.trouble)
    if is_once:
        return _one_round(upkeep.round(), telling)
    output.tell_end("looking at tables, round after round", quiet=quiet)
    return until_stopped(stop, upkeep.run)


def _one_round(done: Maintained, telling: _Telling) -> int:
    if not done.actions and not done.failures:
        telling.say("nothing to do")
    for failure in done.failures[1:]:
        output.complain(failure.message, failure.hint)
    if done.failures:
        raise done.failures[0]
    return 0


def _chosen(root: TableRoot, database: str | None, pattern: str | None) -> TableChoice:
    """Return the tables that the words of the command line mean.

    Raises `NotFoundError` if there is no such database or table.
    """
    from sdb.cli.render.tables import databases_of
    from sdb.table.upkeep.maintain import TableChoice

    if database is None:
        databases_of(root, None)  # which checks that the root is there
        return TableChoice()
    return TableChoice(*database_and_pattern(root, database, pattern)).check(root)


def _free_bytes(text: str) -> int:
    from sdb.errors import UsageError

    try:
        return bounds.FREE.read(text)
    except UsageError as error:
        raise error.within("--min-free") from None


def _share(text: str) -> float:
    """Read a share of a processor, as in ``50%``."""
    from sdb.errors import UsageError

    digits = text.strip().removesuffix("%")
    if not digits.isascii() or not digits.isdigit() or not 1 <= int(digits[:4]) <= 100:  # noqa: PLR2004
        raise UsageError(f"--cpu {text[:20]!r}", expected="a percentage from 1% to 100%")
    return int(digits) / 100


class _Telling:
    """Reports what is done: in words on standard error, or as a line of JSON for each step."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet

    def action(self, action: Action) -> None:
        if self._as_json:
            output.say(json.dumps(action.as_dict()))
            sys.stdout.flush()
            return
        version = "" if action.version is None else f" (version {action.version:,})"
        self.say(f"{action.table}: {action.text}{version}")

    def trouble(self, event: Trouble) -> None:
        name = ".".join(filter(None, (event.database, event.table)))
        again = "it works again" if event.error is None else event.error.message
        if self._as_json:
            facts = {"table": name, "action": "recovered", "text": again}
            facts |= {} if event.error is None else {"action": "failed"}
            output.say(json.dumps(facts))
            sys.stdout.flush()
        else:
            self.say(f"{name}: {output.shortened(again)}", always=True)

    def say(self, text: str, *, always: bool = False) -> None:
        if always or not (self._quiet or self._as_json):
            output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
            sys.stderr.flush()
