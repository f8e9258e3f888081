"""`sdb query-store`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Dialect
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb query-store put --param n:integer old 'SELECT * FROM t WHERE id < $n'",
    "sdb query-store list --root lake",
    "sdb query-store drop old",
)

_ACTIONS = ("put", "list", "drop")


@record
class _Stored(Together):
    """Facts that are stored with the query."""

    param: Annotated[
        list[str] | None,
        Option(
            metavar="NAME:TYPE[=VALUE]",
            help="A parameter, $NAME in the query: text, integer, number, boolean, time or list.",
        ),
    ] = None
    description: Annotated[str, Option(metavar="TEXT", help="What the query is for.")] = ""
    replace: Annotated[bool, Option("--replace", help="Replace a query of the same name.")] = False
    dialect: Dialect = None


STORED = _Stored()


def command(
    context: TableContext,
    action: Annotated[
        str, Argument(metavar="put|list|drop", help="Store, list or delete queries.")
    ],
    name: Annotated[str | None, Argument(metavar="NAME", help="The name of the query.")] = None,
    sql: Annotated[str | None, Argument(metavar="QUERY", help="A SELECT.")] = None,
    stored: _Stored = STORED,
    as_json: AsJson = False,
) -> None:
    """Store queries that sdb serve answers by their names.

    They are at /v1/queries/NAME.csv?type=..., for tokens with the right query:NAME, whatever
    tables they read.
    """
    from sdb.query.run.storedquery import checked
    from sdb.table.catalog import storedqueries

    if action not in _ACTIONS:
        raise UsageError(f"unknown action {action!r}", expected=", ".join(_ACTIONS))
    location = table_root(context)
    if action == "list":
        _list(list(storedqueries.queries(location)), as_json=as_json)
        return
    if name is None:
        raise UsageError(f"the name of the query is missing: sdb query-store {action} NAME")
    if action == "drop":
        storedqueries.drop(location, name)
        return
    if sql is None:
        raise UsageError("the query is missing: sdb query-store put NAME 'SELECT ...'")
    params = tuple([storedqueries.param(text) for text in stored.param or []])
    query = checked(
        storedqueries.StoredQuery(name, sql, params, stored.description), stored.dialect
    )
    storedqueries.put(location, query, replace=stored.replace)
    if as_json:
        output.say_json(query.as_dict())


def _list(listed: list, *, as_json: bool) -> None:  # type: ignore[type-arg]
    from sdb.view.facts import table

    if as_json:
        output.say_json([query.as_dict() for query in listed])
    elif listed:
        rows = [
            [
                query.name,
                " ".join(each.text for each in query.params),
                query.dialect,
                " ".join(query.text.split()),
            ]
            for query in listed
        ]
        heads = ["name", "parameters", "dialect", "query"]
        output.say(output.plain(table(heads, rows, columns=1 << 16)))
