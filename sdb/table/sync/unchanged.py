"""Listings in which a sync found nothing to do: one that is the same needs no comparison.

What is compared is all that decides what there is to do: the definition, the inputs that the table
knows, and place and version of each object that is listed. A digest of that is kept beside the
ETags of local inputs, which are trusted for the same reason.
"""

from __future__ import annotations

import time

from sdb.store.url import store_of
from sdb.table.inputs.etagcache import YOUNG_NS, EtagCache
from sdb.table.inputs.listing import folders_of, list_inputs
from sdb.table.inputs.pattern import InputPattern
from sdb.table.inputs.tempnames import ENDINGS, is_temporary
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.store.base import Entry
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition

_MOST_KEPT = 1 << 20
"""Listings of more objects are not kept."""


class SettledListing:
    """A listing of the inputs of a table, each folder once: a lister for plans."""

    def __init__(
        self, root: TableRoot, definition: Definition, handle: TableHandle, *, retry: bool
    ) -> None:
        self._root = root
        self._patterns = [InputPattern.parse(rule.pattern) for rule in definition.inputs]
        self._name = f"{root.location}\0{handle.name}\0{retry}"
        self._known = repr((VERSION, definition, handle.index.inputs, root.allowed_inputs))
        self._inputs = handle.inputs
        self._has_temporary = False
        self._listed: dict[str, Sequence[Entry]] = {}
        self._count = 0
        self._digest = b""

    def is_known(self) -> bool:
        """List the inputs, and return whether a sync found nothing to do in the same listing."""
        from hashlib import blake2b

        old_us = (time.time_ns() - YOUNG_NS) // 1000
        digest = blake2b(self._known.encode("utf-8", "surrogatepass"), digest_size=32)
        is_old = True
        for pattern in self._patterns:
            for folder in folders_of(self._root, pattern, self):
                entries = self.list(folder)
                listed = [f"{entry.location}\0{entry.version}" for entry in entries]
                text = "\0".join([folder, str(len(entries)), *listed])
                digest.update(text.encode("utf-8", "surrogatepass"))
                is_old = (
                    is_old and max([entry.modified_us for entry in entries], default=0) < old_us
                )
        if self._count > _MOST_KEPT or not is_old:
            return False
        self._digest = digest.digest()
        with EtagCache() as cache:
            return cache.settled(self._name) == self._digest

    def settle(self) -> None:
        """Remember that there is nothing to do, unless something is so young that it may change."""
        if self._digest:
            with EtagCache() as cache:
                cache.settle(self._name, self._digest)

    def passed(self) -> Iterator[str]:
        """Yield the inputs with temporary names that the table does not know."""
        seen: set[str] = set()
        for pattern in self._patterns if self._has_temporary else ():
            for listed in list_inputs(self._root, pattern, self):
                is_new = listed.uri not in seen and self._inputs.lookup(listed.uri) is None
                seen.add(listed.uri)
                if is_new and is_temporary(listed.uri, pattern.text):
                    yield listed.uri

    def list(self, folder: str) -> Sequence[Entry]:
        """List the objects directly below a folder, sorted by name."""
        entries = self._listed.get(folder)
        if entries is None:
            entries = store_of(folder).list(folder)
            self._count += len(entries)
            if not self._has_temporary:
                hidden = any(entry.name.lower().endswith(ENDINGS) for entry in entries)
                self._has_temporary = hidden or any("/." in entry.location for entry in entries)
            if self._count <= _MOST_KEPT:
                self._listed[folder] = entries
        return entries

    def folders(self, folder: str) -> Sequence[str]:
        """List the folders directly below a folder, sorted."""
        return store_of(folder).folders(folder)
