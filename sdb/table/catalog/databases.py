"""Facts of a database for people: its owner, its steward, its description.

It is an object ``db/<database>/database.json``, which nothing enforces: rights are those of tokens.
"""

from __future__ import annotations

import json
from contextlib import nullcontext

from sdb.errors import CorruptError, NotFoundError, UsageError
from sdb.records import record
from sdb.table.format.keys import check_name, flaw_of_new_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot

_FORMAT = 1
_MOST_BYTES = 64 << 10


@record
class DatabaseFacts:
    """Facts of a database for people; empty texts: not known."""

    owner: str = ""
    steward: str = ""
    description: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return what there is, as plain values with stable names, for JSON."""
        members = {"owner": self.owner, "steward": self.steward, "description": self.description}
        return {name: text for name, text in members.items() if text}


def read_facts(root: TableRoot, database: str) -> tuple[DatabaseFacts, Reader | None]:
    """Return the facts of a database, and the object that was read; None: it is not there.

    Raises `CorruptError` if the object is damaged, or of a later format.
    """
    location = _location(root, database)
    try:
        reader = root.store.open(location)
    except NotFoundError:
        return DatabaseFacts(), None
    try:
        data = reader.read(0, min(reader.size_bytes, _MOST_BYTES + 1))
    finally:
        reader.close()
    try:
        members = json.loads(data) if len(data) <= _MOST_BYTES else {}
        if not isinstance(members, dict) or members.pop("format", None) != _FORMAT:
            raise ValueError  # noqa: TRY301 - one message for all of it
        if not all(isinstance(text, str) for text in members.values()):
            raise ValueError  # noqa: TRY301 - the same
        return DatabaseFacts(**members), reader
    except (ValueError, TypeError):
        raise CorruptError(f"{location} says nothing of a database", path=location) from None


def put_facts(
    root: TableRoot, database: str, facts: DatabaseFacts, replaced: Reader | None
) -> None:
    """Store the facts of a database, in the place of those that were read.

    * ``replaced``: The object that was read; None: there was none.

    Raises `UsageError` if no new database can have the name, or the texts are too long;
    `ConflictError` if another program was faster.
    """
    if replaced is None and (flaw := flaw_of_new_name(database)):
        raise UsageError(f"the name of a database: {flaw}")
    members = {"format": _FORMAT, **facts.as_dict()}
    data = json.dumps(members, ensure_ascii=False, indent=2).encode() + b"\n"
    if len(data) > _MOST_BYTES:
        raise UsageError(f"the facts of a database have at most {_MOST_BYTES:,} bytes")
    location = _location(root, database)
    if replaced is None and not root.store.is_remote:
        root.store.make_folder(location.rpartition("/")[0])
    with nullcontext() if replaced is None else root.store.lock(location):
        root.store.put_if_match(location, data, replaced)


def _location(root: TableRoot, database: str) -> str:
    return root.place(f"db/{check_name(database, 'database')}/database.json")
