"""`sdb alter`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.commands.tables.create import definition_in, says_itself
from sdb.cli.inputoptions import CHANGED, ChangedReading
from sdb.cli.options import (
    AsJson,
    DryRun,
    NextWord,
    TableName,
)
from sdb.cli.parameters import Argument, InputContext, Option, Together
from sdb.cli.tablenames import joined_table, table_of
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.definition.alter import Altered
    from sdb.table.definition.definition import Definition

EXAMPLES = (
    "sdb alter --root lake web.gha --set description='events of GitHub' --dry-run",
    "sdb alter --root lake web.gha --set versions.keep_last=20",
    "sdb alter --root lake web.gha --input 'more/*.json.gz' --on-error skip",
    "sdb alter --root lake web.gha --time-field at:unix_ms",
)


@record
class _Edit(Together):
    """The members of the definition that change."""

    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="MEMBER=VALUE",
            help="Set a member: text or JSON; retention_policy.valid_for=30d. Repeatable.",
        ),
    ] = None
    unset: Annotated[
        list[str] | None,
        Option("--unset", metavar="MEMBER", help="Remove a member. Repeatable."),
    ] = None
    patterns: Annotated[
        list[str] | None,
        Option(
            "--input",
            metavar="PATTERN",
            help="Take the inputs that match, too, or read them in another way. Repeatable.",
        ),
    ] = None
    without: Annotated[
        list[str] | None,
        Option("--drop-input", metavar="PATTERN", help="Take these no longer. Repeatable."),
    ] = None


EDIT = _Edit()


def command(
    context: InputContext,
    name: TableName,
    definition: Annotated[
        str | None, Argument(metavar="[DEFINITION.json]", help="File to take all of it from.")
    ] = None,
    last: NextWord = None,
    edit: _Edit = EDIT,
    reading: ChangedReading = CHANGED,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Change the definition of a table: its inputs, retention ...

    What is not named stays. Options that say how inputs are read, such as --on-error, are for
    those of --input, or for all. All that is wrong is reported at once, and nothing changes then.
    Rows stay as they are: sync, expire and maintain go by the new definition. sdb def shows it.
    """
    from sdb.table.definition.alter import NOTHING, alter_table, with_inputs, with_members
    from sdb.table.definition.create import definition_of
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.retained import warn_of_flaw

    location = table_root(context)
    name, words = joined_table(name, definition, last)
    file = words[0] if words else None
    keys = TableKeys(*table_of(name, None))
    read = reading.change()
    if not (
        file or edit.patterns or edit.without or edit.settings or edit.unset or read != NOTHING
    ):
        raise UsageError("nothing to alter", expected="--set, --unset, --input or a file")
    if file is not None and edit.patterns:
        raise UsageError(f"{keys.name}: there are two definitions", hint="a file, or --input")
    if file is not None and read != NOTHING:
        raise says_itself()
    chosen = definition_of(edit.patterns or (), location) if file is None else definition_in(file)

    def change(old: Definition) -> Definition:
        new = with_inputs(old, chosen, edit.without or (), read) if file is None else chosen
        return with_members(new, edit.settings or (), edit.unset or ())

    altered = alter_table(location, keys, change, is_dry=dry_run)
    if not dry_run:
        warn_of_flaw(location, keys, altered.after)
    if as_json:
        import json

        changed = {"changed": altered.members, "definition": json.loads(altered.after.shown())}
        output.say_json({"table": keys.name, "new": altered.is_new, **changed})
        return
    for line in _difference(altered) if dry_run else ():
        output.say(output.plain(line))
    verb = "would change" if dry_run else "changed"
    text = f"{verb} {', '.join(altered.members)}" if altered.is_new else "nothing to change"
    output.note(f"{keys.name}: {text}")


def _difference(altered: Altered) -> list[str]:
    """Return the lines of the definition that differ, with - and +."""
    from difflib import unified_diff

    old, new = (each.shown().splitlines() for each in (altered.before, altered.after))
    return list(unified_diff(old, new, n=1, lineterm=""))[2:]
