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

    * ``sent, sent_bytes``: Number and size of the packfiles that were not there.
    """

    def __init__(self, source: TableHandle, root: TableRoot, keys: TableKeys) -> None:
        self._source = source
        self._root = root
        self._keys = keys
        self.sent = self.sent_bytes = 0

    def key(self, key: str) -> str:
        """Return the key that a packfile has in the other table, where it is one of ours."""
        return f"{self._keys.folder}/{self.relative(own_key(key))}"

    def relative(self, key: str) -> str:
        """Return the key of a packfile below the folder of its table, which may be a third one."""
        return key.removeprefix(f"{folder_of(key)}/")

    def definition(self) -> None:
        """Copy the definition, unless the other table has one; after the commit that makes it."""
        stored = look(self._source.root, self._source.keys.definition)
        if stored is None or look(self._root, self._keys.definition) is not None:
            return
        try:
            put_new(self._root, self._keys.definition, stored[0])
        except ConflictError:
            name = f"{self._keys.database}.{self._keys.table}"
            notes.warn(
                f"{name} has another definition than {self._source.name}, made since: it stays"
            )

    def has_other_definition(self) -> bool:
        """Check whether the other table has a definition that is not that of this one."""
        target = look(self._root, self._keys.definition)
        source = look(self._source.root, self._source.keys.definition)
        return target is not None and (source is None or source[0] != target[0])

    def packfiles(
        self, wanted: Iterable[Descriptor], progress: Callable[[int], None]
    ) -> tuple[Descriptor, ...]:
        """Copy packfiles, and yield their descriptors in the other table, in the same order."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_SENDERS) as pool:
            return tuple(self._counted(pool.map(self._bring, wanted), progress))

    def _counted(
        self, brought: Iterator[tuple[Descriptor, bool]], progress: Callable[[int], None]
    ) -> Iterator[Descriptor]:
        for descriptor, is_sent in brought:
            if is_sent:
                self.sent += 1
                self.sent_bytes += descriptor.size_bytes
            progress(descriptor.size_bytes)
            yield descriptor

    def _bring(self, descriptor: Descriptor) -> tuple[Descriptor, bool]:
        key = self.key(descriptor.key)
        location = self._root.place(key)
        store = self._root.store
        is_sent = store.version(location) is None
        if is_sent:
            self._send(descriptor, location)
        reader = self._root.open(key)
        try:
            if reader.size_bytes != descriptor.size_bytes:
                raise CorruptError(f"{location} exists, and is another packfile", path=location)
            etag = reader.etag or descriptor.etag
            if not reader.etag and not etags.is_of_content(etag):
                etag = etags.of_content(reader.pieces(0, reader.size_bytes))
        finally:
            reader.close()
        return replace(descriptor, key=key, etag=etag), is_sent

    def _send(self, descriptor: Descriptor, location: str) -> None:
        source = self._source.root
        try:
            reader = source.open(descriptor.key)
        except NotFoundError:
            message = f"{descriptor.key} is missing: the table leads to it"
            raise CorruptError(message, path=descriptor.key, hint="sdb validate") from None
        try:
            if reader.size_bytes != descriptor.size_bytes:
                raise CorruptError(
                    f"{descriptor.key} has changed since it was written", path=descriptor.key
                )
            self._root.store.make_folder(location.rpartition("/")[0])
            try:
                with self._root.store.create_from_prefix(reader, reader.size_bytes, location):
                    pass
            except ExistsError:
                pass  # another writer has stored the same content
        finally:
            reader.close()

    def inputs(self, target: TableHandle | None) -> tuple[ChangedInput, ...]:
        """Return the inputs of the other table that have to change."""
        target_inputs = (
            {} if target is None else {entry.path: entry for entry in target.inputs.walk()}
        )
        failures = {} if self._source.state is None else self._source.state.failures
        changes = []
        for entry in self._source.inputs.walk():
            before = target_inputs.pop(entry.path, None)
            if before is not None and (before.etag, before.is_failed) == (
                entry.etag,
                entry.is_failed,
            ):
                continue
            number = FAILED if entry.is_failed else 0
            reason = failures.get(entry.path, "")
            changes.append(
                ChangedInput(entry.path, entry.etag, number, is_forced=True, reason=reason)
            )
        for entry in target_inputs.values():
            if not entry.is_failed:
                taken = ChangedInput(
                    entry.path, entry.etag, FAILED, is_forced=True, reason=_TAKEN_OUT
                )
                changes.append(taken)
        return tuple(changes)
