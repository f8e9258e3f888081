"""Making tables: a definition that was checked, and nothing else yet."""

from __future__ import annotations

from sdb.errors import ConflictError, ExistsError, NotFoundError
from sdb.records import replace
from sdb.table.commit.objects import put_new
from sdb.table.definition import validate
from sdb.table.definition.cache import forget_definition
from sdb.table.definition.definition import Definition, InputRule, VersionPolicy
from sdb.table.definition.timespan import CalendarSpan
from sdb.table.format.keys import TableKeys
from sdb.table.inputs.listing import check_patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.root import TableRoot

NEW_TABLES = VersionPolicy(10, CalendarSpan(days=7))
"""The versions that a table keeps whose definition does not tell."""

_LOCAL = "file://"


def create_table(
    root: TableRoot, database: str, table: str, definition: Definition, *, overwrite: bool = False
) -> Definition:
    """Make a table: its definition is checked and stored.

    Parameters
    ----------
    root : TableRoot
        The root that it will be below.
    database, table : str
        Its names.
    definition : Definition
        What it takes.
    overwrite : bool
        Whether the definition of a table that is there may be replaced.

    Returns
    -------
    Definition
        What was stored; with the usual policy of versions if it has none.

    Raises
    ------
    UsageError
        The definition makes no sense; all reasons are told.
    OutsideError
        A pattern leads out of the root; see :mod:`sdb.table.inputs.places`.
    ExistsError
        There is a definition, and `overwrite` is off.
    ConflictError
        Someone else has replaced it meanwhile.
    """
    keys = TableKeys(database, table)
    if definition.versions is None:
        definition = replace(definition, versions=NEW_TABLES)
    validate.check(definition, is_remote=root.store.is_remote)
    check_patterns(root, [rule.pattern for rule in definition.inputs])
    data = definition.stored().encode()
    place = root.place(keys.definition)
    if overwrite:
        try:
            with root.store.lock(place):
                reader = root.open(keys.definition)
                reader.close()
                root.store.put_if(place, data, reader)
            forget_definition(root, keys)
        except NotFoundError:
            pass
        else:
            return definition
    try:
        put_new(root, keys.definition, data)
    except ConflictError:
        message = f"{database}.{table} below {root.location} has a definition already"
        hint = "--force replaces it; sdb def shows it"
        raise ExistsError(message, path=keys.definition, hint=hint) from None
    return definition


def definition_of(patterns: Iterable[str], *, is_remote: bool) -> Definition:
    """Give the definition of a table that takes whatever patterns find.

    Parameters
    ----------
    patterns : iterable of str
        Patterns of inputs. On a local root ``file://`` may be left out.
    is_remote : bool
        Whether the root is an S3 bucket.

    Returns
    -------
    Definition
        The definition, not yet checked.
    """
    rules = [
        InputRule(one if is_remote or "://" in one else f"{_LOCAL}{one.removeprefix('./')}")
        for one in patterns
    ]
    return Definition(tuple(rules))
