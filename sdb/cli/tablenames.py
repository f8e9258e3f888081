"""Tables as commands name them, and who is at work on them."""

from __future__ import annotations

import os

from sdb.cli.options import table_root
from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.parameters import Context
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot


def named_table(name: str) -> tuple[str, str, str]:
    """Split ``DB.TABLE[@REF]`` into the database, the table and the reference, which may be empty.

    Raises
    ------
    UsageError
        It has another form.
    """
    from sdb.table.format.versionref import split_reference

    table, reference = split_reference(name)
    database, dot, table = table.partition(".")
    if not dot:
        raise UsageError(f"{name} is no table", expected="DB.TABLE, or DB.TABLE@REF for a version")
    return database, table, reference


def table_of(name: str, rest: str | None) -> tuple[str, str]:
    """Give the database and the table that ``DB.TABLE`` or ``DB TABLE`` name.

    Raises
    ------
    UsageError
        They have another form.
    """
    if rest is not None:
        return name, rest
    database, table, reference = named_table(name)
    if reference:
        raise UsageError(f"{name} is a version of a table", expected="DB.TABLE")
    return database, table


def opened_table(context: Context, root: str | None, name: str) -> TableHandle:
    """Open the table that ``DB.TABLE[@REF]`` names."""
    from sdb.table.catalog.handle import open_table

    database, table, reference = named_table(name)
    return open_table(table_root(context, root), database, table, at=reference)


def tell_pending(handle: TableHandle) -> None:
    """Write a line to standard error if a transaction under way may change a table."""
    if handle.joint is None or not handle.joint.is_pending:
        return
    import sys

    from sdb.cli import output

    key = handle.joint.state.transaction
    text = f"sdb: {handle.name}: the transaction {key} is under way, and does not count yet"
    output.say(output.plain(text), to=sys.stderr)


def named_versions(root: TableRoot, database: str, table: str, kind: str, *, as_json: bool) -> None:
    """List the tags or the branches of a table."""
    from sdb.cli import output
    from sdb.table.catalog.handle import open_table
    from sdb.table.catalog.refs import refs

    found = [one for one in refs(open_table(root, database, table)) if one.kind == kind]
    if as_json:
        output.say_json({"table": f"{database}.{table}", kind: [one.as_dict() for one in found]})
        return
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        version = "-" if one.version is None else str(one.version)
        output.say(output.plain(f"{one.name:{width}}  {version:>6}  {one.at}"))


def author() -> str:
    """Give who is at work: ``SDB_AUTHOR``, or the name of the user."""
    return os.environ.get("SDB_AUTHOR") or os.environ.get("LOGNAME") or os.environ.get("USER") or ""


def partition_values(assignments: list[str]) -> dict[str, object]:
    """Read values of partition fields, ``FIELD=VALUE`` each.

    Raises
    ------
    UsageError
        One has another form, or a field has two.
    """
    values: dict[str, object] = {}
    for one in assignments:
        field, mark, value = one.partition("=")
        if not mark or field in values:
            flaw = "the field has two values" if mark else "no value"
            raise UsageError(f"--partition {one}: {flaw}", expected="FIELD=VALUE, one for a field")
        values[field] = value
    return values
