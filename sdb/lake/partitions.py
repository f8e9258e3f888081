"""Values of the columns that a table is partitioned by, in the text form of Delta."""

from __future__ import annotations

from sdb.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = {"byte": "int8", "short": "int16", "integer": "int32", "long": "int64"}
_FLOATS = {"float": "float32", "double": "float64"}
_TIMES = frozenset({"timestamp", "timestamp_ntz"})
_OTHERS = frozenset({"string", "boolean", "binary", "date", "void"})
PRIMITIVE = frozenset({*_INTEGERS, *_FLOATS, *_TIMES, *_OTHERS})
"""Names of types, aside from ``decimal(P,S)``."""
_TRUTH = {"true": True, "false": False}


def partition_value(kind: str, text: str | None) -> pa.Scalar:
    """Return the value that the log has for a partition column, in its type.

    * ``kind``: Name of the type in Delta.

    Raises `InputError` if the text is no value of the type.
    """
    import pyarrow as pa

    if not text:  # the empty text is null, too
        return pa.scalar(None, pa.null())
    try:
        return _value(kind, text)
    except (ValueError, ArithmeticError, pa.ArrowException, KeyError):
        raise InputError(f"the partition value {text!r} is no {kind}") from None


def _value(kind: str, text: str) -> pa.Scalar:  # noqa: PLR0911 - one for each kind
    import pyarrow as pa

    if kind in _INTEGERS:
        return pa.scalar(int(text), pa.type_for_alias(_INTEGERS[kind]))
    if kind in _FLOATS:
        return pa.scalar(float(text), pa.type_for_alias(_FLOATS[kind]))
    if kind == "boolean":
        return pa.scalar(_TRUTH[text.lower()])
    if kind == "binary":
        # Characters are bytes; where one cannot be, the writer took the bytes for UTF-8.
        is_bytes = all(ord(letter) < 256 for letter in text)  # noqa: PLR2004
        return pa.scalar(text.encode("latin-1" if is_bytes else "utf-8", "surrogateescape"))
    if kind == "date":
        from datetime import date

        return pa.scalar(date.fromisoformat(text))
    if kind in _TIMES:
        from datetime import UTC, datetime

        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return pa.scalar(moment.astimezone(UTC), pa.timestamp("us", "UTC"))
    if kind.startswith("decimal("):
        from decimal import Decimal

        precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
        return pa.scalar(Decimal(text), pa.decimal128(int(precision), int(scale)))
    return pa.scalar(text)
