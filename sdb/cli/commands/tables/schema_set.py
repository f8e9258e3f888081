"""`sdb schema set`."""

from __future__ import annotations

from sdb.cli.options import AsJson, Branch, Message, NextWord, TableVersion
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.render.schemas import say_changed
from sdb.cli.servers import server_table
from sdb.cli.tablenames import author, branch_of, joined_table
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    "sdb schema set --root lake web.gha columns.json",
    "sdb schema set --root lake web.gha --mode reject",
)


@record
class _Setting(Together):
    """Changes that need no file."""

    mode: Annotated[
        str,
        Option(
            "--mode",
            metavar="MODE",
            help="What becomes of rows that depart: observe, quarantine or reject.",
        ),
    ] = ""
    remove: Annotated[bool, Option("--remove", help="Take the schema away.")] = False


SETTING = _Setting()


def command(
    context: TableContext,
    name: TableVersion,
    file: Annotated[
        str | None, Argument(metavar="[FILE]", help="JSON of the schema; - is a pipe.")
    ] = None,
    last: NextWord = None,
    setting: _Setting = SETTING,
    message: Message = "",
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Set the schema of a table, or only what becomes of rows that depart.

    Columns with an id are those that have it; without one, those of their names, or new. A column
    that the file does not have is dropped. Rows stay as they are.
    """
    from sdb.statements.schemasetting import read_schema, set_mode, set_schema
    from sdb.table.format.keys import TableKeys

    name, words = joined_table(name, file, last)
    database, table, branch = branch_of(name, branch)
    if not words and not setting.mode and not setting.remove:
        raise UsageError("no schema to set", expected="FILE, --mode or --remove")
    if setting.remove and (words or setting.mode):
        raise UsageError("--remove goes with nothing to set")
    keys = TableKeys(database, table)
    schema = _text(words[0]) if words else None
    labels: dict[str, Any] = {"author": author(), "message": message}
    remote = server_table(context, keys.name if branch == "main" else f"{keys.name}@{branch}")
    if remote is not None:
        wished = read_schema(schema) if words or setting.remove else remote.schema
        if wished is None and not setting.remove:
            raise UsageError(f"{keys.name} has no schema")
        done = remote.set_schema(wished, mode=setting.mode, **labels)
    elif words or setting.remove:
        location = table_root(context)
        done = set_schema(location, keys, schema, mode=setting.mode, branch=branch, **labels)
    else:
        done = set_mode(table_root(context), keys, setting.mode, branch=branch, **labels)
    say_changed(keys.name, done, as_json=as_json)


def _text(file: str) -> bytes:
    import sys

    from sdb.cli.values import content

    return sys.stdin.buffer.read() if file == "-" else content(file) or b""
