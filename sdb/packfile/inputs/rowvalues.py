"""Python objects as values that rows can have; other objects are errors.

==========================  =====================================================
Python                      row
==========================  =====================================================
datetime                    timestamp; one without a zone is taken for UTC
date                        timestamp of its midnight in UTC
time, timedelta             text ``01:02:03``; seconds
Decimal                     number; its text where no number shows its digits
UUID, paths, addresses      their text
enumerations                their value
dataclasses, mappings       structs
sets, arrays, deques        lists
numpy, Arrow scalars        what they hold
NaT, ``pandas.NA``          null
==========================  =====================================================
"""

from __future__ import annotations

from sdb import ion, notes
from sdb.errors import InputError
from sdb.ion import Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from datetime import datetime
    from decimal import Decimal
    from typing import Any

DECIMALS = "decimals with more digits than a number holds are kept as text"
_MOST_DEPTH = 100
_BUILTINS = (str, int, float, bool, bytes, Timestamp)
_AS_TEXT = {
    "UUID",
    "IPv4Address",
    "IPv6Address",
    "IPv4Network",
    "IPv6Network",
    "IPv4Interface",
    "IPv6Interface",
    "ObjectId",
    "ZoneInfo",
}
"""Classes whose values are known by their text."""


ROWS = "the rows"
_PIECE_BYTES = 1 << 16


def encoded_rows(rows: Iterable[object], *, keep_nulls: bool = True) -> Generator[bytes]:
    """Encode rows, a stream each.

    * ``keep_nulls``: Whether members that are null are written as such, or left out.

    Raises `InputError` for a row that is no dict, or has a value that no row can have.
    """
    piece = bytearray()
    is_plain = keep_nulls
    for number, row in enumerate(rows):
        if not is_row(row):
            raise InputError(f"row {number:,} is a {type(row).__name__}, and not a dict", path=ROWS)
        try:
            if is_plain:
                try:
                    piece += ion.dumps(members(row))
                except (TypeError, ValueError):
                    is_plain = False  # other values are converted first, from now on
            if not is_plain:
                piece += ion.dumps(plain(members(row), keep_nulls=keep_nulls))
        except (TypeError, ValueError) as error:
            raise InputError(f"row {number:,}: {error}", path=ROWS) from error
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def is_row(value: object) -> bool:
    """Return whether an object is a row: a mapping, or an instance of a dataclass."""
    if hasattr(value, "keys"):
        return not is_frame(value)
    return _is_instance_of_dataclass(value)


def _is_instance_of_dataclass(value: object) -> bool:
    # The records of `sdb` are dataclasses too, and none of them is a row.
    is_own = hasattr(value, "__record_fields__")
    return not (is_own or isinstance(value, type)) and hasattr(value, "__dataclass_fields__")


