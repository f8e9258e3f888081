"""Functions whose texts grow with their operands: how long they get is looked at before.

DuckDB makes the texts of a whole vector, 2,048 rows, in memory that no limit covers, and cannot be
stopped meanwhile. `sdb_room` takes the lengths of a vector: it fails where all together are too
long, and is FALSE where one is longer than a text may be.

A text that was made once may stand beside many rows, as a constant, in a join, or as the answer of
a sub-query, and each function of it and of the row makes another one. So texts of constants count
for each row of a vector, and `sdb_held` looks at the others where they are taken from.
"""

from __future__ import annotations

from sdb.query.analyze.types import STRING
from sdb.query.duckdb_sql.values.lanes import Typed, Value
from sdb.query.syntax import ast, visitor
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.query.plan.scans import Shape

LONGEST = 1 << 24
"""Longest text that a function makes, in bytes; longer ones are MISSING."""
MOST_BYTES = 64 << 20
"""Most bytes of the texts that one call makes of the rows of a vector."""
TOO_LONG = "texts would be made of more than"
_LONGEST_CONSTANTS = MOST_BYTES // LONGEST
"""So often a constant counts where there is one row: it may be as long as a text may be."""
TOO_LONG_TO_COMPARE = "texts are too long to be compared letter by letter"
_MOST_LETTERS = 1 << 24
"""Letters of the one text times those of the other, where a row is compared by the engine."""
_MOST_LETTERS_OF_VECTOR = 1 << 31
_FACTOR = 1 << 16
"""Factor by which a statement may make texts longer without a look at each."""


_VECTOR_ROWS = 2048
_OF_EACH_ROW = "(0 * random())::BIGINT"
"""Makes the engine call a function with each row, where all rows of a vector have the same text."""
_MAKERS = frozenset({"REPEAT", "LPAD", "RPAD"})
_LISTERS = frozenset({"ARRAY_AGG", "STRING_AGG", "HISTOGRAM", "APPROX_TOP_K"})


@record
class Growth:
    """Bounds of what texts of a statement may grow to."""

    is_wary: bool = False  # whether those that replace may make texts of any length together
    has_copies: bool = False  # whether a long text may stand beside many rows
    copies: int = 1  # how often a text counts that is made of constants

    def room(self, length: str, *, copies: int = 1) -> str:
        """Return SQL that tells whether a text may be made, by SQL of its length.

        * ``copies``: How often it counts.
        """
        count = f"1 + {_OF_EACH_ROW}" if self.has_copies and copies == 1 else str(copies)
        return f"sdb_room({length}, {count})"


def growth_of(statement: ast.Statement) -> Growth:
    """Return what texts of a statement may grow to."""
    replacing = joining = makers = 1
    has_rows = is_repeated = is_long = False
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Select):
            has_rows |= bool(node.sources)
            is_repeated |= len(node.sources) > 1
        elif isinstance(node, ast.Subquery):
            is_repeated = True
        elif isinstance(node, ast.Aggregate):
            is_repeated |= node.over is not None
            is_long |= node.name in _LISTERS
        elif isinstance(node, ast.Call) and node.name in {"REPLACE", "REGEXP_REPLACE"}:
            replacing = min(replacing * _replaced_factor(node), _FACTOR + 1)
        elif isinstance(node, ast.Call):
            makers += node.name in _MAKERS
            joining *= max(1, len(node.args)) if node.name.startswith("CONCAT") else 1
        elif isinstance(node, ast.Binary) and node.op == "||":
            joining *= 2
        joining = min(joining, _FACTOR + 1)
    is_long |= makers > 1 or max(replacing, joining) > _FACTOR
    copies = max(1, makers - 1) * (_VECTOR_ROWS if has_rows else _LONGEST_CONSTANTS)
    return Growth(replacing > _FACTOR, is_long and is_repeated, copies)


