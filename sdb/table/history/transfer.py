"""Packfiles of a table that another table shall have: by reflink, inside the store, or sent."""

from __future__ import annotations

from sdb import notes
from sdb.errors import ConflictError, CorruptError, ExistsError, NotFoundError
from sdb.records import replace
from sdb.table.commit.change import FAILED, ChangedInput
from sdb.table.commit.objects import look, put_new
from sdb.table.format import etags
from sdb.table.format.keys import folder_of, own_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys

_SENDERS = 8
_TAKEN_OUT = "the table that it came from does not have it; sync --retry takes it"


class Transfer:
    """Brings packfiles of a table to where another one expects them.

    What is there already is not sent: a packfile of ours is named by its content, and that of
    another program by what no other one is named.

    Parameters
    ----------
    source : TableHandle
        The table, or a version of it.
    root : TableRoot
        The root of the other one.
    keys : TableKeys
        Its names.

    Attributes
    ----------
    sent, sent_bytes : int
        Number and size of the packfiles that were not there.
    """

    def __init__(self, source: TableHandle, root: TableRoot, keys: TableKeys) -> None:
        self._source = source
        self._root = root
        self._keys = keys
        self.sent = self.sent_bytes = 0

    def key(self, key: str) -> str:
        """Give the key that a packfile has in the other table, where it is one of ours."""
        return f"{self._keys.folder}/{self.relative(own_key(key))}"

    def relative(self, key: str) -> str:
        """Give the key of a packfile below the folder of its table, which may be a third one."""
        return key.removeprefix(f"{folder_of(key)}/")

    def definition(self) -> None:
        """Copy the definition, unless the other table has one; after the commit that makes it."""
        found = look(self._source.root, self._source.keys.definition)
        if found is None or look(self._root, self._keys.definition) is not None:
            return
        try:
            put_new(self._root, self._keys.definition, found[0])
        except ConflictError:
            name = f"{self._keys.database}.{self._keys.table}"
            notes.warn(f"{name} got a definition meanwhile that is not that of {self._source.name}")

    def has_other_definition(self) -> bool:
        """Check whether the other table has a definition that is not that of this one."""
        there = look(self._root, self._keys.definition)
        found = look(self._source.root, self._source.keys.definition)
        return there is not None and (found is None or found[0] != there[0])

    def packfiles(
        self, wanted: Iterable[Descriptor], progress: Callable[[int], None]
    ) -> tuple[Descriptor, ...]:
        """Bring packfiles; gives their descriptors in the other table, in the same order."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_SENDERS) as pool:
            return tuple(self._told(pool.map(self._bring, wanted), progress))

    def _told(
        self, brought: Iterator[tuple[Descriptor, bool]], progress: Callable[[int], None]
    ) -> Iterator[Descriptor]:
        for one, is_sent in brought:
            if is_sent:
                self.sent += 1
                self.sent_bytes += one.size_bytes
            progress(one.size_bytes)
            yield one

    def _bring(self, one: Descriptor) -> tuple[Descriptor, bool]:
        key = self.key(one.key)
        place = self._root.place(key)
        store = self._root.store
        is_sent = store.version(place) is None
        if is_sent:
            self._send(one, place)
        reader = self._root.open(key)
        try:
            if reader.size_bytes != one.size_bytes:
                raise CorruptError(f"{place} is there, and is another packfile", path=place)
            etag = reader.etag or one.etag
            if not reader.etag and not etags.is_of_content(etag):
                etag = etags.of_content(reader.pieces(0, reader.size_bytes))
        finally:
            reader.close()
        return replace(one, key=key, etag=etag), is_sent

    def _send(self, one: Descriptor, place: str) -> None:
        source = self._source.root
        try:
            reader = source.open(one.key)
        except NotFoundError:
            message = f"{one.key} is missing: the table leads to it"
            raise CorruptError(message, path=one.key, hint="sdb validate") from None
        try:
            if reader.size_bytes != one.size_bytes:
                raise CorruptError(f"{one.key} is not what was written", path=one.key)
            self._root.store.make(place.rpartition("/")[0])
            try:
                with self._root.store.grow(reader, reader.size_bytes, place):
                    pass
            except ExistsError:
                pass  # someone else has brought it meanwhile
        finally:
            reader.close()

    def inputs(self, target: TableHandle | None) -> tuple[ChangedInput, ...]:
        """Give what of the inputs of the other table has to change."""
        known = {} if target is None else {one.path: one for one in target.inputs.walk()}
        failures = {} if self._source.state is None else self._source.state.failures
        found = []
        for one in self._source.inputs.walk():
            before = known.pop(one.path, None)
            if before is not None and (before.etag, before.is_failed) == (one.etag, one.is_failed):
                continue
            number = FAILED if one.is_failed else 0
            reason = failures.get(one.path, "")
            found.append(ChangedInput(one.path, one.etag, number, is_forced=True, reason=reason))
        for one in known.values():
            if not one.is_failed:
                taken = ChangedInput(one.path, one.etag, FAILED, is_forced=True, reason=_TAKEN_OUT)
                found.append(taken)
        return tuple(found)
