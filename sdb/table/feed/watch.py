"""Watch folders for new inputs, with few requests and little memory.

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
"""How many objects are listed in one round; the next one goes on behind them."""

MOST_YOUNG = 10_000
"""How many files of a folder are looked at one by one; where more are young it is listed again."""

FEW_FOLDERS = 16
"""How many folders side by side are all looked at."""

_OPEN_SECONDS = 3_600
_STRAGGLER_US = 60_000_000
_SETTLED_NS = 2_000_000_000


@record
class _YoungFile:
    """A local file that was written lately, as it was seen last."""

    version: str  # its version, and when anything about it changed
    since: float  # when it was seen first like that, by the clock of the watch
    is_given: bool  # whether it stood still, so that it was given


@changing_record
class _Folder:
    """The state of a folder that is watched."""

    after: str = ""  # the name behind which to go on
    ascends: bool = True  # whether names have appeared in ascending order so far
    is_seen: bool = False  # whether all of it was listed
    version: str = ""  # the version of a local folder when all of it was listed, if it is settled
    newest_us: int = 0  # when its newest object appeared, in microseconds since 1970
    # Its files that were written lately, by location
    young: dict[str, _YoungFile] = field(default_factory=dict)


class InputWatch:
    """Lists what may be new in folders, see :class:`sdb.table.inputs.listing.Lister`.

    Between :meth:`begin` and :meth:`end` is a round. What a round has listed that did not end is
    listed again by the next one.

    * ``settle_seconds``: How long size and times of a local file have to stay as they are before it
      is given.
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
            folders = self._known.items()
            self._known = {
                path: _Folder(young=folder.young) for path, folder in folders if folder.young
            }
            self._anew_at = self._clock() + ANEW_SECONDS
        self._next, self._left, self.has_more = {}, MOST_ENTRIES, False
        since_us = int((time.time() - _OPEN_SECONDS) * 1e6)
        self._ways = {}
        for path, folder in self._known.items():
            is_open = not folder.is_seen or folder.newest_us >= since_us
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
        names = store.folders(folder)
        if not store.is_remote or len(names) <= FEW_FOLDERS:
            return names
        above = folder.rstrip("/")
        return [
            name for name in names if name == names[-1] or self._ways.get(f"{above}/{name}", True)
        ]

    def list(self, folder: str) -> Sequence[Entry]:
        """List what may be new in a folder, and not too much of it."""
        if self._left <= 0:
            self.has_more = True
            return []
        store = store_of(folder)
        earlier = self._known.get(folder, _Folder())
        version, is_settled = ("", False) if store.is_remote else _version(store, folder)
        if earlier.version and earlier.version == version:
            return self._listed_again(folder, earlier, store)
        entries = store.list(folder, after=earlier.after, most=self._left)
        times = [entry.modified_us for entry in entries]
        ascends = earlier.ascends and all(a <= b + _STRAGGLER_US for a, b in pairwise(times))
        current = self._next[folder] = _Folder(earlier.after, ascends, earlier.is_seen)
        current.newest_us = max([earlier.newest_us, *times])
        current.young = dict(earlier.young) if earlier.after else {}
        still = [
            entry for entry in entries if self._stands_still(entry, earlier.young, current.young)
        ]
        if len(entries) == self._left:
            current.after, self.has_more = entries[-1].name, True
        else:
            current.is_seen = True
            current.version = version if is_settled else ""
            is_behind = store.is_remote and ascends
            current.after = _settled(earlier.after, entries, current.newest_us) if is_behind else ""
        if len(current.young) > MOST_YOUNG:
            current.version, current.young = "", {}
        self._left -= len(entries)
        return still

    def _listed_again(self, folder: str, earlier: _Folder, store: Store) -> Sequence[Entry]:
        """List those files of a folder that has not changed itself that are not what was given."""
        current = _Folder(
            earlier.after, earlier.ascends, earlier.is_seen, earlier.version, earlier.newest_us
        )
        entries = []
        for location, before in earlier.young.items():
            entry = store.head(location)
            if entry is None:
                continue
            is_still = self._stands_still(entry, earlier.young, current.young)
            if is_still and not (before.is_given and before.version == _version_of(entry)):
                entries.append(entry)
        self._next[folder] = current
        return entries

    def _stands_still(
        self, entry: Entry, earlier: dict[str, _YoungFile], young: dict[str, _YoungFile]
    ) -> bool:
        """Return whether a file has not changed for the interval, and note it if it is young."""
        if not entry.changed_us:
            return True
        now_us, now = time.time_ns() // 1000, self._clock()
        newest_us = max(entry.modified_us, entry.changed_us)
        if newest_us < now_us - max(_OPEN_SECONDS * 1_000_000, self._settle_us):
            return True
        version = _version_of(entry)
        before = earlier.get(entry.location)
        since = before.since if before is not None and before.version == version else now
        # Times may be those of another clock, or have been set: then only the own clock counts.
        is_still = 0 <= now_us - newest_us >= self._settle_us
        is_still = is_still or (now - since) * 1e6 >= self._settle_us
        young[entry.location] = _YoungFile(version, since, is_still)
        return is_still


def _version_of(entry: Entry) -> str:
    return f"{entry.version} {entry.changed_us}"


def _version(store: Store, folder: str) -> tuple[str, bool]:
    """Return the version of a local folder, and whether a change now would give another one."""
    version = store.version(folder) or ""
    modified_ns = int(version.rpartition("-")[2] or 0)
    return version, time.time_ns() - modified_ns > _SETTLED_NS


def _upward(path: str) -> Iterator[str]:
    """Yield a path and those above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _settled(after: str, entries: Sequence[Entry], newest_us: int) -> str:
    """Return name before which nothing appears any more: beside the newest there may be some."""
    old = [entry.name for entry in entries if entry.modified_us < newest_us - _STRAGGLER_US]
    return max(old, default=after)
