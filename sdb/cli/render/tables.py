"""List tables: those with rows, those without any yet, and those that were dropped."""

from __future__ import annotations

from sdb.cli import output
from sdb.errors import CorruptError, NotFoundError, SdbError, UnsupportedError
from sdb.packfile.read.ahead import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.inspect.describe import TableFacts


def databases_of(root: TableRoot, database: str | None) -> list[str]:
    """Return the databases to list: one, or all.

    Raises `NotFoundError` if the root has no tables, or not this database; the hint tells what is
    near.
    """
    from difflib import get_close_matches

    from sdb.table.catalog.nearroots import check_root

    check_root(root)
    known = root.databases()
    if database is None:
        return known
    if database not in known:
        near = get_close_matches(database, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known[:8])}"
        raise NotFoundError(f"there is no database {database} below {root.location}", hint=hint)
    return [database]


def list_tables(
    root: TableRoot, names: Iterable[tuple[str, str]], *, dropped: bool, as_json: bool
) -> int:
    """Print the facts of tables; a damaged one is reported on standard error.

    * ``names``: Folders of tables, by database and name.
    * ``dropped``: Whether to list those that were dropped, instead of the others.

    Returns: The exit code.
    """

    def read(name: tuple[str, str]) -> TableFacts | SdbError | None:
        try:
            return _facts(root, *name, dropped=dropped)
        except (CorruptError, UnsupportedError) as error:
            return error

    listed, code, folders = [], 0, list(names)
    for name, facts in zip(
        folders, in_order(read, folders, is_remote=root.store.is_remote), strict=True
    ):
        if isinstance(facts, SdbError):
            output.complain(f"{'.'.join(name)}: {facts.message}", facts.hint)
            code = facts.exit_code
        elif facts is not None:
            listed.append(facts)
    if as_json:
        output.say_json({"root": root.location, "tables": [facts.as_dict() for facts in listed]})
    elif listed and dropped:
        from sdb.view.tablelist import dropped_tables

        output.say(output.plain(dropped_tables(listed, columns=output.columns()).rstrip("\n")))
    elif listed:
        from sdb.view.tablelist import tables

        output.say(output.plain(tables(listed, columns=output.columns()).removesuffix("\n")))
    if not (as_json or dropped):
        _tell_views(root)
    return code


def _tell_views(root: TableRoot) -> None:
    """Write a line to standard error if there are views, which are not listed with the tables."""
    from sdb.table.catalog.views import views

    if number := sum(1 for _ in views(root)):
        output.note(f"{number:,} view{'s' * (number > 1)} below the root: sdb ls --views")


def list_views(root: TableRoot, database: str | None, pattern: str | None, *, as_json: bool) -> int:
    """Print views: their queries, versions and authors."""
    from fnmatch import fnmatchcase

    from sdb.table.catalog.views import views
    from sdb.view.viewlist import listed

    listing = [
        view for view in views(root, database) if not pattern or fnmatchcase(view.view, pattern)
    ]
    if pattern and not listing and set(pattern).isdisjoint("*?["):
        message = f"there is no view {database}.{pattern} below {root.location}"
        raise NotFoundError(message, hint="sdb ls --views lists them, and sdb ls the tables")
    if as_json:
        output.say_json({"root": root.location, "views": [view.as_dict() for view in listing]})
    elif listing:
        output.say(output.plain(listed(listing).removesuffix("\n")))
    return 0


def list_versions(root: TableRoot, database: str, table: str, *, as_json: bool) -> int:
    """Print the branches and tags of a table, with their versions, times and rows."""
    from sdb.table.catalog.handle import dropped, open_table
    from sdb.table.catalog.refs import refs
    from sdb.table.inspect.describe import facts

    head = open_table(root, database, table)
    if head.is_dropped:
        raise dropped(root, head.keys, head.state)
    named = [(ref.name, ref.kind, facts(head.at(ref.name))) for ref in refs(head)]
    if as_json:
        versions = [{"name": name, "kind": kind} | of.as_dict() for name, kind, of in named]
        output.say_json({"root": root.location, "table": head.name, "versions": versions})
        return 0
    from sdb.view.tablelist import versions as drawn

    output.say(output.plain(drawn(named, columns=output.columns()).removesuffix("\n")))
    return 0


def _facts_before(handle: TableHandle) -> TableFacts:
    """Return the facts that a dropped table had, and when it was dropped as its last change."""
    from sdb.records import replace
    from sdb.table.inspect.describe import facts

    own, state = facts(handle), handle.state
    if state is None or state.parent is None or state.operation != "drop":
        return own
    before = facts(handle.version(state.parent.key, state.parent.etag))
    return replace(before, synced_us=own.synced_us)


def _facts(root: TableRoot, database: str, table: str, *, dropped: bool) -> TableFacts | None:
    from sdb.table.catalog.handle import find_table
    from sdb.table.format.keys import TableKeys
    from sdb.table.inspect.describe import facts, facts_without_rows

    handle = find_table(root, database, table)
    if handle is not None:
        if handle.is_dropped != dropped:
            return None
        return _facts_before(handle) if dropped else facts(handle)
    if dropped or not root.has(TableKeys(database, table).definition):
        return None
    return facts_without_rows(database, table)
