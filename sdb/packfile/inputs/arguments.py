"""Inputs as programs give them: paths, URLs, open files and rows, one or many."""

from __future__ import annotations

import os
from itertools import chain

from sdb import ion, notes
from sdb.errors import InputError, NotFoundError, UsageError, text_of
from sdb.packfile.inputs.inputs import Input
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from typing import Any, TypeAlias, TypeGuard

    from sdb.packfile.inputs.inputs import One
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
        return _expanded([given])
    if not hasattr(given, "__iter__") or isinstance(given, bytes) or _is_row(given):
        raise _unfit(given)
    everything: Any = given
    many: Iterator[Any] = iter(everything)
    first = next(many, None)
    if _is_row(first):
        once = not isinstance(given, list | tuple)
        rows: Any = chain([first], many) if once else given
        return [Input(ROWS, "ion", once=once, source=lambda: encoded_rows(rows))]
    found = [] if first is None else [first, *many]
    for one in found:
        if not _is_one(one):
            raise _unfit(one)
    return _expanded(found)


def _expanded(inputs: Iterable[One]) -> list[One]:
    """Put the files of folders, at any depth, in their place."""
    found: list[One] = []
    for one in inputs:
        if isinstance(one, str | os.PathLike) and one != "-" and store_of(one).is_folder(one):
            found += _files(one)
        else:
            found.append(one)
    return found


def _files(folder: Location) -> list[One]:
    """List the files of a folder, sorted; names with . or _ in front hide theirs."""
    from glob import escape

    path = text_of(folder)
    above = os.fspath(folder).rstrip("/") + "/"
    entries = store_of(folder).find(f"{escape(above)}**/*")
    names = [entry.location for entry in entries if not _is_hidden(entry.location[len(above) :])]
    if hidden := len(entries) - len(names):
        files = "1 file" if hidden == 1 else f"{hidden:,} files"
        notes.warn(f"{path}: left out {files} with . or _ in front of a name")
    if not names:
        raise NotFoundError(f"{path}: the folder has no files", path=path)
    return list(names)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


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


def _is_row(given: object) -> bool:
    return hasattr(given, "keys")


def _unfit(given: object) -> UsageError:
    return UsageError(
        f"an input cannot be a {type(given).__name__}",
        hint="a path, a URL, a binary file, a list of rows as dicts, or several of the first three",
    )


def encoded_rows(rows: Iterable[Mapping[str, object]]) -> Generator[bytes]:
    """Encode rows, a stream each.

    Yields
    ------
    bytes
        Some of them.

    Raises
    ------
    InputError
        A row that is none, or has a value that no row can have.
    """
    piece = bytearray()
    for number, row in enumerate(rows):
        if not _is_row(row):
            raise InputError(f"row {number:,} is a {type(row).__name__}, and not a dict", path=ROWS)
        try:
            piece += ion.dumps(dict(row))
        except (TypeError, ValueError) as error:
            raise InputError(f"row {number:,}: {error}", path=ROWS) from error
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
