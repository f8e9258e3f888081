"""The versions of a table that a stream follows: which packfiles came in between two of them."""

from __future__ import annotations

from itertools import chain, pairwise

from sdb.errors import ConflictError, CorruptError, UnsupportedError, UsageError
from sdb.spark.stream.offset import StreamOffset, VersionMark
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.catalog.lookup import own_version
from sdb.table.commit.change import packfiles_between
from sdb.table.commit.commit import check_branch
from sdb.table.format.versionref import (
    MAIN,
    BeforeFirstError,
    ExpiredError,
    VersionReference,
    parse_reference,
)
from sdb.table.maintenance.compact import COMPACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.spark.options.namedtable import NamedTable
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_MOST_KEPT = 4
_ANEW = "start anew with a new checkpoint, which reads all rows; or with startingVersion"
_SKIP = f'.option("skipChangeCommits", "true") passes over such versions; else {_ANEW}'


class StreamedVersions:
    """The versions of a table, or of a branch of it.

    * ``skip_changes``: Whether versions that change or remove rows are passed over, with all that
      they add.

    Raises `UsageError` if what is named is a version.
    """

    def __init__(self, named: NamedTable, *, skip_changes: bool) -> None:
        self._named = named
        self._skips = skip_changes
        self.root = named.root()
        self.table = ""
        self._branch = MAIN
        if named.at:
            reference = parse_reference(named.at)
            if reference.kind != "name":
                raise UsageError(
                    f"a stream of {named.name}@{named.at}: a version never changes",
                    hint=f"{named.name}, or {named.name}@branch, and startingVersion",
                )
            self._branch = reference.name
        self._kept: dict[VersionMark, TableHandle] = {}
        self._added: dict[tuple[VersionMark, VersionMark], tuple[Descriptor, ...]] = {}

    def newest(self) -> VersionMark:
        """Return the newest version; number 0: it has no version yet.

        Raises `NotFoundError` if there is no such table; `UnsupportedError` if no `sdb` has written
        to it, so that it has no versions.
        """
        handle = self._newest()
        return VersionMark() if handle is None else self._remember(handle)

    def start(self, text: str | None) -> StreamOffset:
        """Return where a stream begins.

        * ``text``: ``latest``, the number of the first version whose rows are read, or a time, of
          which all later versions are; without it all rows of the table are.

        Raises `ExpiredError` or `UnknownReferenceError` if there is no such version, or not the one
        before it; `UsageError` if the text is no version and no time.
        """
        if text is None:
            return StreamOffset()
        handle = self._newest()
        if text == "latest":
            mark = VersionMark() if handle is None else self._remember(handle)
            return StreamOffset(self.table, mark, first=mark)
        wanted = parse_reference(text)
        if wanted.kind not in {"version", "time"}:
            expected = "latest, the number of a version, or a time"
            raise UsageError(f"invalid startingVersion {text!r}", expected=expected)
        if wanted.kind == "version":
            wanted = VersionReference("version", wanted.number - 1, text=str(wanted.number - 1))
        if handle is None or (wanted.kind == "version" and wanted.number < 1):
            return StreamOffset(self.table)
        try:
            before = handle.at(wanted)
        except BeforeFirstError:
            return StreamOffset(self.table)
        return StreamOffset(self.table, self._remember(before))

    def added(self, before: VersionMark, after: VersionMark) -> tuple[Descriptor, ...]:
        """Return the packfiles with rows that came in between two versions.

        Returns: The packfiles, the same and in the same order whenever this is asked.
        Raises `ConflictError` if a version in between has changed or removed rows, or the table was
        made anew; `ExpiredError` if a version is not kept any more.
        """
        if before == after:
            return ()
        if (before, after) not in self._added:
            self._added = {(before, after): self._found(before, after)}
        return self._added[before, after]

    def check(self, table: str) -> None:
        """Check that an offset is of this table.

        Raises `ConflictError` if it is another one of the same name.
        """
        if table and self.table and table != self.table:
            raise ConflictError(f"{self._named.name} was made anew since it was read", hint=_ANEW)

    def _found(self, before: VersionMark, after: VersionMark) -> tuple[Descriptor, ...]:
        older = None if before == VersionMark() else self._open(before)
        newer = self._open(after)
        fetch = self.root.fetch
        added, removed = packfiles_between(
            None if older is None else older.index, newer.index, fetch
        )
        if older is None or not removed:
            return added
        steps = [self._step(*pair) for pair in pairwise(self._versions(older, newer, before))]
        return tuple(chain.from_iterable(steps))

    def _step(self, older: TableHandle, newer: TableHandle) -> tuple[Descriptor, ...]:
        """Return the packfiles with rows that one version has added."""
        added, removed = packfiles_between(older.index, newer.index, self.root.fetch)
        state = newer.state
        if not removed or state is None:
            return added
        changes = state.changes
        is_compact = state.operation == COMPACT and changes.rows_added == changes.rows_removed
        if is_compact or self._skips:
            return ()
        raise ConflictError(
            f"version {state.version:,} of {self._named.name} ({state.operation}) has changed or "
            "removed rows, and streams give rows that are added",
            hint=_SKIP,
        )

    def _versions(
        self, older: TableHandle, newer: TableHandle, first: VersionMark
    ) -> list[TableHandle]:
        """Open all versions from one to another, by their parents: some may have been thinned."""
        chain = [newer]
        while (state := chain[-1].state) is not None and state.version > first.number:
            parent = state.parent
            if parent is None or not self.root.has(parent.key):
                raise self._expired(first)
            chain.append(self._version(parent.key, parent.etag))
        oldest = chain[-1].state
        if oldest is None or older.state is None or oldest.commit != older.state.commit:
            raise self._expired(first)
        chain[-1] = older
        return chain[::-1]

    def _version(self, key: str, etag: str = "") -> TableHandle:
        head = next(iter(self._kept.values()))
        return head.version(key, etag)

    def _open(self, mark: VersionMark) -> TableHandle:
        if mark not in self._kept:
            if not self._kept:
                self._newest()
            key = self._named.keys.version(mark.number, mark.commit)
            if not self.root.has(key):
                raise self._expired(mark)
            self._remember(self._version(key))
        return self._kept[mark]

    def _expired(self, mark: VersionMark) -> ExpiredError:
        name, number = self._named.name, mark.number
        return ExpiredError(
            f"the stream has read {name} up to version {number:,}, and that, or one since, has "
            "expired",
            hint=f"let versions be kept for longer than the stream rests (keep_for); {_ANEW}",
        )

    def _newest(self) -> TableHandle | None:
        """Open the newest version."""
        named = self._named
        handle = find_table(self.root, named.database, named.table, branch=self._branch)
        if handle is None:
            if self._branch != MAIN:
                check_branch(self.root, named.keys, self._branch)
            if not self.root.has(named.keys.definition):
                raise self.root.absent(named.keys)
            return None
        if handle.is_dropped:
            raise dropped(self.root, named.keys)
        state = handle.state
        if state is None:
            if not handle.index.objects:
                return None
            raise UnsupportedError(
                f"no sdb has written to {named.name}, so that it has no versions to follow",
                hint=f"sdb sync {named.database} makes one",
            )
        if is_foreign(handle.index, state):
            handle = handle.version(own_version(handle, state).key)
        self._remember(handle)
        return handle

    def _remember(self, handle: TableHandle) -> VersionMark:
        """Remember a version that was opened, and return its mark."""
        state = handle.state
        if state is None:
            raise CorruptError(f"a version of {self._named.name} has no number")
        if not self.table:
            self.table = state.table.hex()
        elif self.table != state.table.hex():
            self.table = state.table.hex()
            self._kept.clear()
        mark = VersionMark(state.version, state.commit)
        self._kept.pop(mark, None)
        self._kept[mark] = handle
        while len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return mark
