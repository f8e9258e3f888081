"""Holds: branches by which a table keeps the packfiles that another one refers to."""

from __future__ import annotations

import re

from sdb.errors import ConflictError
from sdb.table.catalog.handle import find_table, hold_prefix, is_hold_name
from sdb.table.format.keys import TableKeys, flaw_of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.history import VersionPointer

_NAME = re.compile(r"fork-([^.]+)\.(.+)-[A-Z2-7]{8}")
_DIGEST_BYTES = 5


def hold_name(keys: TableKeys, pointer: VersionPointer) -> str:
    """Name the branch that keeps a version of a table for another one."""
    from base64 import b32encode
    from hashlib import blake2b

    digest = blake2b(f"{pointer.key} {pointer.etag}".encode(), digest_size=_DIGEST_BYTES).digest()
    return hold_prefix(keys) + b32encode(digest).decode()


def is_hold_for(root: TableRoot, holder: TableKeys, branch: str, keys: TableKeys) -> bool:
    """Return whether a table keeps packfiles for another one, by what it says itself.

    * ``holder``: The names of the table that is to keep packfiles.

    Returns: False where the branch has another name than such a branch would have, or says that it
    is for another table. Those that were begun before branches said it are known by their names.
    """
    name = f"{keys.database}.{keys.table}"
    if not is_hold_name(branch, keys):
        return False
    head = find_table(root, holder.database, holder.table, branch=branch)
    return head is None or head.state is None or head.state.keeps_for in {"", name}


def holder_of(branch: str) -> TableKeys | None:
    """Return the names of the table that a branch keeps packfiles for; None: it is no such branch.

    >>> holder_of("fork-web.trial-ABCDEFGH").table, holder_of("audit")
    ('trial', None)
    """
    matched = _NAME.fullmatch(branch)
    if matched is None or flaw_of_name(matched[1]) or flaw_of_name(matched[2]):
        return None
    return TableKeys(matched[1], matched[2])


def is_hold(name: str) -> bool:
    """Return whether a branch is one that keeps packfiles for another table."""
    return _NAME.fullmatch(name) is not None


def check_free(root: TableRoot, keys: TableKeys, branch: str) -> None:
    """Require a branch that keeps nothing for another table.

    Raises `ConflictError` if there is a table that shares packfiles by it.
    """
    holder = holder_of(branch)
    if holder is None:
        return
    other = find_table(root, holder.database, holder.table)
    name = f"{keys.database}.{keys.table}"
    if other is None or other.state is None or other.state.shares.get(name) != branch:
        return
    raise ConflictError(
        f"{branch} keeps packfiles of {name} for {other.name}, which shares them",
        path=keys.branch(branch),
        hint=f"when {other.name} does not need them any more, sdb gc {other.name} takes it away",
    )
