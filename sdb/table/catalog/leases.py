"""Leases: protection of a version that is read for long against `gc`.

A lease is an object of the table with the index that is being read. It is written once reading has
taken a while, renewed in the background, and removed at the end; it expires when it was not renewed
for the grace period of `gc`. So short queries write nothing, and no query has to know how long it
takes.
"""

from __future__ import annotations

import os
import threading
import time
from weakref import WeakSet

from sdb import notes
from sdb.errors import AccessError, SdbError
from sdb.table.format import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.catalog.handle import TableHandle

RENEWAL_SECONDS = 600.0
"""After so long a lease is written, and so often renewed: well within any usual grace time."""

_LOOK_SECONDS = 30.0


class Lease:
    """A lease on a version. Use :func:`hold`, which renews it in the background."""

    def __init__(
        self, handle: TableHandle, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._root = handle.root
        self._data = handle.data
        self._name = handle.name
        self.key = handle.keys.lease(keys.new_uid(random_bytes))
        self._renewed_at = time.monotonic()
        self._is_written = False
        self._is_over = False
        self._guard = threading.Lock()

    @property
    def is_due(self) -> bool:
        """True when it is time to write it, or to renew it."""
        return not self._is_over and time.monotonic() - self._renewed_at >= RENEWAL_SECONDS

    def renew(self) -> None:
        """Write the lease, or warn."""
        store = self._root.store
        with self._guard:
            if self._is_over:
                return
            try:
                location = self._root.place(self.key)
                store.make_folder(location.rpartition("/")[0])
                with store.create(location, overwrite=True) as file:
                    file.write(self._data)
            except SdbError as error:
                self._is_over = isinstance(error, AccessError)
                notes.warn(
                    f"cannot write a lease for {self._name} ({error.message}): a concurrent gc may "
                    "delete files of this query; use a longer --grace, or tag the version"
                )
            else:
                self._is_written = True
                self._renewed_at = time.monotonic()

    def release(self) -> None:
        """Remove the lease, if it was written; `gc` removes what cannot be removed now."""
        with self._guard:
            self._is_over = True
            if not self._is_written:
                return
            self._is_written = False
            try:
                self._root.store.delete(self._root.place(self.key))
            except SdbError:
                return


def hold(handle: TableHandle) -> Lease:
    """Register a reader of a version: a lease is written if reading takes long.

    Returns: To be released at the end. It is renewed as long as it is referenced.
    """
    lease = Lease(handle)
    with _guard:
        _held.add(lease)
        if not _keepers:
            keeper = threading.Thread(target=_keep, name="sdb leases", daemon=True)
            _keepers.append(keeper)
            keeper.start()
    return lease


def _keep() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        with _guard:
            due = [lease for lease in _held if lease.is_due]
        for lease in due:
            lease.renew()


_held: WeakSet[Lease] = WeakSet()
_keepers: list[threading.Thread] = []
_guard = threading.Lock()


def _forget() -> None:
    """Drop the leases in a forked child: the parent renews its own."""
    global _guard  # noqa: PLW0603 - it may have been held when the process was forked
    _guard = threading.Lock()
    _held.clear()
    _keepers.clear()


os.register_at_fork(after_in_child=_forget)
