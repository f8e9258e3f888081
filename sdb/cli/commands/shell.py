"""`sdb shell`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import Threads
from sdb.cli.parameters import Context, Option
from sdb.cli.render import query
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.conversation import Session

EXAMPLES = (
    """echo "SELECT COUNT(*) AS n FROM 'events.zion'; SELECT 1 AS one" | sdb shell""",
    "echo '\\d' | sdb shell",
)


def command(
    context: Context,
    fmt: Annotated[
        str | None,
        Option(
            metavar="json|csv|tsv|markdown|table|vertical|ion-text",
            help="Format; if not given, a table on a terminal, or json.",
        ),
    ] = None,
    root: Annotated[
        str | None, Option(metavar="FOLDER", help="Where paths start, as sdb --root.")
    ] = None,
    memory: Annotated[
        str | None,
        Option(metavar="SIZE", bounds=bounds.MEMORY, help="Most memory of a query, as in query."),
    ] = None,
    threads: Threads = None,
) -> None:
    r"""Answer one query after the other.

    On a terminal with history, completion (Tab) and several lines; a query ends with a semicolon.
    Commands such as \d and \x are listed by \?. Elsewhere the queries come from standard input.
    """
    from sdb.cli.conversation import Session, Settings

    output.prepare()
    query.allow_many_files()
    form, _ = query.form(fmt, "-")
    if form in {"ion", "arrow", "parquet"}:
        raise UsageError(f"the shell shows text, and {form} is none", hint="sdb query -o FILE")
    limit = None if memory is None else bounds.MEMORY.read(memory)
    session = Session(Settings(root or context.obj or "", threads, limit), form)
    if sys.stdin is not None and sys.stdin.isatty():
        _converse(session)
    else:
        _read(session)


def _read(session: Session) -> None:
    """Run what comes on standard input; the first error ends it."""
    from sdb.packfile.inputs.streams import standard_input
    from sdb.query.syntax.statements import split

    text = ""
    for line in standard_input():
        try:
            text += line.decode()
        except UnicodeDecodeError:
            raise UsageError("standard input is not UTF-8") from None
        if not text.strip() or text.startswith("\\"):
            found, text = [text.strip()] if text.strip() else [], ""
        else:
            found, text = split(text)
            text += "\n" if text else ""
        for statement in found:
            if not session.run(statement):
                return
    if text.strip():
        session.run(text.strip())


def _converse(session: Session) -> None:
    """Run what is typed, until Ctrl-D; errors are shown, and Ctrl-C stops what goes on."""
    from sdb.cli.main import failed
    from sdb.cli.prompt import editor
    from sdb.query.syntax.statements import split

    edit = editor(session.suggestions)
    output.say("sdb shell: queries end with ;  Tab completes, \\? helps, Ctrl-D leaves")
    while True:
        try:
            text = edit.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        found, rest = ([text.strip()], "") if text.startswith("\\") else split(text)
        for statement in [*found, *([rest] if rest else [])]:
            try:
                if not session.run(statement):
                    return
            except KeyboardInterrupt:
                output.say("stopped", to=sys.stderr)
                break
            except Exception as error:  # noqa: BLE001 - shown, and the session goes on
                failed(error)
                break
