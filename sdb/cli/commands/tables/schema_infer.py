"""`sdb schema infer`."""

from __future__ import annotations

from sdb.cli.options import AsJson, At, Message, NextWord, TableVersion
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render.schemas import say_changed, say_schema
from sdb.cli.servers import server_table
from sdb.cli.tablenames import author, joined_table, named_table, opened_table
from sdb.errors import ExistsError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.client.options import SchemaOptions

EXAMPLES = (
    "sdb schema infer --root lake web.gha",
    "sdb schema infer --root lake --set --mode reject web.gha",
)


def command(
    context: TableContext,
    name: TableVersion,
    last: NextWord = None,
    is_set: Annotated[
        bool, Option("--set", help="Store it as the schema of the table, which has none.")
    ] = False,
    mode: Annotated[
        str,
        Option(
            "--mode",
            metavar="MODE",
            help="With --set: observe, quarantine or reject rows that depart.",
        ),
    ] = "",
    message: Message = "",
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Print a schema that all rows of a table conform to, as JSON.

    All rows are read. Values of several types at one path become a column of the type variant.
    """
    from sdb.statements.schemasetting import set_schema
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.packfiles.schemas import inferred

    name, _ = joined_table(name, last, at=at)
    table = server_table(context, name) or opened_table(context, name)
    if is_set and table.schema is not None:
        hint = "sdb schema set takes the place of one; set it from what infer prints"
        raise ExistsError(f"{table.name} has a schema already", hint=hint)
    schema = inferred(table) if isinstance(table, TableHandle) else table.infer_schema()
    if not is_set:
        say_schema(table.name, schema, is_compact=as_json)
        return
    labels: SchemaOptions = {
        "mode": mode,
        "author": author(),
        "message": message or "infer the schema",
    }
    if isinstance(table, TableHandle):
        branch = named_table(name)[2] or "main"
        done = set_schema(table.root, table.keys, schema, branch=branch, **labels)
    else:
        done = table.set_schema(schema, **labels)
    say_changed(table.name, done, as_json=as_json)
