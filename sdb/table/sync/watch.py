"""Watching folders for new inputs, with few requests and little memory.

Most of what is in a folder was there when it was listed last. Local folders are listed again when
they have changed. On S3 those in which objects appear under ascending names are listed from the
last name on, and of many folders only those in which something has appeared lately, or that come
last. What hides from that is found when everything is listed anew, every ten minutes.

A local file may be listed before all of it is there: it is given once it stands still. Files that
were written within the last hour are looked at in each round, since a folder does not change when
they do.
"""

from __future__ import annotations

import time
from itertools import pairwise

from sdb.records import changing_record, field, record
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sdb.store.base import Entry, Store

ANEW_SECONDS = 600.0
"""After so long everything is listed anew."""

MISSED_SECONDS = 30.0
"""After so long it is, when an input could not be taken that the next round may take."""

MOST_ENTRIES = 10_000
"""So many objects are listed in one round; the next one goes on behind them."""

MOST_YOUNG = 10_000
"""So many files of a folder are looked at one by one; where more are young it is listed again."""

FEW_FOLDERS = 16
"""So many folders side by side are all looked at."""

_OPEN_SECONDS = 3_600
_STRAGGLER_US = 60_000_000
_SETTLED_NS = 2_000_000_000


@record
class _YoungFile:
    """A local file that was written lately, as it was seen last.

    Attributes
    ----------
    version : str
        Its version, and when anything about it changed.
    since : float
        When it was seen first like that, by the clock of the watch.
    is_given : bool
        Whether it stood still, so that it was given.
    """

    version: str
    since: float
    is_given: bool


@changing_record
class _Folder:
    """The state of a folder that is watched.

    Attributes
    ----------
    after : str
        The name behind which to go on.
    ascends : bool
        Whether names have appeared in ascending order so far.
    is_seen : bool
        Whether all of it was listed.
    version : str
        The version of a local folder when all of it was listed, if it is settled.
    newest_us : int
        When its newest object appeared, in microseconds since 1970.
    young : dict
        Its files that were written lately, by location.
    """

    after: str = ""
    ascends: bool = True
    is_seen: bool = False
    version: str = ""
    newest_us: int = 0
    young: dict[str, _YoungFile] = field(default_factory=dict)


