"""Shows schemas, their differences, and rows that depart from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sdb import sizes
from sdb.cli import output
from sdb.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.commit.schemas import ChangedSchema
    from sdb.table.packfiles.schemas import DepartureCount
    from sdb.table.schema.columns import TableSchema


def say_schema(name: str, schema: TableSchema | None, *, is_compact: bool) -> None:
    """Print a schema as JSON. Raises `NotFoundError` if the table has none."""
    if schema is None:
        hint = f"sdb schema infer {name} prints one that all rows conform to"
        raise NotFoundError(f"{name} has no schema", hint=hint)
    members = schema.as_dict()
    if is_compact:
        output.say_json(members)
    else:
        text = json.dumps(members, indent=2, ensure_ascii=False)
        output.say(output.plain(text))


def say_changed(name: str, done: ChangedSchema, *, as_json: bool) -> None:
    """Report a change of the schema of a table."""
    if as_json:
        schema = None if done.schema is None else done.schema.as_dict()
        output.say_json({"version": done.version, "new": done.is_new, "schema": schema})
        return
    if not done.is_new:
        text = f"{name} has that schema already: version {done.version}"
    elif done.schema is None:
        text = f"{name} has no schema any more: version {done.version}"
    else:
        columns = sizes.counted(len(done.schema.columns), "column")
        text = f"{name} has a schema of {columns}, mode {done.schema.mode}: version {done.version}"
    output.note(text)


def departure_lines(handle: TableHandle, counts: Sequence[DepartureCount]) -> Iterator[str]:
    """Yield a line for each way in which rows depart."""
    if not counts:
        yield f"all rows of {handle.name} conform"
    for count in counts:
        example = f", as {count.example}" if count.example else ""
        where = f"row {count.row:,} of {count.packfile.rpartition('/')[2]}"
        rows = sizes.counted(count.rows, "row")
        yield f"{count.column}: {count.reason}: {rows}{example}; {where}"
