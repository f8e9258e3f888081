"""Pseudo-columns: what rows have beside their fields, when it is named."""

from __future__ import annotations

from sdb.query.analyze.types import NUMBER, STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PSEUDO = {"_file": ("file", STRING), "_row": ("row", NUMBER)}
"""For each name the letter of the lane and the type: the file that a row comes from, and the number
of the row in it, from 0 on. A field of the name goes before it."""


class Certain(str):
    """A name of a pseudo-column that is one even where a field has the name: no query has it."""

    __slots__ = ()


def is_pseudo(path: Sequence[object]) -> bool:
    """Check whether a path from the row names a pseudo-column that no field hides."""
    return len(path) == 1 and path[0] in PSEUDO