def _replaced_factor(node: ast.Call) -> int:
    """Return how many times longer a function that replaces may make a text."""
    old, new = (_bytes(arg) for arg in node.args[1:3])
    if new is None:
        return _FACTOR + 1
    # A pattern may match each letter, and name what it has matched.
    shortest = old if node.name == "REPLACE" and old else 1
    return max(1, -(-new // shortest) + (node.name != "REPLACE"))


def is_constant(call: ast.Call) -> bool:
    """Return whether a call names nothing of rows, so that it is computed once for all of them."""
    named = (ast.Name, ast.Element, ast.Aggregate, ast.Select)
    return not any(isinstance(node, named) for node in visitor.nodes(call))


class Looked(Value):
    """A value of another query that may stand beside many rows: its length is looked at."""

    def __init__(self, inner: Value) -> None:
        self.inner = inner
        self.mask, self.has_timed = inner.mask, inner.has_timed
        self.integer, self.whole, self.wide = inner.integer, inner.whole, inner.wide
        self.bounds, self.is_column, self.declared = inner.bounds, inner.is_column, inner.declared

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return self.inner.shape

    def _lane(self, letter: str) -> str:
        sql = self.inner.lane(letter)
        return _held(sql) if letter in "skvj" else sql

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        return self.inner.key()

    def step(self, step: str | int) -> Value:
        """Return value of a member or element."""
        return looked(self.inner.step(step))


def looked(value: Value) -> Value:
    """Return a value whose length is looked at wherever it is taken."""
    if not isinstance(value, Typed):
        return Looked(value)
    if value.kind != STRING:
        return value
    new = value.like(_held(value.sql), value.absent)
    new.is_column, new.declared = value.is_column, value.declared
    return new


def _held(sql: str) -> str:
    return f"CASE WHEN sdb_held(strlen({sql}) + {_OF_EACH_ROW}) THEN {sql} END"


def window(partition: Sequence[str], order: Sequence[str] = (), frame: str = "") -> str:
    """Return what stands in the parentheses of OVER.

    DuckDB takes no keys that change by the row: a text beside many rows counts once there.
    """
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    # With an order, an aggregate is about the rows up to this one and its peers.
    parts += [f"ORDER BY {', '.join(order)}"] if order else []
    keys = " ".join(parts).replace(_OF_EACH_ROW, "0")
    return f"{keys} {frame}".strip()


def _bytes(node: ast.Expr) -> int | None:
    is_text = isinstance(node, ast.Literal) and isinstance(node.value, str)
    return len(node.value.encode("utf-8", "replace")) if is_text else None  # type: ignore[union-attr]


def replaced(growth: Growth, text: str, old: str, new: str) -> str:
    """Return SQL of REPLACE that looks at the length of the text first; operands are SQL too."""
    count = "(strlen(r.t) - strlen(replace(r.t, r.o, ''))) // greatest(strlen(r.o), 1)"
    grown = f"strlen(r.t) + {count} * strlen(r.n)"
    return _looked_at({"t": text, "o": old, "n": new}, growth.room(grown), "replace(r.t, r.o, r.n)")


def regexp_replaced(growth: Growth, lanes: list[str]) -> str:
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
    return _looked_at({"t": text}, growth.room(grown), done)


def _looked_at(operands: dict[str, str], room: str, sql: str) -> str:
    """Return SQL of a function whose operands stand in it once, whatever is asked of them."""
    bound = ", ".join(f"'{name}': {operand}" for name, operand in operands.items())
    row = f"lambda r: CASE WHEN {room} THEN {sql} END"
    return f"list_transform([{{{bound}}}], {row})[1]"


def compared(first: str, second: str, sql: str) -> str:
    """Return SQL that compares two texts, each letter with each, where they are not too long."""
    is_long = f"strlen({first}) * strlen({second}) > {_MOST_LETTERS}"
    return f"CASE WHEN {is_long} THEN error('{TOO_LONG_TO_COMPARE}') ELSE {sql} END"


def check_compared(first: pa.ChunkedArray, second: pa.ChunkedArray) -> None:
    """Check that the texts of a vector are short enough to be compared letter by letter.

    Raises `ValueError` if they are not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = (pc.cast(pc.binary_length(each), pa.int64()) for each in (first, second))
    if (pc.sum(pc.multiply(*lengths)).as_py() or 0) > _MOST_LETTERS_OF_VECTOR:
        raise ValueError(TOO_LONG_TO_COMPARE)


def room(lengths: pa.ChunkedArray, copies: pa.ChunkedArray) -> Any:  # noqa: ANN401 - booleans
    """Return which of the texts of a vector may be made, by their lengths.

    * ``copies``: How often each of them counts.

    Raises `ValueError` if all together are too long.
    """
    import pyarrow.compute as pc

    fitting = pc.less_equal(lengths, LONGEST)
    _check_total(pc.multiply(pc.if_else(fitting, lengths, 0), copies), MOST_BYTES)
    return fitting.combine_chunks()


def held(lengths: pa.ChunkedArray, memory_bytes: int | None) -> Any:  # noqa: ANN401 - the same
    """Return TRUE for each of the texts of a vector that were made already.

    * ``memory_bytes``: What the query may take.

    Raises `ValueError` if all together are too long.
    """
    import pyarrow.compute as pc

    _check_total(lengths, max(MOST_BYTES, (memory_bytes or 0) // 8))
    return pc.is_valid(lengths).combine_chunks()


def _check_total(lengths: pa.ChunkedArray, most_bytes: int) -> None:
    import pyarrow.compute as pc

    if (pc.sum(lengths).as_py() or 0) > most_bytes:
        raise ValueError(f"{TOO_LONG} {most_bytes >> 20:,} MiB for 2,048 rows")
