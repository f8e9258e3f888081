"""`sdb create`."""

from __future__ import annotations

import shlex
import sys

from sdb.cli import output
from sdb.cli.inputoptions import PATTERN_READING, PatternReading
from sdb.cli.options import (
    AsJson,
    NextWord,
    TableName,
)
from sdb.cli.parameters import Argument, InputContext, Option, Together
from sdb.cli.tablenames import table_of
from sdb.cli.values import content, table_root
from sdb.errors import InputError, UsageError
from sdb.records import record, replace
from sdb.times import ALL
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.definition.timespan import Retention

EXAMPLES = (
    "sdb create --root lake web.visits --input 'in/*.json.gz'",
    "sdb create --root lake web.logs --input 'logs/*' --retention 30d",
    "sdb def --root lake web.gha | sdb create --root lake web copy /dev/stdin",
)


@record
class TakenInputs(Together):
    """Inputs that a new table takes, and how long it keeps their rows."""

    patterns: Annotated[
        list[str] | None,
        Option(
            "--input",
            metavar="PATTERN",
            help="Take the inputs that match, without a definition file. Repeatable.",
        ),
    ] = None
    retention: Annotated[
        str | None,
        Option(
            "--retention",
            metavar="[FIELD:]TIME",
            help="With --input: keep rows for this long, as 30d, by the time in FIELD, default"
            " `time`; sdb maintain takes the inputs, too.",
        ),
    ] = None


TAKEN = TakenInputs()


def command(
    context: InputContext,
    name: TableName,
    definition: Annotated[
        str | None, Argument(metavar="DEFINITION.json", help="File that says what it takes.")
    ] = None,
    last: NextWord = None,
    taken: TakenInputs = TAKEN,
    reading: PatternReading = PATTERN_READING,
    force: Annotated[
        bool, Option("--force", help="Replace the definition of an existing table.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a table: check its definition, and store it.

    Rows come with sync or insert: what a sync would find now is reported. All that is wrong with
    a definition is reported at once.
    """
    from sdb.table.definition.create import create_table
    from sdb.table.definition.upkeep import UpkeepPolicy
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.retained import warn_of_flaw

    patterns, retention = taken.patterns, taken.retention
    location = table_root(context)
    words = [word for word in (definition, last) if word is not None]
    # With a dot in it the first of two words is the table, and the second its definition.
    is_one_word = not words or (len(words) == 1 and "." in name)
    database, table = table_of(name, None if is_one_word else words.pop(0))
    definition = words[0] if words else None
    if (definition is None) == (not patterns):
        what = "a definition is needed" if definition is None else "there are two definitions"
        hint = "a file, or --input PATTERN"
        if definition is None and is_one_word:
            from sdb.query.syntax.printer import name as quoted

            named = f"--root {shlex.quote(context.own)} " if context.own else ""
            statement = shlex.quote(f"CREATE TABLE {quoted(database)}.{quoted(table)}")
            hint += f"; for rows of insert alone, sdb exec {named}{statement}"
        raise UsageError(f"{database}.{table}: {what}", hint=hint)
    chosen = chosen_definition(location, definition, patterns, reading)
    if retention is not None:
        if definition is not None:
            what = "a definition says by itself how long rows are kept"
            raise UsageError(what, hint="retention_policy in it; --retention goes with --input")
        chosen = replace(chosen, retention=_retention(retention), upkeep=UpkeepPolicy(sync=True))
    stored = create_table(location, database, table, chosen, overwrite=force)
    warn_of_flaw(location, TableKeys(database, table), stored)
    from sdb.cli.render.fitting import fitting, say_fitting

    if as_json:
        import json

        facts = {"database": database, "table": table, "definition": json.loads(stored.stored())}
        output.say_json(facts)
    elif not output.is_quiet():
        patterns = [rule.pattern for rule in stored.inputs]
        if stored.hive and definition is None:
            text = "folders like NAME=VALUE are fields of its rows (hive in its definition)"
            output.say(output.plain(f"{database}.{table}: {text}"), to=sys.stderr)
        if retention is not None and stored.retention is not None:
            span, field = stored.retention.valid_for, stored.retention.field
            text = f"sdb maintain takes its inputs, and rows whose {field} is older than {span} go"
            guess = "" if ":" in retention else f"; --retention FIELD:{span} names another field"
            output.say(output.plain(f"{database}.{table}: {text}{guess}"), to=sys.stderr)
        named = f"--root {shlex.quote(context.own)} " if context.own else ""
        say_fitting(location, f"{database}.{table}", fitting(location, patterns), named)


def _retention(text: str) -> Retention:
    """Read how long rows are kept, by which time: as in ``30d`` or ``created_at:1y``."""
    from sdb.table.definition.timespan import CalendarSpan, Retention

    field, _, span = text.rpartition(":")
    try:
        return Retention(field or "time", CalendarSpan.parse(span))
    except InputError as error:
        raise UsageError(f"--retention {text[:80]!r}: {error.message}", expected="30d") from None


def chosen_definition(
    root: TableRoot, file: str | None, patterns: list[str] | None, reading: PatternReading
) -> Definition:
    """Return the definition that is in a file, or that options make of patterns."""
    from sdb.table.definition.create import definition_of

    fmt, read, on_error = reading.form.named(), reading.times(), reading.on_error
    if file is None:
        action = "" if on_error == "fail" else on_error
        return definition_of(patterns or [], root, format=fmt or "", times=read, on_error=action)
    if fmt or read != ALL or on_error != "fail":
        raise says_itself()
    return definition_in(file)


def says_itself() -> UsageError:
    """Return the error for options of inputs beside a file that has a definition."""
    message = "a definition says by itself how its inputs are read"
    hint = "--format, --records, --times and --on-error go with --input PATTERN"
    return UsageError(message, hint=hint)


def definition_in(file: str) -> Definition:
    """Return the definition that is in a file."""
    from sdb.table.definition.definition import Definition

    try:
        return Definition.parse((content(file) or b"").decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 at byte {error.start:,}") from None
    except InputError as error:
        raise error.within(file, path=file) from None
