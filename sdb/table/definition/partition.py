"""Partitions: the directory of an input's packfile, and the constants that all its rows have."""

from __future__ import annotations

import re

from sdb import instants, ion
from sdb.errors import InputError, UsageError
from sdb.records import record
from sdb.table.definition.timespan import days_from_civil
from sdb.table.format.keys import flaw_of_name
from sdb.table.inputs.pattern import expand, is_capture_name, template_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TYPES = ("string", "int", "date", "datetime", "timestamp")
_INT = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_INT64 = range(-(2**63), 2**63)
_DAY_SECONDS = 86_400


@record
class PartitionField:
    """A field whose value is the same in all rows of a partition.

    Attributes
    ----------
    field : str
        Name of the field.
    type : str
        One of `TYPES`; empty: the first.
    value : str
        Template of the value; empty: the capture with the name of the field.
    """

    field: str
    type: str = ""
    value: str = ""

    def template(self) -> str:
        """Return the template.

        Raises `UsageError` if no value is given, and the field's name cannot be that of a capture.
        """
        if self.value:
            return self.value
        if not is_capture_name(self.field):
            raise UsageError(f"cannot use field name {self.field!r} as value template")
        return f"${{{self.field}}}"

    def captures(self) -> set[str]:
        """Return the names of the captures that the template needs."""
        return {text for text, is_capture in template_parts(self.template()) if is_capture}


@record
class Partition:
    """A partition of a table."""

    directory: str  # its identity: the values with slashes between them; empty without partitions
    constants: dict[str, object]  # the fields that all rows have, with their values


def partition_of(fields: Sequence[PartitionField], captured: Mapping[str, str]) -> Partition:
    """Return the partition of an input.

    Raises `InputError` for a value that no directory can have, or that is not of the field's type.
    """
    return _partition((field, expand(field.template(), captured)) for field in fields)


def given_partition(
    fields: Sequence[PartitionField], values: Mapping[str, object]
) -> Partition | None:
    """Return the partition of rows that come without an input's name.

    * ``values``: A value for each of them, as it would stand in the name of an input.

    Raises `UsageError` if a field has no value, or there is one for another field; `InputError` as
    :func:`partition_of` does.
    """
    names = [field.field for field in fields]
    if unknown := [name for name in values if name not in names]:
        where = f"it has partitions by {', '.join(names)}" if names else "it has no partitions"
        raise UsageError(f"a value of the partition field {unknown[0]}: {where}")
    if missing := [name for name in names if name not in values]:
        raise UsageError(f"the partition field {missing[0]} has no value")
    return _partition((field, str(values[field.field])) for field in fields) if names else None


def _partition(segmented: Iterable[tuple[PartitionField, str]]) -> Partition:
    segments = []
    constants: dict[str, object] = {}
    for field, segment in segmented:
        if flaw := flaw_of_segment(segment):
            raise InputError(f"the partition field {field.field}: bad path segment: {flaw}")
        segments.append(segment)
        constants[field.field] = typed(field.type, segment)
    return Partition("/".join(segments), {name: constants[name] for name in sorted(constants)})


def flaw_of_segment(segment: str) -> str:
    """Report why a value cannot be a part of a key; empty: it can, slashes and all."""
    return next(filter(None, map(flaw_of_name, segment.split("/"))), "")


def typed(type_name: str, text: str) -> object:
    """Return a value of a partition in its type.

    * ``text``: The value as it stands in the name of the input.

    Returns: The value. Days beyond the month count on: ``2023-02-29`` is March 1.
    Raises `UsageError` if there is no such type and `InputError` if the text is no value of the
    type.
    """
    match type_name:
        case "" | "string":
            return text
        case "int":
            if not _INT.fullmatch(text) or len(text) > 1000 or int(text) not in _INT64:  # noqa: PLR2004
                raise InputError(f"invalid integer {text!r}: expected one of 64 bits")
            return int(text)
        case "date":
            if not (matched := _DATE.fullmatch(text)):
                raise InputError(f"invalid date {text!r}", expected="2026-01-31")
            return _instant(*matched.groups(), "0", "0", "0", None, None)
        case "datetime" | "timestamp":
            if not (matched := _TIME.fullmatch(text)):
                raise InputError(f"invalid datetime {text!r}", expected="2026-01-31T10:20:30Z")
            return _instant(*matched.groups())
    raise UsageError(f"invalid type {type_name!r}", hint=f"one of {', '.join(TYPES)}")


def _instant(*parts: str | None) -> object:
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:6])
    fraction, zone = parts[6], parts[7]
    text = "-".join(part or "" for part in parts[:3])
    if not 1 <= month <= 12 or not 1 <= day <= 31:  # noqa: PLR2004 - of a year, of a month
        raise InputError(f"invalid date {text!r}", expected="2026-01-31")
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - of a day, of an hour
        raise InputError(f"invalid time of day on {text}", expected="2026-01-31T10:20:30Z")
    seconds = days_from_civil(year, month, day) * _DAY_SECONDS + hour * 3600 + minute * 60 + second
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        seconds += offset if zone[0] == "-" else -offset
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return ion.instant_from_us(seconds * instants.SECOND_US + micros)
