"""Pseudo-columns: what rows have beside their fields, when it is named."""

from __future__ import annotations

from sdb.query.analyze.types import NUMBER, STRING
from sdb.query.syntax import ast, visitor
from sdb.records import field_names

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


def names_origins(statement: ast.Statement) -> bool:
    """Check whether an answer may depend on which file a row is in; samples take rows by that."""
    return any(
        isinstance(node, ast.Sample) or _names_one(node) for node in visitor.nodes(statement)
    )


def may_name_pseudo(select: ast.Select) -> bool:
    """Check whether anything in a select has the name of a pseudo-column."""
    return any(map(_names_one, visitor.nodes(select)))


def _names_one(node: ast.Node) -> bool:
    return any(_names_pseudo(getattr(node, name)) for name in field_names(type(node)))


def _names_pseudo(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_names_pseudo, value))
    return isinstance(value, str) and value in PSEUDO
