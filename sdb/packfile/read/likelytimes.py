"""Fields that look as if they held times, and how they are read: ``--time-field ts:unix``."""

from __future__ import annotations

import time

from sdb import _core, notes
from sdb.errors import SdbError
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.store.base import Location

_MOST_ROWS = 30
_MOST_DEPTH = 3
_MOST_LINES = 3
_FIRST = 946_684_800  # 2000: numbers of less seconds are likely something else
_UNITS = {
    "unix": (1, "seconds"),
    "unix_ms": (10**3, "milliseconds"),
    "unix_us": (10**6, "microseconds"),
    "unix_ns": (10**9, "nanoseconds"),
}
_NAMES = ("time", "date", "ts", "at", "when", "epoch", "seen", "start", "end", "created", "updated")
_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
_CLOCKS = (" %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", " %H:%M:%S.%f")
_PATTERNS = [day + clock for day in _DAYS for clock in _CLOCKS]


@record
class LikelyTime:
    """A field that looks as if it held times."""

    path: Path
    what: str  # what its values look like
    forms: tuple[str, ...]  # how they can be read

    def __str__(self) -> str:
        """Say it, and how such a field is read."""
        options = " or ".join(f"--time-field {self._quoted(form)}" for form in self.forms)
        return f"{field_name(self.path)} looks like {self.what}: {options}"

    def _quoted(self, form: str) -> str:
        text = f"{'.'.join(self.path)}:{form}"
        return f"'{text}'" if set(text) & set(" $%") else text


def likely_times(rows: Iterable[Mapping[str, Any]]) -> list[LikelyTime]:
    """Return the fields of some rows that look as if they held times, and hold none.

    >>> [str(field) for field in likely_times([{"ts": 1709528767.5}, {"at": "25/12/2024 10:00"}])]
    ['ts looks like epoch seconds: --time-field ts:unix', \
"at looks like times: --time-field 'at:%d/%m/%Y %H:%M'"]
    """
    values: dict[Path, list[object]] = {}
    for row in rows:
        for path, value in _leaves(row, ()):
            values.setdefault(path, []).append(value)
    likely = (_of_values(path, some) for path, some in values.items())
    return [field for field in likely if field is not None]


def _leaves(struct: Mapping[str, Any], above: Path) -> Iterator[tuple[Path, object]]:
    for name, value in struct.items():
        path = (*above, name)
        if isinstance(value, dict):
            if len(path) < _MOST_DEPTH:
                yield from _leaves(value, path)
        elif value is not None:
            yield path, value


def _of_values(path: Path, values: Sequence[object]) -> LikelyTime | None:
    if all(isinstance(value, str) for value in values) and not all(map(_is_digits, values)):
        forms = tuple(form for form in _PATTERNS if all(_has_form(text, form) for text in values))
        return LikelyTime(path, "times", forms) if forms else None
    if not all(isinstance(value, int | float) or _is_digits(value) for value in values):
        return None
    if any(isinstance(value, bool) for value in values):
        return None
    numbers = [float(value) for value in values]  # type: ignore[arg-type]
    last = time.time() + 366 * 86_400
    for unit, (scale, word) in _UNITS.items():
        if all(_FIRST * scale <= number <= last * scale for number in numbers):
            is_long = scale > 1 or not all(map(float.is_integer, numbers))
            is_time = is_long or _is_named(path)
            return LikelyTime(path, f"epoch {word}", (unit,)) if is_time else None
    return None


def _is_digits(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.replace(".", "", 1).isdigit()


def _has_form(text: object, form: str) -> bool:
    return _core.time_of_form(str(text), form) is not None


def _is_named(path: Path) -> bool:
    """Return whether a name says that there are times."""
    name = path[-1].lower()
    words = name.replace("-", "_").replace(".", "_").split("_")
    return any(word in words for word in _NAMES) or name.endswith(("time", "date", "stamp", "at"))


def tell_likely_times(location: Location) -> None:
    """Say which fields of a packfile without a time index look as if they held times.

    Nothing is said of a packfile that cannot be read: what needs its rows says so.
    """
    from sdb.packfile.read.resolve import open_one

    try:
        with open_one(location) as pack:
            likely = [] if pack.time_indexes else likely_times(pack.head(_MOST_ROWS))
    except SdbError:
        return
    for field in likely[:_MOST_LINES]:
        notes.tell(str(field), is_detail=False)
