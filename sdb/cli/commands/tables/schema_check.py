"""`sdb schema check`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, At, NextWord, ProgressMode, TableVersion
from sdb.cli.parameters import Option, TableContext
from sdb.cli.tablenames import joined_table, opened_table
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb schema check --root lake web.gha",
    "sdb schema check --root lake web.gha --schema columns.json",
)


def command(
    context: TableContext,
    name: TableVersion,
    last: NextWord = None,
    schema_file: Annotated[
        str | None,
        Option("--schema", metavar="FILE", help="Check by this schema, not by that of the table."),
    ] = None,
    at: At = "",
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
) -> int:
    """Count the rows that depart from the schema, by column and reason.

    The exit code is 1 if rows depart.
    """
    from sdb.table.packfiles.schemas import departures_of
    from sdb.table.schema import adopt
    from sdb.table.schema.columns import TableSchema

    name, _ = joined_table(name, last, at=at)
    handle = opened_table(context, name)
    schema = handle.schema
    if schema_file is not None:
        from sdb.cli.values import content

        wished = TableSchema.loads(content(schema_file) or b"")
        schema = adopt.first(wished) if schema is None else adopt.adopted(schema, wished)
    if schema is None:
        hint = f"sdb schema infer --set {handle.name} begins one, or --schema FILE"
        raise UsageError(f"{handle.name} has no schema", hint=hint)
    with Meter("checking", progress) as meter:
        counts = departures_of(handle, schema, progress=meter)
    if as_json:
        output.say_json({"departures": [count.as_dict() for count in counts]})
    elif not output.is_quiet():
        from sdb.cli.render.schemas import departure_lines

        for line in departure_lines(handle, counts):
            output.say(output.plain(line))
    return 1 if counts else 0
