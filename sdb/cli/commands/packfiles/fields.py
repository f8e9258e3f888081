"""`sdb fields`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.inputoptions import RAW, RawInput
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import REPORT, ReportOptions
from sdb.cli.options import (
    At,
    PackfilesOrTables,
    Threads,
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.tablenames import Sources, at_version
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.read.fields import Inventory
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.table.schema.fieldmarks import FieldMark

EXAMPLES = (
    "sdb fields events.zion",
    "sdb fields --root lake web.gha",
    "sdb fields --match 'payload.*' events.zion",
    "sdb fields --stats events.zion",
)


def command(
    context: TableContext,
    packfiles: PackfilesOrTables,
    match: Annotated[
        str | None,
        Option(
            metavar="PATTERN", help="Only fields whose name matches; * is any text: 'items[].*'."
        ),
    ] = None,
    stats: Annotated[
        bool,
        Option(
            "--stats",
            help="Read all rows: distinct, frequent, smallest and largest values, nulls, and the"
            " compressed size of each field.",
        ),
    ] = False,
    raw: RawInput = RAW,
    at: At = "",
    threads: Threads = None,
    report: ReportOptions = REPORT,
) -> None:
    """List the fields of packfiles and tables, with types and rows.

    Only the end of each file is read, unless --stats is given. Several files are taken together.
    """
    _, reading = raw.reading()
    with Sources(context, reading=reading) as sources:
        references = sources.resolve(at_version(packfiles, at))
        if stats:
            sources.tell_stored("--stats is of")
            _print_stats(references, match, threads, report)
        else:
            _print_fields(references, match, sources, as_json=report.as_json)


def _print_fields(
    references: list[PackfileReference], match: str | None, sources: Sources, *, as_json: bool
) -> None:
    from sdb import notes
    from sdb.packfile.inspect.describe import fields
    from sdb.packfile.read.fields import as_facts

    inventory = fields(references, match=match)
    for name in inventory.silent:
        notes.warn(
            f"{name} does not tell its fields; sdb pack -o NEW.zion {name} makes one that does"
        )
    marks = _marks(sources, inventory)
    output.tell_likely_times(references)
    if as_json:
        facts = as_facts(inventory)
        for field, listed in zip(inventory.fields, facts["fields"], strict=True):  # type: ignore[call-overload]
            if (mark := marks.get(field.path)) is not None:
                listed |= {"column": mark.column or None, "departs": mark.departs or None}
        output.say_json(facts)
        return
    from sdb.view.fieldlist import draw

    is_nested = match is None
    text = draw(
        inventory, columns=output.columns(), is_nested=is_nested, can_draw=output.can_draw()
    )
    output.say(output.plain(text.removesuffix("\n")))
    for field in inventory.fields:
        if (mark := marks.get(field.path)) is not None:
            if mark.departs:
                output.say(output.plain(f"! {field.name}: {mark.departs}"))
            elif mark.column not in {"", field.name.replace("[]", "")}:
                output.say(output.plain(f"  {field.name} is the column {mark.column}"))


def _marks(sources: Sources, inventory: Inventory) -> dict[FieldPath, FieldMark]:
    """Return what the schema of the only table says of its fields; nothing where it has none."""
    if not sources.schemas:
        return {}
    schemas = list(sources.schemas.values())
    if len(schemas) > 1:
        sources.tell_stored("fields of several tables are those of")
        return {}
    from sdb.table.schema.fieldmarks import field_marks

    return field_marks(schemas[0], inventory.fields)


def _print_stats(
    references: list[PackfileReference],
    match: str | None,
    threads: int | None,
    report: ReportOptions,
) -> None:
    from sdb.packfile.inspect.fieldreport import as_facts, field_stats

    with Meter("reading", report.progress) as meter:
        stats = field_stats(references, match=match, threads=threads, progress=meter)
    if report.as_json:
        output.say_json(as_facts(stats))
        return
    from sdb.view.statlist import draw

    width, can_draw = output.columns(), output.can_draw()
    text = draw(stats, columns=width, is_nested=match is None, can_draw=can_draw)
    output.say(output.plain(text.removesuffix("\n")))
