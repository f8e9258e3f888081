"""`sdb schema infer`."""

from __future__ import annotations

from sdb.cli.options import AsJson, At, Message, NextWord, TableVersion
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render.schemas import say_changed, say_schema
from sdb.cli.tablenames import author, joined_table, named_table, opened_table
from sdb.errors import ExistsError
from sdb.typed import Annotated

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
    from sdb.table.packfiles.schemas import inferred

    name, _ = joined_table(name, last, at=at)
    handle = opened_table(context, name)
    if is_set and handle.schema is not None:
        hint = "sdb schema set takes the place of one; set it from what infer prints"
        raise ExistsError(f"{handle.name} has a schema already", hint=hint)
    schema = inferred(handle)
    if not is_set:
        say_schema(handle, schema, is_compact=as_json)
        return
    from sdb.statements.schemasetting import set_schema

    done = set_schema(
        handle.root,
        handle.keys,
        schema,
        mode=mode,
        branch=named_table(name)[2] or "main",
        author=author(),
        message=message or "infer the schema",
    )
    say_changed(handle.name, done, as_json=as_json)
