"""References: how people name a version of a table, and which index that is.

=========================  ==================================================================
``db.table@12``            version 12
``db.table@-1``            the version before the newest
``db.table@2026-11-01``    the newest version not after this time (``T00:00Z``, ``+02:00`` ...)
``db.table@-1d``           the newest version that is at least a day old
``db.table@name``          the version of a tag, or the newest one of a branch
``db.table@name@-1``       any of these, on a branch
=========================  ==================================================================

Times are those of the commits, so that a copy of a table answers the same.
"""

from __future__ import annotations

import re

from sdb import instants
from sdb.errors import NotFoundError, UsageError
from sdb.records import record, replace
from sdb.table.format import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeAlias

    Given: TypeAlias = "VersionReference | str | int | datetime"

MAIN = "main"
_VERSION = re.compile(r"\d{1,18}")
_BACK = re.compile(r"-\d{1,18}")
_TO_THE_SECOND = re.compile(r"\d:\d\d:\d\d(?![\d.,:])")
_SECOND_US = 1_000_000
_HINT = "12, -1 (the one before the newest), 2026-11-01T00:00Z, -1d, or the name of a tag or branch"


class BeforeFirstError(NotFoundError):
    """A reference to what was before the first version of a table."""


class ExpiredError(NotFoundError):
    """A reference to a version that was there, and is not kept any more."""


class UnknownReferenceError(NotFoundError):
    """A reference to a version, tag or branch that never was there."""


@record
class VersionReference:
    """A reference to a version of a table."""

    kind: str  # what it goes by; a name is that of a tag or a branch
    number: int = 0  # the version; how many before the newest; or microseconds since 1970
    name: str = ""  # the name of the tag or branch
    text: str = ""  # what was written
    branch: str = MAIN  # the branch that it counts on


def parse_reference(reference: Given, now_us: int | None = None) -> VersionReference:
    """Read a reference.

    * ``reference``: As behind the @ of ``db.table@...``, with or without the @; a number of a
      version, or below zero of versions before the newest; an aware datetime.
    * ``now_us``: The present, in microseconds since 1970; that of the system if not given.

    Raises `UsageError` if it is not a reference.

    >>> parse_reference("@12").kind, parse_reference("-1").kind, parse_reference("v1").name
    ('version', 'back', 'v1')
    """
    if isinstance(reference, VersionReference):
        return reference
    if isinstance(reference, int):
        return VersionReference(
            "version" if reference >= 0 else "back", abs(reference), text=str(reference)
        )
    if not isinstance(reference, str):
        if not hasattr(reference, "isoformat"):
            raise UsageError(f"{reference!r} names no version", hint=_HINT)
        return VersionReference("time", instants.to_us(reference), text=reference.isoformat())
    text = reference.strip().removeprefix("@")
    branch, at, last = text.rpartition("@")
    if not at:
        return _parsed(text, now_us)
    parsed = _parsed(last, now_us)
    if keys.flaw_of_ref(branch) or parsed.kind == "name":
        raise UsageError(f"{reference!r} names no version", hint=_HINT)
    return replace(parsed, text=text, branch=branch)


def _parsed(text: str, now_us: int | None) -> VersionReference:
    if _VERSION.fullmatch(text):
        return VersionReference("version", int(text), text=text)
    if _BACK.fullmatch(text):
        return VersionReference("back", -int(text), text=text)
    if text[:1].isdigit() or text[:1] in {"-", "+"}:
        return VersionReference("time", parse_time(text, now_us), text=text)
    if flaw := keys.flaw_of_ref(text) if text else "it is empty":
        raise UsageError(f"{text!r} names no version: {flaw}", hint=_HINT)
    return VersionReference("name", name=text, text=text)


def parse_time(text: str, now_us: int | None = None) -> int:
    """Read the time of a reference: what :func:`sdb.instants.parse` reads.

    A time to the second means all of that second, as versions are listed.

    * ``text``: As in ``2022-11-18 13:13:35``, ``2022-11-18 13:13:35 +0200`` or ``-1d``.
    * ``now_us``: The present, in microseconds since 1970; that of the system if not given.

    Raises `UsageError` if it is no time.
    """
    rest_us = _SECOND_US - 1 if _TO_THE_SECOND.search(text.strip()) else 0
    return instants.parse(text, now_us) + rest_us


def split_reference(name: str) -> tuple[str, str]:
    """Split ``db.table@ref``: return the name of the table, and the reference, which may be empty.

    Raises `UsageError` if there is nothing behind the @.
    """
    table, at, text = name.partition("@")
    if at and not text:
        raise UsageError(f"{name!r} names no version", hint=_HINT)
    return table, text
