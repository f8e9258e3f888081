"""Sizes in bytes and numbers of things, and their texts."""

from __future__ import annotations

from sdb.errors import UsageError

_UNITS = "KMGTPE"
_MOST_DIGITS = 40


def human(size_bytes: int) -> str:
    """Write a size the way `describe-file` does: three decimals and a binary unit.

    * ``size_bytes``: The size; not negative.

    >>> human(1023), human(1054720), human(5000 << 60)
    ('1023', '1.006 MiB', '5000.000 EiB')
    """
    unit = -1
    decimals = 0
    while size_bytes >= 1024 and unit + 1 < len(_UNITS):  # noqa: PLR2004 - KiB
        unit += 1
        decimals = (size_bytes % 1024 * 1000 + 512) // 1024
        size_bytes //= 1024
    return str(size_bytes) if unit < 0 else f"{size_bytes}.{decimals:03} {_UNITS[unit]}iB"


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "row"), counted(2015, "row")
    ('1 row', '2,015 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ratio(decompressed_bytes: int, compressed_bytes: int) -> str:
    """Write how many times smaller something became, with two decimals."""
    if compressed_bytes == 0:
        return "NaN" if decompressed_bytes == 0 else "+Inf"
    return f"{decompressed_bytes / compressed_bytes:.2f}"


def parse(text: str) -> int:
    """Read a size such as ``50MiB``, ``64k`` or ``1000000``.

    Units count in steps of 1024, or of 1000 when they are written like ``MB``.

    * ``text``: A number with an optional unit; case does not matter.

    Raises `UsageError` if the text is not a size.

    >>> parse("50MiB"), parse("1.5k"), parse("2 MB")
    (52428800, 1536, 2000000)
    """
    word = text.strip().upper()
    rest = word.removesuffix("B")
    stem = rest.removesuffix("I")
    exponent = _UNITS.find(stem[-1:]) + 1 if stem else 0
    number = (stem[:-1] if exponent else rest).rstrip()
    if not number.replace(".", "", 1).isdecimal() or len(number) > _MOST_DIGITS:
        shown = text if len(text) <= _MOST_DIGITS else text[:_MOST_DIGITS] + "..."
        raise UsageError(f"{shown!r} is not a size", expected="a size such as 50MiB")
    step = 1000 if word.endswith("B") and stem == rest else 1024
    whole, _, part = number.partition(".")
    size_bytes: int = int(whole + part) * step**exponent // 10 ** len(part)
    return size_bytes
