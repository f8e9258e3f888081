"""Inputs of the simulation: each has editions, whose rows tell which they are of."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

INPUTS = tuple(f"s3://in/{number}.json" for number in range(12))
ETAG = '"e"'
"""The ETag of the first edition of each."""

_NEWER = '"e{}"'


class Editions:
    """The inputs as they are: they begin with the first edition."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()

    def etag(self, path: str) -> str:
        """Return the ETag of an input."""
        number = self._numbers[path]
        return _NEWER.format(number) if number else ETAG

    def change(self, path: str) -> None:
        """Change the content of an input."""
        self._numbers[path] += 1


def rows_of(path: str, etag: str) -> tuple[str, ...]:
    """Return the rows of an edition: one of the first, two of each later one."""
    number = etag.strip('"e')
    return (f"{path}#{number}", f"{path}#{number}+") if number else (path,)


def input_of(token: str) -> str:
    """Return the input that a row came from; empty: from none."""
    path = token.partition("#")[0]
    return path if path in INPUTS else ""


def of_inputs(rows: Iterable[str]) -> bool:
    """Return whether all rows came from inputs."""
    return all(input_of(row) for row in rows)
