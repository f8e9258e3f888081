"""Rows of a result as lines of JSON, in the form of docs/sql.md, and what they are made of."""

from __future__ import annotations

import json
import re
from functools import wraps

from sdb.errors import UnsupportedError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import Any, ParamSpec, TypeVar

    from sdb.query.plan.scans import Column

    _Parameters = ParamSpec("_Parameters")
    _Returned = TypeVar("_Returned")

_PRINTED = frozenset("txnsbuvj")
_STRING_OR_INFINITY = re.compile(r'"(?:[^"\\]|\\.)*"|[+-]Inf')
_INFINITIES = {"+Inf": "Infinity", "-Inf": "-Infinity"}
_CONSTANTS = {"Infinity": "+Inf", "-Infinity": "-Inf", "NaN": "NaN"}


class Number(str):
    """The digits of a number, as they were printed."""

    __slots__ = ()


def _at_any_depth(
    read: Callable[_Parameters, _Returned],
) -> Callable[_Parameters, _Returned]:
    """Warn about values that are nested deeper than Python goes as of what is not supported."""

    @wraps(read)
    def told(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        try:
            return read(*args, **kwargs)
        except RecursionError:
            raise UnsupportedError(
                "a value is nested too deeply for this form of output",
                hint="--fmt json writes values of any depth",
            ) from None

    return told


def effective(columns: Iterable[Column]) -> list[Column]:
    """Drop columns whose name comes again: the last one counts."""
    last = {column.name: at for at, column in enumerate(columns) if not column.is_row}
    return [column for at, column in enumerate(columns) if column.is_row or last[column.name] == at]


def need_types(columns: Iterable[Column]) -> None:
    """Refuse columns of JSON text, which tells no time from a string that looks like one.

    Raises `UsageError` if the rows were asked for as JSON.
    """
    if any("j" in column.lanes for column in columns):
        raise UsageError(
            "the rows of this query are JSON text, which does not tell types",
            hint="leave out typed=False",
        )


def lines(stream: object, columns: Iterable[Column]) -> Generator[bytes]:
    """Print rows."""
    from sdb import _core

    shown = members(columns)
    whole = sum(name is None for name, _ in shown)
    pieces = _core.render_json(stream, shown)
    if not whole or len(shown) == 1:
        yield from pieces
    else:
        yield from _spliced(pieces, whole)


def members(columns: Iterable[Column]) -> list[tuple[str | None, dict[str, int]]]:
    """Return the names of columns, and their lanes as the core takes them.

    Returns: Whole rows come first, without a name: a named member counts before one of theirs.
    """
    shown = effective(columns)
    by_file = [
        (
            None if column.is_row else column.name,
            {letter: at for letter, at in column.lanes.items() if letter in _PRINTED},
        )
        for column in shown
    ]
    return sorted(by_file, key=lambda member: member[0] is not None)


def _spliced(pieces: Iterable[bytes], rows: int) -> Iterator[bytes]:
    """Put the members of the first values among those that follow."""
    for piece in pieces:
        merged = []
        for line in piece.decode().split("\n")[:-1]:
            own_members = _members(line)
            row = {name: value for _, inner in own_members[:rows] for name, value in inner}
            merged.append(text(row | dict(own_members[rows:])) + "\n")
        yield "".join(merged).encode()


@_at_any_depth
def _members(line: str) -> tuple[tuple[str, Any], ...]:
    loaded: tuple[tuple[str, Any], ...] = _load(line, tuple)
    return loaded


@_at_any_depth
def parse(line: str) -> dict[str, Any]:
    """Read a line of JSON as it is printed, NaN and infinities included.

    Returns: The members; numbers are :class:`Number`, so that their digits stay as they are.
    """
    row: dict[str, Any] = _load(line, dict)
    return row


def _load(line: str, objects: Callable[[list[tuple[str, Any]]], Any]) -> Any:  # noqa: ANN401
    return json.loads(
        _standard(line),
        parse_int=Number,
        parse_float=Number,
        parse_constant=lambda name: Number(_CONSTANTS[name]),
        object_pairs_hook=objects,
    )


def _standard(line: str) -> str:
    """Spell infinities in the way Python reads."""
    if "Inf" not in line:
        return line
    return _STRING_OR_INFINITY.sub(lambda match: _INFINITIES.get(match[0], match[0]), line)


@_at_any_depth
def text(value: object) -> str:
    """Print what :func:`parse` read.

    * ``value``: A value, or members as a dict or tuple of pairs.
    """
    return _text(value)


def _text(value: object) -> str:
    match value:
        case Number():
            return value
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case dict() | tuple():
            pairs = value.items() if isinstance(value, dict) else value
            return f"{{{', '.join(f'{_quoted(name)}: {_text(inner)}' for name, inner in pairs)}}}"
        case str():
            return _quoted(value)
        case _:
            return json.dumps(value)


def _quoted(string: str) -> str:
    return json.dumps(string, ensure_ascii=False)
