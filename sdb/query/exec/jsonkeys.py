"""Typed texts of JSON, for functions of queries."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from json import JSONDecoder, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_WHOLE = 1 << 64
_MOST_DEPTH = 128
_REMEMBERED = 4096
"""Longer texts are parsed each time: their values take much memory."""
_NOTHING = object()


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


# Of two members of one name the first counts, here as everywhere.
_DECODER = JSONDecoder(
    object_pairs_hook=lambda pairs: dict(reversed(pairs)) if _repeats(pairs) else dict(pairs),
    parse_constant=_no_number,
)


def _repeats(pairs: list[tuple[str, Any]]) -> bool:
    return len({name for name, _ in pairs}) < len(pairs)


def key(text: str | None, request: str | None) -> str | None:
    """Return the key of a value in a JSON text; nothing when the text holds none.

    * ``request``: ``k`` for the members of structures by name, ``v`` for their own order; behind it
      the way to the value as a JSON list.

    >>> key('{"b": [1, 2.0], "a": null}', "k[]"), key('{"b": [1, 2.5]}', 'k["b", 0]')
    ('{1:a1:z1:b9:[2:n12:n2', 'n1')
    >>> key("{", "k[]"), key('{"b": [1, 2.5]}', 'k["b", "c"]')
    (None, None)
    """
    if text is None or request is None:
        return None
    try:
        value = _decoded(text) if len(text) <= _REMEMBERED else _DECODER.decode(text)
        for step in _steps(request[1:]):
            value = value[step] if _holds(value, step) else _NOTHING
        return None if value is _NOTHING else _key(value, 0, is_sorted=request.startswith("k"))
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Any:  # noqa: ANN401 - any value
    """Return the value of a text; several lanes of one row ask for it, one after the other."""
    return _DECODER.decode(text)


@lru_cache(maxsize=256)
def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = loads(path)
    return steps


def _holds(value: object, step: str | int) -> bool:
    """Check whether a value has a member or element."""
    if isinstance(step, int):
        return isinstance(value, list) and step < len(value)
    return isinstance(value, dict) and step in value


def key_of(value: object) -> str:
    """Return the key of a value of JSON."""
    return _key(value, 0, is_sorted=True)


def _key(value: object, depth: int, *, is_sorted: bool) -> str:
    if depth > _MOST_DEPTH:
        raise ValueError("nested too deeply")
    match value:
        case None:
            return "z"
        case bool():
            return "b1" if value else "b0"
        case str():
            value.encode()
            return f"s{value}"
        case int() | float():
            return _number(value)
        case list():
            return "[" + "".join(_sized(_key(x, depth + 1, is_sorted=is_sorted)) for x in value)
    assert isinstance(value, dict)  # noqa: S101
    names = sorted(value, key=str.encode) if is_sorted else value
    members = (
        _sized(name) + _sized(_key(value[name], depth + 1, is_sorted=is_sorted)) for name in names
    )
    return "{" + "".join(members)


def _sized(text: str) -> str:
    return f"{len(text.encode())}:{text}"


def _number(value: float) -> str:
    """Return the key of a number; one that no double holds is no value."""
    if abs(value) <= _MOST_WHOLE and value == int(value):
        return f"n{int(value)}"
    double = float(value)
    if math.isinf(double):
        raise ValueError("a number without end")
    return f"f{struct.pack('>d', double).hex()}"
