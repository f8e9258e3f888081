"""Functions whose texts grow with their operands: how long they get is looked at before.

DuckDB makes the texts of a whole vector, 2,048 rows, in memory that no limit covers, and cannot be
stopped meanwhile. `sdb_room` takes the lengths of a vector: it fails where all together are too
long, and is FALSE where one is longer than a text may be.
"""

from __future__ import annotations

from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

LONGEST = 1 << 24
"""Longest text that a function makes, in bytes; longer ones are MISSING."""
MOST_BYTES = 64 << 20
"""Most bytes of the texts that one call makes of the rows of a vector."""
TOO_LONG = "texts would be made of more than"
_FACTOR = 1 << 16
"""Factor by which a statement may make texts longer without a look at each."""


def is_wary(statement: ast.Statement) -> bool:
    """Return whether the functions that replace may make texts of any length together."""
    factor = 1
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Call) and node.name in {"REPLACE", "REGEXP_REPLACE"}:
            old, new = (_bytes(arg) for arg in node.args[1:3])
            if new is None:
                return True
            # A pattern may match each letter, and name what it has matched.
            shortest = old if node.name == "REPLACE" and old else 1
            factor *= max(1, -(-new // shortest) + (node.name != "REPLACE"))
    return factor > _FACTOR


def _bytes(node: ast.Expr) -> int | None:
    is_text = isinstance(node, ast.Literal) and isinstance(node.value, str)
    return len(node.value.encode("utf-8", "replace")) if is_text else None  # type: ignore[union-attr]


def replaced(text: str, old: str, new: str) -> str:
    """Return SQL of REPLACE that looks at the length of the text first; operands are SQL too."""
    count = "(strlen(r.t) - strlen(replace(r.t, r.o, ''))) // greatest(strlen(r.o), 1)"
    grown = f"strlen(r.t) + {count} * strlen(r.n)"
    return _looked_at({"t": text, "o": old, "n": new}, grown, "replace(r.t, r.o, r.n)")


def regexp_replaced(lanes: list[str]) -> str:
    """Return SQL of REGEXP_REPLACE that looks at the length first; see :func:`replaced`.

    * ``lanes``: The text, and constants: the pattern, what replaces it, and flags.
    """
    text, pattern, new, *flags = lanes
    count = "1"
    if flags and "g" in flags[0]:
        # Each match takes a byte away, unless it may be empty.
        rest = f"strlen(regexp_replace(r.t, {pattern}, '', 'g'))"
        empty = f"regexp_matches('', {pattern})"
        count = f"CASE WHEN {empty} THEN strlen(r.t) + 1 ELSE strlen(r.t) - {rest} END"
    grown = f"strlen(r.t) * (1 + strlen({new})) + ({count}) * strlen({new})"
    done = f"regexp_replace({', '.join(['r.t', pattern, new, *flags])})"
    return _looked_at({"t": text}, grown, done)


def _looked_at(operands: dict[str, str], length: str, sql: str) -> str:
    """Return SQL of a function whose operands stand in it once, whatever is asked of them."""
    bound = ", ".join(f"'{name}': {operand}" for name, operand in operands.items())
    row = f"lambda r: CASE WHEN sdb_room({length}) THEN {sql} END"
    return f"list_transform([{{{bound}}}], {row})[1]"


def room(lengths: pa.ChunkedArray) -> Any:  # noqa: ANN401 - an array of booleans
    """Return which of the texts of a vector may be made, by their lengths.

    Raises
    ------
    ValueError
        All together are too long.
    """
    import pyarrow.compute as pc

    fitting = pc.less_equal(lengths, LONGEST)
    total = pc.sum(pc.if_else(fitting, lengths, 0)).as_py() or 0
    if total > MOST_BYTES:
        raise ValueError(f"{TOO_LONG} {MOST_BYTES >> 20} MiB for 2,048 rows")
    return fitting.combine_chunks()
