"""`sdb serve`."""

from __future__ import annotations

import sys

from sdb import bounds, durations
from sdb.cli import output
from sdb.cli.optionrecords import RESOURCES, Resources
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.values import table_root
from sdb.errors import UnsupportedError, UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb serve --root lake",
    "sdb serve --root lake --open web.gha",
    "sdb serve --listen 0.0.0.0:80 --tokens tokens.json --host-name lake.net",
    "curl 'http://127.0.0.1:7373/v1/query?sql=SELECT+COUNT(*)+FROM+web.gha'",
)

_PORT = 7373
_LISTEN = f"127.0.0.1:{_PORT}"


@record
class _Access(Together):
    """The address, and the clients that may use it."""

    listen: Annotated[
        str, Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
    ] = _LISTEN
    tokens: Annotated[
        str | None,
        Option(metavar="FILE", help="Require a token from this file: sdb token makes it."),
    ] = None
    host_name: Annotated[
        list[str] | None,
        Option("--host-name", metavar="NAME", help="Accept requests for this host name, too."),
    ] = None
    cors: Annotated[
        list[str] | None,
        Option(metavar="ORIGIN", help="Allow requests from pages of this origin (CORS)."),
    ] = None
    write: Annotated[
        bool, Option("--write", help="Without tokens: let requests of this machine change tables.")
    ] = False
    public: Annotated[
        bool, Option("--public", help="Allow shared caches (Cache-Control: public).")
    ] = False
    audit: Annotated[
        str | None,
        Option(metavar="FILE", help="Append who changed what to this file; admins may read it."),
    ] = None
    push_to: Annotated[
        list[str] | None,
        Option("--push-to", metavar="NAME=ROOT", help="Let admins push tables to this root, too."),
    ] = None


@record
class _Queries(Together):
    """The number of queries that run, and the limits of each."""

    timeout: Annotated[str, Option(metavar="TIME", help="How long a query may run.")] = "60s"
    running: Annotated[
        int,
        Option(
            metavar="COUNT", help="How many queries compute at the same time.", bounds=bounds.TASKS
        ),
    ] = 2
    waiting: Annotated[
        int,
        Option(
            metavar="COUNT",
            help="Queries that wait for one of these, 10 s each at most.",
            bounds=bounds.WORKERS,
        ),
    ] = 16
    max_scan: Annotated[
        str | None,
        Option(
            "--max-scan",
            metavar="SIZE",
            help="Refuse queries that would read more.",
            bounds=bounds.SCAN,
        ),
    ] = None
    max_sql: Annotated[
        str,
        Option(
            "--max-sql",
            metavar="SIZE",
            help="Refuse statements whose text is longer.",
            bounds=bounds.STATEMENT,
        ),
    ] = "1MiB"
    resources: Resources = RESOURCES


@record
class _Answers(Together):
    """Limits of answers."""

    max_bytes: Annotated[
        str | None,
        Option(
            "--max-bytes",
            metavar="SIZE",
            help="End answers that are larger with an error.",
            bounds=bounds.ANSWER,
        ),
    ] = None
    max_rows: Annotated[
        int,
        Option(
            "--max-rows",
            metavar="COUNT",
            help="Row limit of JSON and HTML answers.",
            bounds=bounds.ANSWER_ROWS,
        ),
    ] = 10_000
    max_age: Annotated[
        str,
        Option("--max-age", metavar="TIME", help="How long a request may let caches keep answers."),
    ] = "5m"


@record
class _Room(Together):
    """Limits of memory and disk for requests."""

    max_pending: Annotated[
        str | None,
        Option(
            "--max-pending",
            metavar="SIZE",
            help="Memory limit of all request bodies together.",
            bounds=bounds.PENDING,
        ),
    ] = None
    min_free: Annotated[
        str,
        Option(
            "--min-free",
            metavar="SIZE",
            help="Refuse changes while the disk of the root has less room.",
            bounds=bounds.FREE,
        ),
    ] = "256MiB"


ACCESS = _Access()
QUERIES = _Queries()
ANSWERS = _Answers()
ROOM = _Room()