def is_frame(value: object) -> bool:
    """Return whether an object is a table of Arrow or a data frame, and not one row of it."""
    if isinstance(value, type):
        return False
    if _comes_from(value, "pandas"):
        return type(value).__name__ == "DataFrame"
    if _comes_from(value, "polars") and type(value).__name__ == "LazyFrame":
        return True
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _comes_from(value: object, package: str) -> bool:
    """Return whether the class of an object, or one that it extends, is of a package."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def members(row: object) -> dict[str, Any]:
    """Return a row as a dict of what its members are; values stay what they are."""
    if hasattr(row, "keys"):
        mapping: Any = row
        return dict(mapping)
    return {name: getattr(row, name) for name in _field_names(row)}


def _field_names(instance: object) -> list[str]:
    from dataclasses import fields

    anything: Any = instance
    return [field.name for field in fields(anything)]


def plain(row: Mapping[str, Any], *, keep_nulls: bool = True) -> dict[str, Any]:
    """Return a row made of values that rows can have.

    * ``keep_nulls``: Whether members that are null stay, or are left out, at any depth.

    Raises `TypeError` for a value that no row can have; the message names its field; `ValueError`
    for values that are nested too deeply.
    """
    return _struct(row, (), keep_nulls=keep_nulls)


def converted(value: object, name: str) -> object:
    """Return a value in a form that rows have; see :func:`plain`.

    Raises `TypeError` or `ValueError` as :func:`plain` does, where the message has the name.
    """
    return _value(value, (name,), keep_nulls=True)


def _struct(
    mapping: Mapping[Any, Any], path: tuple[str, ...], *, keep_nulls: bool
) -> dict[str, Any]:
    struct: dict[str, Any] = {}
    for name, value in mapping.items():
        if not isinstance(name, str):
            inside = f"field {'.'.join(path)}: " if path else ""
            kind = type(name).__name__
            raise TypeError(f"{inside}the name {name!r} is of the type {kind}, and not a text")
        if len(path) > _MOST_DEPTH:
            raise ValueError(f"a value is nested deeper than {_MOST_DEPTH} levels")
        converted = _value(value, (*path, name), keep_nulls=keep_nulls)
        if keep_nulls or converted is not None:
            struct[name] = converted
    return struct


def _value(value: Any, path: tuple[str, ...], *, keep_nulls: bool) -> Any:  # noqa: ANN401
    """Return a value in a form that Ion has."""
    from datetime import datetime

    if value is None or type(value) in _BUILTINS:
        return value
    for convert in (_of_numpy, _of_pandas_or_arrow, _of_time, _of_text_or_number):
        converted = convert(value, path)
        if converted is not value:
            return _value(converted, path, keep_nulls=keep_nulls)
    if isinstance(value, (*_BUILTINS, datetime)):
        return value
    if hasattr(value, "keys") or _is_instance_of_dataclass(value):
        return _struct(members(value), path, keep_nulls=keep_nulls)
    if _is_list(value):
        if len(path) > _MOST_DEPTH:
            raise ValueError(f"a value is nested deeper than {_MOST_DEPTH} levels")
        inner = (*path[:-1], f"{path[-1]}[]")
        return [_value(item, inner, keep_nulls=keep_nulls) for item in value]
    kind = type(value).__name__
    raise TypeError(f"field {'.'.join(path)}: values of the type {kind} have no place in a row")


def _is_list(value: object) -> bool:
    from array import array
    from collections import deque

    return isinstance(value, list | tuple | set | frozenset | deque | range | array)


def _of_numpy(value: Any, _path: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return what scalars and arrays of numpy hold; others as they are."""
    if not _comes_from(value, "numpy"):
        return value
    import numpy as np

    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else value.astype(_micro(value)).item()
    if isinstance(value, np.ndarray):
        return list(value) if value.dtype.kind in "mMO" or value.ndim > 1 else value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _of_pandas_or_arrow(value: Any, _path: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return what scalars of pandas and Arrow hold; others as they are."""
    if _comes_from(value, "pandas"):
        if type(value).__name__ in {"NaTType", "NAType"}:
            return None
        if type(value).__name__ == "Timestamp":
            return value.to_pydatetime(warn=False)
        return value
    is_scalar = _comes_from(value, "pyarrow") and hasattr(value, "as_py")
    return value.as_py() if is_scalar else value


def _micro(value: object) -> str:
    return "datetime64[us]" if type(value).__name__ == "datetime64" else "timedelta64[us]"


def _of_time(value: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return dates and times as instants, text or seconds; others as they are."""
    from datetime import UTC, date, datetime, time, timedelta

    if isinstance(value, datetime):
        return value if value.utcoffset() is not None else _in_utc(value, path)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    return value.isoformat() if isinstance(value, time) else value


def _in_utc(value: datetime, path: tuple[str, ...]) -> datetime:
    """Take a datetime without a zone for UTC, as texts of JSON without one are, and say so."""
    from datetime import UTC

    warn_of_zone(".".join(path))
    return value.replace(tzinfo=UTC)


def warn_of_zone(field: str) -> None:
    """Warn that times of a field have no zone."""
    notes.warn(f"times of {field} have no time zone: they are taken for UTC")


def _of_decimal(value: Decimal, path: tuple[str, ...]) -> int | float | str:
    """Return the number that shows the digits of a decimal, or their text if none does."""
    from decimal import Decimal

    if not value.is_finite():
        return float(value)
    if value == value.to_integral_value() and -(1 << 63) <= value < 1 << 64:
        return int(value)
    nearest = float(value)
    if Decimal(repr(nearest)) == value:
        return nearest
    notes.warn(f"column {'.'.join(path)}: {DECIMALS}")
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _of_text_or_number(value: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return decimals as numbers, and what is known by its text as this; others as they are."""
    from decimal import Decimal
    from enum import Enum
    from os import PathLike, fspath

    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return _of_decimal(value, path)
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return str(value) if type(value).__name__ in _AS_TEXT else value
