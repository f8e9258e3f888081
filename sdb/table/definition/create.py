"""Making tables: a definition that was checked, and nothing else yet."""

from __future__ import annotations

from sdb.errors import ConflictError, ExistsError, NotFoundError, UsageError
from sdb.lake.names import is_lake_input, lake_name
from sdb.records import replace
from sdb.store.base import child
from sdb.store.schemes import plain
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.naming import claim_name
from sdb.table.commit.objects import put_new
from sdb.table.commit.schemas import OF_DEFINITION, change_schema
from sdb.table.definition import validate
from sdb.table.definition.cache import forget_definition
from sdb.table.definition.definition import Definition, InputRule, VersionPolicy
from sdb.table.definition.timespan import CalendarSpan, Thinning
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import state_of
from sdb.table.inputs.listing import check_patterns
from sdb.table.schema import adopt
from sdb.table.schema.columns import TableSchema
from sdb.times import ALL, Times, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.schemas import Evolution

NEW_TABLES = VersionPolicy(10, CalendarSpan(days=7), Thinning.parse("1h:all,1d:1m,7d:1h"))
"""The versions that a table keeps if its definition has no policy."""

CREATE = "create"
_LOCAL = "file://"


def create_table(
    root: TableRoot, database: str, table: str, definition: Definition, *, overwrite: bool = False
) -> Definition:
    """Make a table: its definition is checked and stored.

    * ``overwrite``: Whether the definition of a table that is there may be replaced, and one that
      was dropped made anew.

    Returns: What was stored; with the usual policy of versions if it has none.
    Raises `UsageError` if the definition is invalid, where the message has all reasons, or the root
    has no key to sign with; `OutsideError` if a pattern leads out of the root; see
    :mod:`sdb.table.inputs.places`; `ExistsError` if there is a definition, or the table was
    dropped, and `overwrite` is off, or a view has the name; `ConflictError` if another program has
    replaced it since it was read.
    """
    check_writable(root)  # else the first rows would be refused
    keys = TableKeys(database, table)
    if definition.versions is None:
        definition = replace(definition, versions=NEW_TABLES)
    validate.check(definition, is_remote=root.store.is_remote)
    check_patterns(root, [rule.pattern for rule in definition.inputs])
    head = find_table(root, database, table)
    if head is not None and head.is_dropped:
        _make_anew(root, keys, overwrite=overwrite)
    evolve = evolution(definition, head)
    created = _stored(root, keys, definition, overwrite=overwrite)
    if evolve is not None:
        change_schema(root, database, table, evolve, change=OF_DEFINITION)
    return created


def evolution(definition: Definition, head: TableHandle | None) -> Evolution | None:
    """Return what makes the schema of a definition that of its table; None: it stays.

    Raises `UsageError` if the table has a schema that it cannot follow.
    """
    if not definition.schema:
        return None
    wished = TableSchema.loads(definition.schema)

    def evolve(current: TableSchema | None, index: TableIndex) -> TableSchema:
        if current is None:
            return adopt.first(wished)
        return adopt.adopted(current, wished, has_rows=index.objects > 0)

    if head is not None and not head.is_dropped:
        evolve(head.schema, head.index)
    return evolve


def _stored(
    root: TableRoot, keys: TableKeys, definition: Definition, *, overwrite: bool
) -> Definition:
    """Store a definition that was checked."""
    data = definition.stored().encode()
    location = root.place(keys.definition)
    if overwrite:
        try:
            with root.store.lock(location):
                reader = root.open(keys.definition)
                reader.close()
                root.store.put_if_match(location, data, reader)
            forget_definition(root, keys)
        except NotFoundError:
            pass
        else:
            return definition
    claim = claim_name(root, keys)
    try:
        put_new(root, keys.definition, data)
    except ConflictError:
        claim.release()
        message = f"{keys.database}.{keys.table} below {root.location} has a definition already"
        hint = "--force replaces it; sdb def shows it"
        raise ExistsError(message, path=keys.definition, hint=hint) from None
    claim.release()
    return definition


def _make_anew(root: TableRoot, keys: TableKeys, *, overwrite: bool) -> None:
    """Begin a table that was dropped without packfiles and inputs: a sync takes all once more."""
    name = f"{keys.database}.{keys.table}"
    if not overwrite:
        message = f"{name} below {root.location} was dropped, and has its versions before yet"
        hint = f"sdb undrop {name} brings it back; --force makes it anew"
        raise ExistsError(message, path=keys.index, hint=hint)
    nothing = TableIndex(keys.table)

    def plan(index: TableIndex) -> TableChange | None:
        state = state_of(index.user_data)
        if state is None or not state.dropped:  # another program was faster
            return None
        return TableChange(CREATE, content=nothing, makes_table=True, schema=b"")

    commit(root, keys, plan)


def definition_of(
    patterns: Iterable[str],
    root: TableRoot | None = None,
    *,
    format: str = "",  # noqa: A002 - the word users know
    times: Times = ALL,
    on_error: str = "",
) -> Definition:
    """Return the definition of a table that takes whatever patterns find.

    * ``patterns``: Patterns of inputs. Without a scheme they start at the root. If they have
      folders such as ``day=*`` these are fields of the rows.
    * ``root``: The root, if it may be on S3.
    * ``format, times, on_error``: The format of all inputs, the way their times are read, and what
      becomes of malformed records; empty: they fail.
    """
    is_remote = root is not None and root.store.is_remote
    above = child(root.location, "") if root is not None and is_remote else _LOCAL
    read = as_json(times)
    rules = [
        InputRule(
            _pattern_of(pattern, above), format.removeprefix("."), times=read, on_error=on_error
        )
        for pattern in patterns
    ]
    from sdb.packfile.inputs.folders import has_folder_fields

    is_hive = any(
        has_folder_fields(rule.pattern) for rule in rules if not is_lake_input(rule.pattern)
    )
    return Definition(tuple(rules), hive=is_hive)


def _pattern_of(text: str, above: str) -> str:
    """Return a pattern with its scheme.

    * ``above``: What stands in front of one that starts at the root.
    """
    name = lake_name(text)
    if name is not None and not is_lake_input(text):  # delta:PATH, as queries have it
        if name.version is not None:
            message = f"{text}: a table takes all versions of a {name.kind.title()} table"
            raise UsageError(message, expected=f"{name.kind}:{name.location}")
        scheme = "" if "://" in name.location else above
        return f"{name.kind}+{scheme}{plain(name.location).removeprefix('./')}"
    is_whole = "://" in text or (above != _LOCAL and text.startswith("/"))
    return plain(text) if is_whole else f"{above}{text.removeprefix('./')}"
