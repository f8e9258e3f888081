"""`sdb status`."""

from __future__ import annotations

from sdb import sizes
from sdb.cli import output
from sdb.cli.options import AnyDatabase, AsJson, TablePattern
from sdb.cli.parameters import Option, TableContext
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.tablenames import database_and_pattern
from sdb.cli.values import table_root
from sdb.typed import Annotated

EXAMPLES = ("sdb status --root lake", "sdb status --json --exact --root lake web.gha")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.format.keys import TableKeys
    from sdb.table.upkeep.status import TableStatus


def command(
    context: TableContext,
    database: AnyDatabase = None,
    pattern: TablePattern = None,
    exact: Annotated[
        bool, Option("--exact", help="Count unneeded objects exactly, however many versions.")
    ] = False,
    inputs: Annotated[
        bool, Option("--inputs", help="Also list the inputs, to find those that wait.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what each table needs, and which command mends it.

    Only metadata is read. The exit code is 1 if a table needs something.
    """
    from sdb.cli.render.tables import databases_of
    from sdb.errors import SdbError
    from sdb.packfile.read.ahead import in_order
    from sdb.table.upkeep.maintain import TableChoice
    from sdb.table.upkeep.status import table_status

    server = server_of(context)
    if server is not None:
        refuse_options(exact=exact, inputs=inputs)
        return _say(server.status(".".join(filter(None, (database, pattern)))), as_json=as_json)
    location = table_root(context)
    databases_of(location, None)  # which checks that the root is there
    chosen = TableChoice()
    if database is not None:
        chosen = TableChoice(*database_and_pattern(location, database, pattern)).check(location)
    statuses: list[TableStatus] = []
    failure: SdbError | None = None
    tables = list(chosen.tables(location))

    def read(keys: TableKeys) -> TableStatus | SdbError:
        try:
            return table_status(location, keys, exact=exact, with_inputs=inputs)
        except SdbError as error:
            return error

    read_each = in_order(read, tables, is_remote=location.store.is_remote)
    for keys, status in zip(tables, read_each, strict=True):
        if isinstance(status, SdbError):
            failure = failure or status
            output.complain(f"{keys.database}.{keys.table}: {status.message}", status.hint)
            continue
        statuses.append(status)
    code = _say(statuses, as_json=as_json)
    return code if failure is None else failure.exit_code


def _say(statuses: list[TableStatus], *, as_json: bool) -> int:
    for status in () if as_json else statuses:
        for line in _lines(status):
            output.say(output.plain(line))
    if as_json:
        output.say_json({"tables": [status.as_dict() for status in statuses]})
    return int(any(status.needs for status in statuses))


def _lines(status: TableStatus) -> Iterator[str]:
    facts = status.facts
    if facts.get("version") is None:
        yield f"{status.table}:"
    else:
        at = str(facts["at"]).partition(".")[0].rstrip("Z")
        end = "" if status.needs else "; nothing to do"
        yield f"{status.table}: version {facts['version']:,} of {at}Z{end}"
        size, stored = (sizes.human(_number(facts[name])) for name in ("bytes", "stored_bytes"))
        counts = _counted(facts["packfiles"], "packfile"), _counted(facts["versions"], "version")
        yield f"  {counts[0]} of {size}, {counts[1]}; {stored} with all versions"
    for need in status.needs:
        yield f"  {need.command}"
        yield f"      {need.text}"
    for note in status.notes:
        yield f"  note: {note}"


def _counted(value: object, noun: str) -> str:
    count = _number(value)
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
