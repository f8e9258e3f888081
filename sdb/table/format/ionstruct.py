"""Members of structs that were read from an object, each of the type that it must have."""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from sdb.table.format.signature import Keyring

MOST = 2**63 - 1
_MOST_SHOWN = 40


def signed(data: bytes, keyring: Keyring, newest: int, what: str) -> dict[str, Any]:
    """Read a signed object that is a struct with the number of its format.

    * ``newest``: The number of the format that this build knows.
    * ``what``: What the object is, as messages say it: ``a view``.

    Raises `CorruptError` if it is not signed with one of the keys, or no struct; `UnsupportedError`
    if it is of a later format.
    """
    value, _, _ = ion.decode(keyring.open(data))
    if not isinstance(value, dict):
        raise CorruptError("it is not a struct")
    if (number := count(value, "format")) != newest:
        raise UnsupportedError(f"{what} of format {number}, this build knows {newest}")
    return value


def known(value: object, names: Collection[str], what: str) -> dict[str, Any]:
    """Require a struct with no other fields than those that are known.

    Raises `CorruptError` if it is no struct, or has another field.
    """
    if not isinstance(value, dict):
        raise invalid(what, "a struct", value)
    if unknown := [name for name in value if name not in names]:
        raise CorruptError(f'{what}: unexpected field "{unknown[0]}"')
    return value


def listed(value: object, what: str) -> list[Any]:
    """Require a list."""
    if not isinstance(value, list):
        raise invalid(what, "a list", value)
    return value


def text(value: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a member that is a string; without a default it has to be there."""
    member = value.get(name, default)
    if type(member) is not str:
        raise _wrong(value, name, "a string")
    return member


def count(value: dict[str, Any], name: str, default: int | None = None) -> int:
    """Return a member that is an integer from 0 to 2^63-1."""
    member = value.get(name, default)
    if type(member) is not int or not 0 <= member <= MOST:
        raise _wrong(value, name, "an integer from 0 on")
    return member


def count_if_present(value: dict[str, Any], name: str) -> int | None:
    """Return a member that is an integer from 0 to 2^63-1; None where it is not there."""
    return count(value, name) if name in value else None


def flag(value: dict[str, Any], name: str) -> bool:
    """Return a member that is true or false; false when it is not there."""
    member = value.get(name, False)
    if type(member) is not bool:
        raise _wrong(value, name, "true or false")
    return member


def instant(value: dict[str, Any], name: str) -> int | None:
    """Return the microseconds of a member that is a timestamp; None when it is not there."""
    if name not in value:
        return None
    us = ion.instant_to_us(value[name])
    if us is None:
        raise _wrong(value, name, "a timestamp")
    return us


def invalid(name: str, expected: str, value: object) -> CorruptError:
    """Return the error for a value of another type than a member must have."""
    return CorruptError(f"invalid {name}: expected {expected}, got {shown(value)}")


def shown(value: object) -> str:
    """Return a value as an error shows it: short ones themselves, others by type and size."""
    if isinstance(value, dict):
        return f"a struct of {len(value):,} members"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, bytes):
        return f"a blob of {len(value):,} bytes"
    text = "null" if value is None else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _wrong(value: dict[str, Any], name: str, expected: str) -> CorruptError:
    if name not in value:
        return CorruptError(f"{name} is missing")
    return invalid(name, expected, value[name])
