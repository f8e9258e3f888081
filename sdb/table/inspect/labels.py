"""The description of a table and its steward, for people: members of its definition."""

from __future__ import annotations

from sdb.errors import SdbError
from sdb.table.definition.cache import read_definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys


def labels(root: TableRoot, keys: TableKeys) -> dict[str, str]:
    """Return the description and the steward of a table, as far as its definition has them.

    A definition that cannot be read has none: what needs it says so.
    """
    try:
        definition = read_definition(root, keys)
    except SdbError:
        return {}
    members = {"description": definition.description, "steward": definition.steward}
    return {name: text for name, text in members.items() if text}
