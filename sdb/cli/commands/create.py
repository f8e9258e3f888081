"""`sdb create`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AllowInputs, AsJson, Database, Root, Table, content, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.errors import InputError, UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb create --root lake web visits --input 'in/*.json.gz'",
    "sdb def --root lake web gha | sdb create --root lake web copy /dev/stdin",
)


def command(
    context: Context,
    database: Database,
    table: Table,
    definition: Annotated[
        str | None, Argument(metavar="DEFINITION.json", help="What the table takes.")
    ] = None,
    patterns: Annotated[
        list[str] | None,
        Option("--input", metavar="PATTERN", help="Take what this finds, instead of a file."),
    ] = None,
    allow_inputs: AllowInputs = None,
    root: Root = None,
    force: Annotated[
        bool, Option("--force", help="Replace the definition of a table that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a table: check its definition, and store it.

    Rows come with sync or insert. All that is wrong is told at once.
    """
    from sdb.table.definition.create import create_table, definition_of
    from sdb.table.definition.definition import Definition

    place = table_root(context, root, allow_inputs)
    if (definition is None) == (not patterns):
        raise UsageError("a definition is needed", hint="a file, or --input PATTERN")
    if definition is None:
        found = definition_of(patterns or [], is_remote=place.store.is_remote)
    else:
        try:
            found = Definition.parse((content(definition) or b"").decode())
        except UnicodeDecodeError as error:
            raise InputError(f"{definition} is not UTF-8 at byte {error.start:,}") from None
        except InputError as error:
            raise error.within(definition, path=definition) from None
    stored = create_table(place, database, table, found, overwrite=force)
    if as_json:
        import json

        facts = {"database": database, "table": table, "definition": json.loads(stored.stored())}
        output.say_json(facts)
