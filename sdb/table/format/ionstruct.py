"""Members of structs that were read from an object, each of the type that it must have."""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

_MOST = 2**63 - 1


def known(value: object, names: Collection[str], what: str) -> dict[str, Any]:
    """Insist on a struct with no other fields than those that are known.

    Parameters
    ----------
    value : object
        What was read.
    names : collection of str
        The fields that it may have.
    what : str
        What it is, for the message.

    Returns
    -------
    dict
        The same struct.

    Raises
    ------
    CorruptError
        It is no struct, or has another field.
    """
    if not isinstance(value, dict):
        raise CorruptError(f"{what} is not a struct")
    if unknown := [name for name in value if name not in names]:
        raise CorruptError(f'{what}: unexpected field "{unknown[0]}"')
    return value


def listed(value: object, what: str) -> list[Any]:
    """Insist on a list."""
    if not isinstance(value, list):
        raise CorruptError(f"{what} is not a list")
    return value


def text(value: dict[str, Any], name: str, default: str | None = None) -> str:
    """Give a member that is a string; without a default it has to be there."""
    found = value.get(name, default)
    if type(found) is not str:
        raise CorruptError(_wrong(value, name, "a string"))
    return found


def count(value: dict[str, Any], name: str, default: int | None = None) -> int:
    """Give a member that is an integer from 0 to 2^63-1."""
    found = value.get(name, default)
    if type(found) is not int or not 0 <= found <= _MOST:
        raise CorruptError(_wrong(value, name, "a number"))
    return found


def count_if_told(value: dict[str, Any], name: str) -> int | None:
    """Return a member that is an integer from 0 to 2^63-1; None where it is not there."""
    return count(value, name) if name in value else None


def flag(value: dict[str, Any], name: str) -> bool:
    """Give a member that is true or false; false when it is not there."""
    found = value.get(name, False)
    if type(found) is not bool:
        raise CorruptError(_wrong(value, name, "true or false"))
    return found


def blob(value: dict[str, Any], name: str, size_bytes: int | None = None) -> bytes:
    """Give a member that is a blob, of some size where one is given."""
    found = value.get(name)
    if type(found) is not bytes or size_bytes not in {None, len(found)}:
        raise CorruptError(_wrong(value, name, "a blob" if size_bytes is None else "a digest"))
    return found


def instant(value: dict[str, Any], name: str) -> int | None:
    """Give the microseconds of a member that is a timestamp; None when it is not there."""
    if name not in value:
        return None
    us = ion.instant_to_us(value[name])
    if us is None:
        raise CorruptError(_wrong(value, name, "a timestamp"))
    return us


def _wrong(value: dict[str, Any], name: str, expected: str) -> str:
    return f"{name} is not {expected}" if name in value else f"{name} is missing"
