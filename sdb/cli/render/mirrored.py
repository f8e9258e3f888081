"""Reports of mirrors: once, or while a table is followed."""

from __future__ import annotations

import json
import sys
import threading

from sdb import sizes
from sdb.cli import output
from sdb.cli.options import AsJson, ProgressMode, Threads
from sdb.cli.parameters import Option, Quiet, Together
from sdb.cli.tablenames import joined_table, named_table
from sdb.errors import SdbError, UsageError
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.exchange.mirror import MirrorReport, TableMirror

FollowMirror = Annotated[
    bool, Option("--follow", help="Keep running: mirror versions as they are made.")
]
MirrorInterval = Annotated[
    str | None,
    Option("--interval", metavar="TIME", help="Time between looks of --follow; default: 10s."),
]
Squash = Annotated[bool, Option("--squash", help="Make one commit of all versions that are new.")]


@record
class Mirroring(Together):
    """The way a mirror follows its table."""

    follow: FollowMirror = False
    interval: MirrorInterval = None
    squash: Squash = False
    threads: Threads = None


MIRRORING = Mirroring()
_LEAST_SECONDS = 0.1


@record
class MirrorReporting(Together):
    """Reports of a mirror."""

    progress: ProgressMode = "auto"
    as_json: AsJson = False
    quiet: Quiet = False


MIRROR_REPORTING = MirrorReporting()


class Reporting:
    """Reports what was mirrored: in words on standard error, or as JSON."""

    def __init__(self, wanted: MirrorReporting) -> None:
        self._as_json, self.is_quiet = wanted.as_json, wanted.quiet

    def report(self, report: MirrorReport) -> None:
        """Report one export."""
        if self._as_json:
            output.say_json(report.as_dict())
            return
        self._say(_words(report))

    def event(self, event: MirrorReport | SdbError | None) -> None:
        """Report an event while a table is followed: a line each."""
        if event is None or isinstance(event, SdbError):
            text = "it works again" if event is None else event.message
            if self._as_json:
                action = "recovered" if event is None else "failed"
                self._line({"action": action, "text": text})
            else:
                self._say(output.shortened(text), always=True)
        elif self._as_json:
            self._line({"action": "mirrored"} | event.as_dict())
        else:
            self._say(_words(event))

    def _line(self, facts: dict[str, object]) -> None:
        output.say(json.dumps(facts))
        sys.stdout.flush()

    def _say(self, text: str, *, always: bool = False) -> None:
        if always or not self.is_quiet:
            output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
            sys.stderr.flush()


def _words(report: MirrorReport) -> str:
    where = f"{report.location} has version {report.version:,} of {report.name}"
    if not report.versions:
        return f"{where}: nothing was new"
    versions = f"{report.versions:,} commit{'' if report.versions == 1 else 's'}"
    files = f"{report.files:,} file{'' if report.files == 1 else 's'}"
    return f"{where}: {versions}, {files}, {report.rows:,} rows, {sizes.human(report.size_bytes)}"


def mirrored_table(name: str, target: str, last: str | None) -> tuple[str, str, str]:
    """Return the database, the table and the place of a mirror that a command line names.

    Raises `UsageError` if a word is missing, or one too many, or a version of a table is named.
    """
    name, words = joined_table(name, target, last)
    if not words:
        raise UsageError(f"{name} is the table: no place to export it to", expected="DB.TABLE DEST")
    database, table, reference = named_table(name)
    if reference:
        what = f"{name} is a version: a mirror has all versions of the branch main"
        raise UsageError(what, expected="DB.TABLE")
    return database, table, words[0]


def run_mirror(mirror: TableMirror, how: Mirroring, wanted: MirrorReporting) -> int | None:
    """Bring a mirror up to date, once or until a signal ends it; return the exit code."""
    from sdb.cli.meter import Meter

    reporting = Reporting(wanted)
    if how.follow:
        return follow_mirror(mirror, how.interval, reporting)
    if how.interval is not None:
        raise UsageError("--interval is for --follow")
    with Meter("exporting", wanted.progress, quiet=wanted.quiet) as meter:
        mirror.progress = meter
        report = mirror.update()
    reporting.report(report)
    return None


def follow_mirror(mirror: TableMirror, interval: str | None, reporting: Reporting) -> int:
    """Follow a table until a signal ends it; return the exit code."""
    from sdb.cli.interrupts import until_stopped
    from sdb.cli.values import seconds_of
    from sdb.exchange.follow import INTERVAL_SECONDS, follow_versions

    seconds = INTERVAL_SECONDS if interval is None else seconds_of(interval)
    stop = threading.Event()
    mirror.stop = stop
    seconds = max(seconds, _LEAST_SECONDS)
    return until_stopped(stop, lambda: follow_versions(mirror, stop, reporting.event, seconds))
