"""`sdb shell`."""

from __future__ import annotations

import sys

from sdb import bounds, formats
from sdb.cli import output
from sdb.cli.options import Dialect, Threads
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render import query
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.shell.conversation import Session

EXAMPLES = (
    """echo "SELECT COUNT(*) AS n FROM 'events.zion'; SELECT 1 AS one" | sdb shell""",
    "echo '\\d' | sdb shell",
)


def command(
    context: TableContext,
    fmt: Annotated[
        str | None,
        Option(
            metavar=formats.metavar("rows"),
            help="Format; default: a table on a terminal, else json.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        Option(metavar="SIZE", bounds=bounds.MEMORY, help="Memory limit of a query, as 2GiB."),
    ] = None,
    dialect: Dialect = None,
    threads: Threads = None,
) -> None:
    r"""Run statements one after the other, typed or from a pipe.

    On a terminal it has a history, completion (Tab) and lines of any number; a statement ends with
    a semicolon. \? or help lists commands such as \d and \x; exit leaves.
    """
    from sdb.cli.shell.conversation import Session, Settings
    from sdb.query.analyze.dialects import check
    from sdb.query.exec.columncache import keep_columns

    output.prepare()
    query.allow_many_files()
    form, _ = query.form(fmt, "-")
    if form not in formats.TEXTS:
        raise UsageError(f"the shell shows text, not {form}", hint="sdb query -o FILE")
    check(dialect)
    limit = None if memory is None else bounds.MEMORY.read(memory)
    keep_columns()
    session = Session(Settings(context.root, threads, limit, dialect), form)
    if sys.stdin is not None and sys.stdin.isatty():
        _converse(session)
    else:
        _read(session)
    session.close()


def _read(session: Session) -> None:
    """Run what comes on standard input; the first error ends it."""
    from sdb.cli.shell.suggestions import command as shell_command
    from sdb.packfile.inputs.streams import standard_input
    from sdb.query.syntax.lexer import split

    text = ""
    for line in standard_input():
        try:
            text += line.decode()
        except UnicodeDecodeError:
            raise UsageError("standard input is not UTF-8") from None
        if (typed := shell_command(text)) or not text.strip():
            complete, text = [typed] if typed else [], ""
        else:
            complete, text = split(text)
            text += "\n" if text else ""
        for statement in complete:
            if not session.run(statement):
                return
    if text.strip():
        session.run(text.strip())


def _converse(session: Session) -> None:
    """Run what is typed, until Ctrl-D; errors are shown, and Ctrl-C stops what goes on."""
    from sdb.cli.failures import failed
    from sdb.cli.shell.prompt import editor
    from sdb.cli.shell.suggestions import command as shell_command
    from sdb.query.syntax.lexer import split

    edit = editor(session.suggestions)
    output.say("sdb shell: queries end with ;  Tab completes, \\? helps, Ctrl-D leaves")
    while True:
        try:
            text = edit.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        typed = shell_command(text)
        complete, rest = ([typed], "") if typed else split(text)
        for statement in [*complete, *([rest] if rest else [])]:
            try:
                if not session.run(statement):
                    return
            except KeyboardInterrupt:
                output.say("stopped", to=sys.stderr)
                break
            except Exception as error:  # noqa: BLE001 - shown, and the session goes on
                failed(error)
                break
