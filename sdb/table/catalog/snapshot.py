"""Reading several tables: all of what a transaction has changed, or nothing of it.

Indexes are read one after the other, and a transaction over several tables may become true in
between. An index tells for other tables which version of them it was changed together with; where
one of these was read before that version, it is read again. Nothing is read for that.
"""

from __future__ import annotations

from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.catalog.handle import TableHandle


def read_together(
    opened: dict[str, TableHandle | None], reopen: Callable[[str], TableHandle | None]
) -> dict[str, TableHandle | None]:
    """Return tables so that nothing of a transaction is in one of them and missing in another.

    * ``opened``: The tables as they were read, by the keys of their indexes; None: no such table.
    """
    handles = dict(opened)
    again: dict[str, int] = {}
    while True:
        wanted: dict[str, int] = {}
        for handle in handles.values():
            state = None if handle is None else handle.state
            for key, number in () if state is None else state.together.items():
                wanted[key] = max(number, wanted.get(key, 0))
        # What was read again is not older, whatever it says: another program may have written it.
        stale = [
            key
            for key, handle in handles.items()
            if wanted.get(key, 0) > max(_number(handle), again.get(key, 0))
        ]
        if not stale:
            return handles
        for key in stale:
            again[key] = wanted[key]
            handles[key] = reopen(key)


def _number(handle: TableHandle | None) -> int:
    state = None if handle is None else handle.state
    return 0 if state is None else state.version


def head_key(handle: TableHandle) -> str | None:
    """Return the key of the index that a table was read from; None: it is a version of the past."""
    state = handle.state
    key = handle.keys.branch((state.branch if state is not None else "") or MAIN)
    return key if handle.reader.path == handle.root.place(key) else None
