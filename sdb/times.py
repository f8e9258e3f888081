"""Texts and numbers of inputs that are times, and their zone: `Times`.

The core reads them (``rust/zion/src/times``), docs/times.md says how.
"""

from __future__ import annotations

from sdb import _core
from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo
    from typing import Any

MODES = ("all", "rfc3339", "none")
UNITS = ("unix", "unix_ms", "unix_us", "unix_ns")
_LONG_UNITS = ("unix_seconds", "unix_milli_seconds", "unix_micro_seconds", "unix_nano_seconds")
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_STEP_SECONDS = 7 * 86_400  # no offset of a zone lasts shorter
_PROBE = "2024-03-04"
_MEMBERS = {"read", "timezone", "fields"}

# Changes of zones by their names: functools would be loaded by each command
_known: dict[str, tuple[tuple[int, int], ...]] = {}

Path = tuple[str, ...]


@record
class Times:
    """The way times of inputs are read.

    Attributes
    ----------
    mode : str
        Which texts are times: ``all`` that can be read in one way only, those of ``rfc3339`` as the
        original does, or ``none``.
    timezone : str
        The zone of times that name none, as in ``Europe/Berlin``; empty: UTC.
    forms : tuple of (path, form)
        What the times of fields are: a unit of numbers, such as ``unix_ms``, or a form of
        `strptime`, such as ``%d/%m/%Y %H:%M``.

    Examples
    --------
    >>> reading = sdb.Times(timezone="Europe/Berlin", forms=((("ts",), "unix_ms"),))
    >>> row = {"ts": 1709528767000, "at": "2024-03-04 06:06:07"}
    >>> _ = sdb.pack([row], "times.zion", times=reading, overwrite=True)
    >>> row = sdb.open("times.zion").head()[0]
    >>> row["ts"] == row["at"]
    True
    """

    mode: str = "all"
    timezone: str = ""
    forms: tuple[tuple[Path, str], ...] = ()

    def check(self) -> None:
        """Require a known mode and zone, and forms that can be read.

        Raises
        ------
        UsageError
            One of them is not.
        """
        if self.mode not in MODES:
            raise UsageError(f"unknown times {self.mode!r}", expected=", ".join(MODES))
        offsets(self.timezone)
        for path, form in self.forms:
            try:
                _core.time_of_form(_PROBE, form)
            except ValueError as error:
                raise UsageError(f"{'.'.join(path)}: {error}") from None

    def texts(self) -> list[str]:
        """Return what differs from the usual, as texts."""
        return [] if self == ALL else [self.mode, self.timezone, repr(self.forms)]

    def for_core(
        self, *, reads_texts: bool
    ) -> tuple[str, list[tuple[int, int]], list[tuple[list[str], str]]]:
        """Return what the core takes.

        * ``reads_texts``: Whether texts may be times; else only values of `forms` are read.
        """
        mode = self.mode if reads_texts else "none"
        forms = [(list(path), form) for path, form in self.forms]
        return mode, list(offsets(self.timezone)), forms


ALL = Times()


def of(times: Times | str) -> Times:
    """Return what a program gives, checked: a mode, or all of it.

    Raises
    ------
    UsageError
        See :meth:`Times.check`.
    """
    reading = Times(times) if isinstance(times, str) else times
    reading.check()
    return reading


def of_json(text: str | None) -> Times:
    """Return what a definition says: a mode, or an object; None or ``null``: as usual.

    Raises
    ------
    UsageError
        It is something else, or cannot be done.

    Examples
    --------
    >>> of_json('{"timezone":"Europe/Berlin","fields":{"at":"unix_ms"}}').forms
    ((('at',), 'unix_ms'),)
    """
    import json

    members: Any = json.loads(text or "null")
    if isinstance(members, str):
        members = {"read": members}
    members = {} if members is None else members
    if not isinstance(members, dict) or not members.keys() <= _MEMBERS:
        raise UsageError(f"times are a text or an object with {', '.join(sorted(_MEMBERS))}")
    fields = members.get("fields", {})
    mode, zone = members.get("read", "all"), members.get("timezone", "")
    texts = [mode, zone, *fields.values()] if isinstance(fields, dict) else [None]
    if not all(isinstance(value, str) for value in texts):
        raise UsageError("times: read, timezone and the forms of fields are texts")
    forms = tuple((tuple(path.split(".")), form) for path, form in fields.items())
    return of(Times(mode, zone, forms))


def as_json(times: Times) -> str | None:
    """Return what :func:`of_json` reads, without white space; None: as usual.

    Examples
    --------
    >>> as_json(Times(timezone="Europe/Berlin"))
    '{"timezone":"Europe/Berlin"}'
    """
    if times == ALL:
        return None
    import json

    members: dict[str, Any] = {} if times.mode == "all" else {"read": times.mode}
    if times.timezone:
        members["timezone"] = times.timezone
    if times.forms:
        members["fields"] = {".".join(path): form for path, form in times.forms}
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


def of_fields(mode: str, timezone: str, fields: Iterable[str]) -> Times:
    """Return what options say, checked: fields are as :func:`field` reads them.

    Raises
    ------
    UsageError
        See :meth:`Times.check`.
    """
    named = map(field, fields)
    return of(Times(mode, timezone, tuple((path, form) for path, form in named if form)))


def field(text: str) -> tuple[Path, str]:
    """Split what names a field and perhaps the form of its times.

    Examples
    --------
    >>> field("user.seen:unix_ms"), field("at:%d/%m/%Y"), field("http:port")
    ((('user', 'seen'), 'unix_ms'), (('at',), '%d/%m/%Y'), (('http:port',), ''))
    """
    name, colon, form = text.partition(":")
    while colon and not ("%" in form or form.lower() in {*UNITS, *_LONG_UNITS}):
        more, colon, form = form.partition(":")
        name = f"{name}:{more}"
    return tuple(name.split(".")), form


def offsets(timezone: str) -> tuple[tuple[int, int], ...]:
    """Return when which offset from UTC begins in a zone, both in seconds; none: it is UTC.

    Raises
    ------
    UsageError
        There is no such zone.

    Examples
    --------
    >>> offsets("Etc/GMT-2"), offsets("UTC"), len(offsets("Europe/Berlin")) > 200
    (((-2208988800, 7200),), (), True)
    """
    if timezone in {"", "UTC"}:
        return ()
    if timezone not in _known:
        _known[timezone] = _offsets(timezone)
    return _known[timezone]


def _offsets(timezone: str) -> tuple[tuple[int, int], ...]:
    """Find the changes of a zone, which takes some milliseconds."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    try:
        zone = ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        hint = "zones are called as in Europe/Berlin"
        raise UsageError(f"unknown time zone {timezone!r}", hint=hint) from None
    first, last = (
        int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (_FIRST_YEAR, _LAST_YEAR)
    )
    changes = [(first, _offset(zone, first))]
    for start in range(first, last, _STEP_SECONDS):
        after = start + _STEP_SECONDS
        if _offset(zone, after) != changes[-1][1]:
            changes.append((_change(zone, start, after), _offset(zone, after)))
    return tuple(changes)


def _offset(zone: tzinfo, second: int) -> int:
    from datetime import UTC, datetime, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    offset = moment.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _change(zone: tzinfo, low: int, high: int) -> int:
    """Return the second between two at which the offset of the later one begins."""
    later = _offset(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == later:
            high = middle
        else:
            low = middle
    return high
