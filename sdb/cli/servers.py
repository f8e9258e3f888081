"""Commands on the tables of a server: `--root http://host:7373`, with the token of `SDB_TOKEN`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb.errors import UnsupportedError
from sdb.store.url import is_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.cli.parameters import Context
    from sdb.client.remote.connection import RemoteConnection
    from sdb.client.remote.table import RemoteTable


def server_of(context: Context) -> RemoteConnection | None:
    """Return the server that is the root; None: the root is a folder or bucket."""
    url = context.root
    if not is_server(url):
        return None
    from sdb.client.remote.connection import RemoteConnection
    from sdb.client.remote.transport import Transport

    return RemoteConnection(Transport(url))


def server_table(context: Context, name: str) -> RemoteTable | None:
    """Return the table of a server, ``DB.TABLE[@REF]``; None: the root is no server."""
    server = server_of(context)
    return None if server is None else server.table(name)


def refuse_options(**options: object) -> None:
    """Check that nothing is asked for that a server does not do.

    * ``options``: Values of options by their names; those that change nothing are empty.

    Raises `UnsupportedError` if one is not empty.
    """
    for name, value in options.items():
        if value:
            raise UnsupportedError(
                f"--{name.replace('_', '-')} cannot be used through a server",
                hint="run it where the folder or bucket is",
            )


def list_server(
    server: RemoteConnection, database: str | None, pattern: str | None, *, as_json: bool
) -> int:
    """Print the facts of the tables that the token may read; see `sdb ls`."""
    from sdb.cli import output

    listed = [
        facts for facts in server.tables(database) if fnmatchcase(facts.table, pattern or "*")
    ]
    if as_json:
        tables: list[Any] = [facts.as_dict() for facts in listed]
        output.say_json({"root": server.transport.url, "tables": tables})
    elif listed:
        from sdb.view.tablelist import tables as drawn

        output.say(output.plain(drawn(listed, columns=output.columns()).removesuffix("\n")))
    return 0
