"""Options of Spark's file sources that say which packfiles of folders and patterns count."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import instants
from sdb.errors import CorruptError, NotFoundError, SdbError, UsageError
from sdb.records import record
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

_IGNORED = {"ignoreMissingFiles": NotFoundError, "ignoreCorruptFiles": CorruptError}


@record
class FileChoice:
    """Packfiles that are read, of those that paths stand for."""

    pattern: str | None = None  # pattern of their names, without folders
    is_deep: bool = False  # whether a folder stands for what is below it at any depth
    # When they were last changed: after the first, and before the second, in microseconds
    after_us: int | None = None
    before_us: int | None = None
    is_merged: bool = True  # whether the schema is that of all packfiles, not of the first
    # Errors for which a packfile is left out: it is not there, or damaged
    left_out: tuple[type[SdbError], ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Read the options of Spark that have these names.

        Raises `UsageError` if a value is neither ``true`` nor ``false``, or no time.
        """
        return cls(
            options.get("pathGlobFilter"),
            truth(options, "recursiveFileLookup"),
            _instant(options, "modifiedAfter"),
            _instant(options, "modifiedBefore"),
            truth(options, "mergeSchema", default=True),
            tuple(error for name, error in _IGNORED.items() if truth(options, name)),
        )

    @property
    def is_open(self) -> bool:
        """True if no packfile is left out by its name or age."""
        return self.pattern is None and self.after_us is None and self.before_us is None

    def chosen(self, paths: Iterable[str]) -> list[str]:
        """Return the packfiles that fit.

        * ``paths``: Paths and URLs of packfiles.

        Raises `NotFoundError` if none of them fits.
        """
        paths = list(paths)
        if self.is_open:
            return paths
        fitting = [path for path in paths if self._fits(path)]
        if paths and not fitting:
            raise NotFoundError(
                f"none of {len(paths):,} packfiles fits pathGlobFilter, modifiedAfter and"
                " modifiedBefore",
                path=paths[0],
            )
        return fitting

    def _fits(self, path: str) -> bool:
        if self.pattern is not None and not fnmatchcase(path.rpartition("/")[2], self.pattern):
            return False
        if self.after_us is None and self.before_us is None:
            return True
        entry = store_of(path).head(path)
        if entry is None:
            return True  # who opens it says that it is gone
        is_after = self.after_us is None or entry.modified_us > self.after_us
        return is_after and (self.before_us is None or entry.modified_us < self.before_us)


def truth(options: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Read an option that is ``true`` or ``false``. Raises `UsageError` if it is neither."""
    text = options.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise UsageError(f"invalid {name} {options[name]!r}: expected true or false")
    return text == "true"


def _instant(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    return None if text is None else instants.parse(text)