class InputWatch:
    """Lists what may be new in folders, see :class:`sdb.table.inputs.listing.Lister`.

    Between :meth:`begin` and :meth:`end` is a round. What a round has listed that did not end is
    listed again by the next one.

    Parameters
    ----------
    clock : callable
        Gives seconds since some moment.
    settle_seconds : float
        How long size and times of a local file have to stay as they are before it is given.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, settle_seconds: float = 0.0
    ) -> None:
        self._clock = clock
        self._settle_us = int(settle_seconds * 1e6)
        self._known: dict[str, _Folder] = {}
        self._next: dict[str, _Folder] = {}
        self._ways: dict[str, bool] = {}
        self._left = MOST_ENTRIES
        self._anew_at = clock() + ANEW_SECONDS
        self.has_more = False

    def begin(self) -> None:
        """Begin a round."""
        if self._clock() >= self._anew_at and not self.has_more:
            known = self._known.items()
            self._known = {path: _Folder(young=one.young) for path, one in known if one.young}
            self._anew_at = self._clock() + ANEW_SECONDS
        self._next, self._left, self.has_more = {}, MOST_ENTRIES, False
        since_us = int((time.time() - _OPEN_SECONDS) * 1e6)
        self._ways = {}
        for path, one in self._known.items():
            is_open = not one.is_seen or one.newest_us >= since_us
            for way in _upward(path):
                self._ways[way] = is_open or self._ways.get(way, False)

    def end(self, *, missed: bool = False) -> None:
        """End a round: what it has listed is known now, unless some of it was missed."""
        self._known |= self._next
        if missed:
            self._anew_at = min(self._anew_at, self._clock() + MISSED_SECONDS)

    def folders(self, folder: str) -> Sequence[str]:
        """List the folders directly below a folder in which something may appear."""
        store = store_of(folder)
        found = store.folders(folder)
        if not store.is_remote or len(found) <= FEW_FOLDERS:
            return found
        above = folder.rstrip("/")
        return [one for one in found if one == found[-1] or self._ways.get(f"{above}/{one}", True)]

    def list(self, folder: str) -> Sequence[Entry]:
        """List what may be new in a folder, and not too much of it."""
        if self._left <= 0:
            self.has_more = True
            return []
        store = store_of(folder)
        known = self._known.get(folder, _Folder())
        version, is_settled = ("", False) if store.is_remote else _version(store, folder)
        if known.version and known.version == version:
            return self._listed_again(folder, known, store)
        found = store.list(folder, after=known.after, most=self._left)
        times = [one.modified_us for one in found]
        ascends = known.ascends and all(a <= b + _STRAGGLER_US for a, b in pairwise(times))
        one = self._next[folder] = _Folder(known.after, ascends, known.is_seen)
        one.newest_us = max([known.newest_us, *times])
        one.young = dict(known.young) if known.after else {}
        still = [entry for entry in found if self._stands_still(entry, known.young, one.young)]
        if len(found) == self._left:
            one.after, self.has_more = found[-1].name, True
        else:
            one.is_seen = True
            one.version = version if is_settled else ""
            is_behind = store.is_remote and ascends
            one.after = _settled(known.after, found, one.newest_us) if is_behind else ""
        if len(one.young) > MOST_YOUNG:
            one.version, one.young = "", {}
        self._left -= len(found)
        return still

    def _listed_again(self, folder: str, known: _Folder, store: Store) -> Sequence[Entry]:
        """List those files of a folder that has not changed itself that are not what was given."""
        one = _Folder(known.after, known.ascends, known.is_seen, known.version, known.newest_us)
        found = []
        for location, before in known.young.items():
            entry = store.look(location)
            if entry is None:
                continue
            is_still = self._stands_still(entry, known.young, one.young)
            if is_still and not (before.is_given and before.version == _version_of(entry)):
                found.append(entry)
        self._next[folder] = one
        return found

    def _stands_still(
        self, entry: Entry, known: dict[str, _YoungFile], young: dict[str, _YoungFile]
    ) -> bool:
        """Tell whether a file has not changed for the interval, and note it if it is young."""
        if not entry.changed_us:
            return True
        now_us, now = time.time_ns() // 1000, self._clock()
        newest_us = max(entry.modified_us, entry.changed_us)
        if newest_us < now_us - max(_OPEN_SECONDS * 1_000_000, self._settle_us):
            return True
        version = _version_of(entry)
        before = known.get(entry.location)
        since = before.since if before is not None and before.version == version else now
        # Times may be those of another clock, or have been set: then only the own clock counts.
        is_still = 0 <= now_us - newest_us >= self._settle_us
        is_still = is_still or (now - since) * 1e6 >= self._settle_us
        young[entry.location] = _YoungFile(version, since, is_still)
        return is_still


def _version_of(entry: Entry) -> str:
    return f"{entry.version} {entry.changed_us}"


def _version(store: Store, folder: str) -> tuple[str, bool]:
    """Give the version of a local folder, and whether a change now would give another one."""
    version = store.version(folder) or ""
    modified_ns = int(version.rpartition("-")[2] or 0)
    return version, time.time_ns() - modified_ns > _SETTLED_NS


def _upward(path: str) -> Iterator[str]:
    """Give a path and those above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _settled(after: str, found: Sequence[Entry], newest_us: int) -> str:
    """Give the name before which nothing appears any more: beside the newest there may be some."""
    old = [one.name for one in found if one.modified_us < newest_us - _STRAGGLER_US]
    return max(old, default=after)
