"""Looking versions up: those that lead up to an index, by number, by distance and by time."""

from __future__ import annotations

from sdb import instants, notes
from sdb.table.catalog.foreign import is_foreign
from sdb.table.format.history import PastVersion, read_history
from sdb.table.format.versionref import (
    MAIN,
    BeforeFirstError,
    ExpiredError,
    UnknownReferenceError,
    VersionReference,
    parse_reference,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.history import HistoryRef
    from sdb.table.format.state import VersionState
    from sdb.table.format.versionref import Given


_MEANT = 0.5
_MOST_NAMED = 8
_SECOND_US = 1_000_000


def resolve(head: TableHandle, reference: Given) -> TableHandle:
    """Open the version that a reference means.

    * ``reference``: The reference, see :func:`parse_reference`.

    Returns: The table as it was. Two objects are read at most, and the index of a branch.
    Raises `BeforeFirstError` if the table was not there then; `ExpiredError` if the version is not
    kept any more; the hint tells the oldest that is; `UnknownReferenceError` if there never was
    such a version, tag or branch; the hint tells what may be meant; `CorruptError` if what leads to
    the version is missing or damaged.
    """
    wanted = parse_reference(reference)
    if wanted.kind in {"name", "tag", "branch"}:
        return _named(head, wanted)
    tip = head if wanted.branch == MAIN else _branch_head(head, wanted.branch, wanted)
    versions = Versions(tip)
    match wanted.kind:
        case "version":
            past = versions.by_number(wanted)
        case "back":
            past = versions.by_distance(wanted)
        case _:
            past = versions.by_time(wanted)
    return tip if past is None else tip.version(past.key, past.etag)


def _named(head: TableHandle, wanted: VersionReference) -> TableHandle:
    state = head.state
    tag = None if state is None or wanted.kind == "branch" else state.tags.get(wanted.name)
    if tag is not None:
        return head.version(tag.key, tag.etag)
    if wanted.kind == "tag":
        raise _unknown(head, wanted, "tag", () if state is None else state.tags)
    return _branch_head(head, wanted.name, wanted)


def _branch_head(head: TableHandle, name: str, wanted: VersionReference) -> TableHandle:
    if name == MAIN:
        return head
    state = head.state
    branches = () if state is None else state.branches
    branch_head = None
    if name in branches:
        branch_head = head.on(name)
    if branch_head is None:
        tags = () if state is None or wanted.kind == "branch" else state.tags
        what = "branch" if wanted.kind == "branch" or wanted.branch != MAIN else "tag or branch"
        raise _unknown(head, wanted, what, (*tags, *branches, MAIN), name)
    return branch_head


def _unknown(
    head: TableHandle, wanted: VersionReference, what: str, known: Iterable[str], name: str = ""
) -> UnknownReferenceError:
    from difflib import get_close_matches

    name = name or wanted.name
    known = list(known)
    near = get_close_matches(name, known, 1, _MEANT)
    listed = ", ".join(sorted({*known} - {MAIN})[:_MOST_NAMED])
    hint = f"did you mean {near[0]}?" if near else f"there are {listed}" if listed else None
    return UnknownReferenceError(f"{head.name} has no {what} {name!r}", hint=hint)


class Versions:
    """The versions that lead up to an index, of which the newest are listed in it.

    * ``handle``: The table; the index is the newest version, or what another program has made of
      it.
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._state = handle.state
        self.is_foreign = self._state is None or is_foreign(handle.index, self._state)
        self._inline = () if self._state is None else self._state.history
        if self._state is not None and self.is_foreign:
            self._inline = (*self._inline, own_version(handle, self._state))

    @property
    def head_number(self) -> int | None:
        """Number of the version that the index is; None: another program has written it."""
        return None if self._state is None or self.is_foreign else self._state.version

    @property
    def head_us(self) -> int:
        """When the index was written."""
        state = self._state
        return self._handle.index.created_us if state is None or self.is_foreign else state.at_us

    @property
    def count(self) -> int:
        """Number of the versions that can be read, the index itself among them."""
        older = () if self._state is None else self._state.older
        return sum(ref.versions for ref in older) + len(self._inline) + 1

    def oldest(self) -> tuple[int | None, int]:
        """Return the number and the time of the oldest version that can be read."""
        older = () if self._state is None else self._state.older
        if older:
            return older[0].first, older[0].first_us
        if self._inline:
            return self._inline[0].version, self._inline[0].at_us
        return self.head_number, self.head_us

    def by_number(self, wanted: VersionReference) -> PastVersion | None:
        """Find a version; None: it is the index itself."""
        number = wanted.number
        if number == self.head_number:
            return None
        if number < 1:
            raise self._before(wanted)
        newest = 0 if self._state is None else self._state.version
        if number > newest:
            raise UnknownReferenceError(
                f"{self._handle.name} has no version {number:,}",
                hint=f"the newest is {newest:,}" if newest else "no sdb has written to it",
            )
        around = list(self._around(number))
        match = next((past for past in around if past.version == number), None)
        if match is None:
            raise self._expired(wanted, f"version {number:,}", self._near(around, number))
        return match

    def _near(self, around: Iterable[PastVersion], number: int) -> str:
        """Return which versions beside one that is gone can be read; empty: none before it can."""
        known = {past.version: past for past in around if past.at_us}
        before = max((listed for listed in known if listed < number), default=None)
        after = min((listed for listed in known if listed > number), default=self.head_number)
        if before is None or after is None:
            return ""
        times = [instants.text(known[before].at_us)]
        times += [instants.text(known[after].at_us if after in known else self.head_us)]
        return f"the nearest are {before:,}, of {times[0]}, and {after:,}, of {times[1]}"

    def _around(self, number: int) -> Iterator[PastVersion]:
        """Yield the listed versions among which one of a number is, if it is kept."""
        yield from self._inline
        if self._state is not None:
            for ref in self._state.older:
                if ref.first <= number <= ref.last:
                    yield from self._read(ref)
            for tag in self._state.tags.values():
                yield PastVersion(tag.version, 0, tag.key, tag.etag, "", 0)

    def by_distance(self, wanted: VersionReference) -> PastVersion | None:
        """Find a version by how many came after it; None: it is the index itself."""
        back = wanted.number
        if not back:
            return None
        for listed in self._newest_lists():
            size = listed.versions if not isinstance(listed, tuple) else len(listed)
            if back <= size:
                versions = listed if isinstance(listed, tuple) else self._read(listed)
                return versions[-back]
            back -= size
        if (self.oldest()[0] or 1) > 1:
            raise self._expired(wanted, f"of {self._handle.name}, the version asked for")
        raise self._before(wanted)

    def by_time(self, wanted: VersionReference) -> PastVersion | None:
        """Find the newest version that is not after a time; None: it is the index itself."""
        us = wanted.number
        if self.head_us <= us:
            return None
        after = self.head_number
        for part in self._newest_lists():
            if not isinstance(part, tuple) and part.first_us > us:
                after = part.first
                continue
            for past in reversed(part if isinstance(part, tuple) else self._read(part)):
                if past.at_us <= us:
                    self._check_gap(past, after, wanted)
                    return past
                after = past.version
        if (self.oldest()[0] or 1) > 1:
            raise self._expired(wanted, f"the version of {instants.text(us)}")
        raise self._before(wanted)

    def _check_gap(self, older: PastVersion, after: int | None, wanted: VersionReference) -> None:
        """Require a version that was the newest at a time, and not one before others that went.

        Numbers that are left out may never have been: the version after them tells its parent.
        Where those between were thinned out, the version before them stands in, which is said.
        """
        if after is None or after == older.version + 1 or _is_of(older.at_us, wanted.number):
            return
        following = self._handle
        if after != self.head_number:
            newer = self.by_number(VersionReference("version", after))
            if newer is not None and newer.since_us:
                if newer.since_us <= wanted.number:
                    self._warn_thinned(older, wanted)
                return
            if newer is not None:
                following = self._handle.version(newer.key, newer.etag)
        state = following.state
        if state is None or state.parent is None or state.parent.version != older.version:
            raise self._expired(wanted, f"the version of {instants.text(wanted.number)}")

    def _warn_thinned(self, older: PastVersion, wanted: VersionReference) -> None:
        notes.warn(
            f"{self._handle.name}@{wanted.text}: the version of {instants.text(wanted.number)} was "
            f"thinned out; this is the nearest before it, version {older.version:,} of "
            f"{instants.text(older.at_us)}"
        )

    def newest_first(self) -> Iterator[PastVersion]:
        """Iterate over the versions before the index; lists are read when it is their turn."""
        for listed in self._newest_lists():
            yield from reversed(listed if isinstance(listed, tuple) else self._read(listed))

    def _newest_lists(self) -> list[tuple[PastVersion, ...] | HistoryRef]:
        older = () if self._state is None else self._state.older
        return [self._inline, *reversed(older)]

    def _read(self, ref: HistoryRef) -> tuple[PastVersion, ...]:
        return read_history(self._handle.root.fetch(ref.key, ref.etag), ref)

    def _oldest_text(self) -> str:
        number, us = self.oldest()
        known = "its only one" if number is None else f"version {number:,}"
        return f"{known}, of {instants.text(us)}"

    def _before(self, wanted: VersionReference) -> BeforeFirstError:
        message = f"{self._handle.name}@{wanted.text} is before the first version"
        return BeforeFirstError(message, hint=f"the first is {self._oldest_text()}")

    def _expired(self, wanted: VersionReference, what: str, near: str = "") -> ExpiredError:
        message = f"{self._handle.name}@{wanted.text}: {what} has expired"
        oldest = f"the oldest that can be read is {self._oldest_text()}"
        return ExpiredError(message, hint=near or oldest)


def own_version(handle: TableHandle, state: VersionState) -> PastVersion:
    """Return the version that a state is, as histories list it; without ETag when it is not known.

    * ``handle``: The table; another program may have written its index since.
    """
    key = handle.keys.version(state.version, state.commit)
    return state.past(key, state.kept_etag)


def _is_of(at_us: int, wanted_us: int) -> bool:
    """Return whether a version is of just the time that is wanted, a second or an instant."""
    is_second = wanted_us % _SECOND_US == _SECOND_US - 1
    return at_us == wanted_us or (is_second and at_us // _SECOND_US == wanted_us // _SECOND_US)
