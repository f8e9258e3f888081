"""Inputs as programs give them: paths, URLs, open files and rows, one or many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from sdb import ion
from sdb.errors import InputError, UsageError
from sdb.packfile.inputs import Input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, TypeAlias, TypeGuard

    from sdb.packfile.inputs import One
    from sdb.store.base import Location

    Inputs: TypeAlias = One | Iterable[One] | Iterable[Mapping[str, object]]

ROWS = "the rows"
_PIECE_BYTES = 1 << 16


def listed(given: Inputs) -> list[One]:
    """Give inputs as a list of what can be recognised.

    Parameters
    ----------
    given : path, URL, binary file, Input, iterable of these, or iterable of dict
        Dicts are rows, and all of them one input.

    Returns
    -------
    list of path, URL, binary file or Input
        In the same order.

    Raises
    ------
    UsageError
        Something else.
    """
    if _is_one(given):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise _unfit(given)
    many: Iterator[Any] = iter(given)
    first = next(many, None)
    if isinstance(first, Mapping):
        once = not isinstance(given, list | tuple)
        rows: Any = chain([first], many) if once else given
        return [Input(ROWS, "ion", once=once, source=lambda: _encoded(rows))]
    found = [] if first is None else [first, *many]
    for one in found:
        if not _is_one(one):
            raise _unfit(one)
    return found


def locations(inputs: Iterable[One]) -> list[Location | int]:
    """Give paths and URLs of inputs, and the descriptors of open files; not those of rows."""
    found: list[Location | int] = []
    for one in inputs:
        if isinstance(one, str | os.PathLike):
            found.append(one)
        elif not isinstance(one, Input):
            try:
                found.append(one.fileno())
            except (OSError, AttributeError):
                continue  # a file in memory
    return found


def _is_one(given: object) -> TypeGuard[One]:
    return isinstance(given, str | os.PathLike | Input) or hasattr(given, "read")


def _unfit(given: object) -> UsageError:
    return UsageError(
        f"an input cannot be a {type(given).__name__}",
        hint="a path, a URL, a binary file, a list of rows as dicts, or several of the first three",
    )


def _encoded(rows: Iterable[Mapping[str, object]]) -> Generator[bytes]:
    piece = bytearray()
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number:,} is a {type(row).__name__}, and not a dict", path=ROWS)
        try:
            piece += ion.dumps(dict(row))
        except (TypeError, ValueError) as error:
            raise InputError(f"row {number:,}: {error}", path=ROWS) from error
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