def command(
    context: TableContext,
    table: Annotated[
        str | None, Argument(metavar="[TABLE]", help="With --open: the table to show.")
    ] = None,
    open_browser: Annotated[
        bool,
        Option("--open", help="Show the page in a browser, at a free port of this machine."),
    ] = False,
    access: _Access = ACCESS,
    queries: _Queries = QUERIES,
    answers: _Answers = ANSWERS,
    room: _Room = ROOM,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Write no line for each request to standard error.")
    ] = False,
) -> None:
    """Serve the tables below a root over HTTP, with a page.

    Queries, tables and versions for programs of any language, with answers that caches may keep
    until rows change: docs/serve.md. The server keeps no state. It ends at Ctrl-C and
    SIGTERM, when running requests are done (30 s at most).
    """
    from pathlib import Path
    from urllib.parse import quote

    from sdb.table.catalog.nearroots import flaw_of_root

    try:
        from sdb.serve.process.server import serve
        from sdb.serve.settings import ServerSettings
    except ModuleNotFoundError as error:
        raise _missing(error) from None

    if table is not None and not open_browser:
        raise UsageError("a table is of use only with --open", hint=f"sdb open {table}")
    # So that it opens beside another server.
    is_free = open_browser and access.listen == _LISTEN
    host, port = _address("127.0.0.1:0" if is_free else access.listen)
    located = table_root(context)
    settings = ServerSettings(
        located.location,
        host,
        port,
        tokens=None if access.tokens is None else Path(access.tokens),
        hosts=tuple(access.host_name or ()),
        cors=tuple(access.cors or ()),
        may_write=access.write,
        is_public=access.public,
        access_log=not quiet and not open_browser,
        timeout_seconds=durations.seconds(queries.timeout, bare=True),
        memory_bytes=queries.resources.memory_bytes(),
        threads=queries.resources.threads,
        running=bounds.TASKS.check(queries.running),
        waiting=bounds.WORKERS.check(queries.waiting),
        scan_bytes=(None if queries.max_scan is None else bounds.SCAN.read(queries.max_scan)),
        sql_bytes=bounds.STATEMENT.read(queries.max_sql),
        rows=bounds.ANSWER_ROWS.check(answers.max_rows),
        answer_bytes=(None if answers.max_bytes is None else bounds.ANSWER.read(answers.max_bytes)),
        pending_bytes=(None if room.max_pending is None else bounds.PENDING.read(room.max_pending)),
        min_free_bytes=bounds.FREE.read(room.min_free),
        max_age_seconds=int(durations.seconds(answers.max_age, bare=True)),
        audit=None if access.audit is None else Path(access.audit),
        push_to=tuple(_named_root(text) for text in access.push_to or ()),
    )

    def ready(url: str) -> None:
        output.say(f"serving {located.location} at {url}", to=sys.stderr)
        if flaw := flaw_of_root(located):
            until = (
                "it is taken for a new one" if access.write else "requests are refused until it has"
            )
            output.say(f"note: {flaw} yet: {until}", to=sys.stderr)
        if open_browser:
            _show(url if table is None else f"{url}/tables/{quote(table)}")

    try:
        serve(settings, ready=ready)
    except ModuleNotFoundError as error:
        raise _missing(error) from None


def _named_root(text: str) -> tuple[str, str]:
    """Read a name and a root, as in ``backup=s3://bucket``."""
    name, equals, root = text.partition("=")
    if not (name and equals and root):
        raise UsageError(f"--push-to {text!r} names no root", expected="NAME=ROOT")
    return name, root


def _show(url: str) -> None:
    """Open a browser in another thread, since some hold up who calls them."""
    import webbrowser
    from threading import Thread

    def shown() -> None:
        if not webbrowser.open(url):
            output.say(f"no browser opens: go to {url}", to=sys.stderr)

    Thread(target=shown, daemon=True).start()


def _missing(error: ModuleNotFoundError) -> UnsupportedError:
    return UnsupportedError(
        f"sdb serve needs the package {error.name}", hint="pip install 'sdb-packfile[serve]'"
    )


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, str(_PORT)
    if not (port.isascii() and port.isdigit()) or int(port) > 65_535:  # noqa: PLR2004 - ports
        raise UsageError(f"{text!r} is no address to listen on", expected="127.0.0.1:7373")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - tokens are needed for it
