"""Values of any type as SQL: typed lanes.

An expression of the dialect becomes a :class:`Value`, which gives SQL for each lane on demand; what
nobody asks for is neither read nor computed. In a typed lane SQL's NULL means "not of this type",
which lets wrong types and MISSING propagate through SQL's own operators.

Lanes, by letter: ``t`` type (0 for MISSING, else the value of TYPE_BIT), ``n`` number, ``x`` whole
number (exact, at most 2**64 away from 0; a BIGINT or wide), ``i`` the same of a field whose numbers
are known to be BIGINTs, ``s`` string, ``b`` boolean, ``u``
timestamp, ``k`` key (text that is the same for equal values), ``v`` typed text (a key whose
structures have their members as they stand), ``j`` JSON text, ``z`` SIZE, ``l`` list of numbers,
``e`` keys of the elements of a list.
"""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.analyze.types import (
    ANY,
    BOOL,
    HOLDS,
    LIST,
    MISSING,
    NULL,
    NUMBER,
    STRING,
    STRUCT,
    TIME,
)
from sdb.query.duckdb_sql.values import quoting
from sdb.query.plan.scans import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.ast import Constant as ConstantValue
    from sdb.table.schema.types import ColumnType

SQL_TYPES = {
    "t": "UTINYINT",
    "n": "DOUBLE",
    "x": quoting.WIDE,
    "s": "VARCHAR",
    "b": "BOOLEAN",
    "u": "TIMESTAMP",
    "k": "VARCHAR",
    "v": "VARCHAR",
    "j": "VARCHAR",
    "z": "BIGINT",
    "l": "DOUBLE[]",
    "e": "VARCHAR[]",
}
_MOST_SQL = 1 << 20


def bounded(sql: str) -> str:
    """Refuse SQL that grows without bound: some expressions name their operands many times."""
    if len(sql) > _MOST_SQL:
        raise QueryError("the query is too complex", hint="compute parts of it in sub-queries")
    return sql


class Value:
    """A value of the dialect."""

    mask: int = MISSING  # the types it may have, MISSING among them
    integer: bool = False  # whether it is a static integer: arithmetic over it is 64-bit arithmetic
    whole: bool = False  # whether all its numbers are whole, and lane ``x`` has each of them
    wide: bool = False  # whether, if it is one, its lane of whole numbers may be beyond BIGINT
    # Bounds of such numbers, where these are known and doubles tell all between them apart
    bounds: tuple[int, int] | None = None
    has_timed: bool = False  # whether it may be a text of the query that is a time as well
    # Whether it is a column of a schema, which is there even if no row has a value
    is_column: bool = False
    declared: ColumnType | None = None  # the type that a schema says it has

    def lane(self, letter: str) -> str:
        """Return SQL of a lane."""
        if letter == "t" and not self.mask & (self.mask - 1):
            return f"{self.mask & ~MISSING}::UTINYINT"
        if not HOLDS[letter] & self.mask:
            return f"NULL::{SQL_TYPES[letter]}"
        return self._lane(letter)

    def _lane(self, letter: str) -> str:
        raise NotImplementedError

    def step(self, step: str | int) -> Value:
        """Return value of a field of a structure, or of an element of a list."""
        if not self.mask & (LIST if isinstance(step, int) else STRUCT):
            return Nothing()
        return Keyed(self.lane("k")).step(step)

    @property
    def stored(self) -> Value:
        """The value as rows have it, whatever a schema says of it."""
        return self

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return Shape(self.mask)

    @property
    def only(self) -> int:
        """Return the one type it can have besides MISSING, 0 when there are more."""
        types = self.mask & ~MISSING
        return 0 if types & (types - 1) else types

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING, never NULL."""
        if not self.mask & MISSING:
            return "false"
        if self.mask == MISSING:
            return "true"
        return f"({self.lane('t')} = 0)"

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        return self.lane("k")


class Nothing(Value):
    """MISSING."""

    def key(self) -> str:
        """Return SQL that is NULL."""
        return "NULL::VARCHAR"


class Null(Value):
    """NULL."""

    mask = NULL

    def _lane(self, letter: str) -> str:
        return "'null'" if letter == "j" else "'z'"


class Typed(Value):
    """A value of one type, or else MISSING (or NULL), which SQL's NULL stands for.

    * ``sql``: The lane of its type; ``x`` for whole numbers.
    * ``absent``: What SQL's NULL means: MISSING, NULL, or 0 when it does not occur.
    * ``whole``: Whether the SQL is an integer; so it is for static integers, and for counts, which
      calculate as doubles.
    * ``wide``: Whether such SQL is no BIGINT but a DECIMAL that holds integers beyond it.
    """

    def __init__(
        self,
        kind: int,
        sql: str,
        *,
        absent: int = MISSING,
        integer: bool = False,
        whole: bool = False,
        wide: bool = False,
        bounds: tuple[int, int] | None = None,
    ) -> None:
        self.bounds = bounds
        self.kind = kind
        self.sql = bounded(sql)
        self.absent = absent
        self.integer = integer
        self.whole = whole or integer
        self.wide = wide
        self.mask = kind | absent

    def _lane(self, letter: str) -> str:
        sql = self.sql
        if letter == "t":
            return f"CASE WHEN {sql} IS NULL THEN {self.absent & ~MISSING} ELSE {self.kind} END"
        if letter in "kvj":
            text = _json_text(self) if letter == "j" else _key_text(self)
            if self.absent == NULL:
                return f"coalesce({text}, {Null().lane(letter)})"
            return text
        if letter == "x" and not self.whole:
            return whole_of(sql)
        if letter == "n" and self.wide:
            return double_of(sql)
        return f"({sql})::DOUBLE" if letter == "n" and self.whole else sql

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return Shape(self.mask, self.absent, whole=self.whole)

    def like(self, sql: str, absent: int) -> Typed:
        """Return a value of the same type."""
        return Typed(
            self.kind,
            sql,
            absent=absent,
            integer=self.integer,
            whole=self.whole,
            wide=self.wide,
            bounds=self.bounds,
        )

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        return f"({self.sql} IS NULL)" if self.absent == MISSING else "false"

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        return self.lane("k") if self.absent == NULL else self.sql


_EXACT = 1 << 53


def exact_bounds(low: int, high: int) -> tuple[int, int] | None:
    """Return bounds if doubles tell all integers between them apart."""
    return (low, high) if low >= -_EXACT and high <= _EXACT else None


_INTEGRAL = "{0} >= -9223372036854775808 AND {0} < 9223372036854775808 AND {0} = trunc({0})"
_WHOLE = "abs({0}) <= 18446744073709551616 AND {0} = trunc({0})"


def whole_of(sql: str) -> str:
    """Return SQL of the lane of whole numbers of a double."""
    return f"CASE WHEN {_WHOLE.format(sql)} THEN {sql}::HUGEINT::{quoting.WIDE} END"


def double_of(sql: str) -> str:
    """Return SQL of the nearest double of a large integer, for which DuckDB gives one beside it."""
    return f"({sql})::VARCHAR::DOUBLE"


def _key_text(value: Typed) -> str:
    sql = value.sql
    if value.kind == STRING:
        return f"('s' || {sql})"
    if value.kind == BOOL:
        return f"CASE WHEN {sql} THEN 'b1' WHEN NOT {sql} THEN 'b0' END"
    if value.kind == TIME:
        return f"('t' || epoch_us({sql}))"
    if value.whole:
        return f"('n' || {sql})"
    return f"CASE WHEN {_INTEGRAL.format(sql)} THEN 'n' || {sql}::BIGINT ELSE sdb_key_n({sql}) END"


def _json_text(value: Typed) -> str:
    sql = value.sql
    if value.kind == STRING:
        return f"to_json({sql})::VARCHAR"
    if value.kind == TIME:
        text = f"strftime({sql}, '\"%Y-%m-%dT%H:%M:%S.%f')"
        return f"(rtrim(rtrim({text}, '0'), '.') || 'Z\"')"
    if value.kind == BOOL or value.whole:
        return f"({sql})::VARCHAR"
    whole = f"{sql}::BIGINT::VARCHAR"
    return f"CASE WHEN {_INTEGRAL.format(sql)} THEN {whole} ELSE sdb_json_n({sql}) END"


class Whole(Typed):
    """A number of rows or groups of which all are integers, in columns as others are."""

    def __init__(
        self, sql: str, *, absent: int, wide: bool = False, bounds: tuple[int, int] | None = None
    ) -> None:
        super().__init__(NUMBER, sql, absent=absent, whole=True, wide=wide, bounds=bounds)

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return Shape(self.mask)

    def like(self, sql: str, absent: int) -> Typed:
        """Return a value of the same type."""
        return type(self)(sql, absent=absent, wide=self.wide, bounds=self.bounds)


class WholeDouble(Whole):
    """A result of arithmetic, a double, that is computed as an integer since it is small."""

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return Shape(self.mask, self.absent)


class Shifted(Typed):
    """A whole number and a constant, added as doubles.

    * ``sql, absent``: See :class:`Typed`.
    * ``base, offset``: The two: a sum of many is the sum of the one and a multiple of the other.
    """

    def __init__(self, sql: str, base: Value, offset: int, *, absent: int) -> None:
        super().__init__(NUMBER, sql, absent=absent)
        self.base = base
        self.offset = offset


class Constant(Typed):
    """A constant other than NULL."""

    def __init__(self, value: ConstantValue) -> None:
        kinds = {bool: BOOL, int: NUMBER, float: NUMBER, str: STRING}
        integer = type(value) is int
        wide = isinstance(value, int) and not quoting.INT64_MIN <= value <= quoting.INT64_MAX
        super().__init__(
            kinds.get(type(value), TIME),
            quoting.constant(value),
            absent=0,
            integer=integer and not wide,
            whole=integer,
            wide=wide,
            bounds=exact_bounds(value, value) if isinstance(value, int) and integer else None,
        )
        self.value = value

    def _lane(self, letter: str) -> str:
        if letter == "n" and isinstance(self.value, (int, float)):
            return quoting.double(float(self.value))
        if letter in "kv" and isinstance(self.value, int) and not isinstance(self.value, bool):
            return f"'n{self.value}'"
        if letter in "kv" and isinstance(self.value, str):
            return quoting.string("s" + self.value)
        return super()._lane(letter)


class Keyed(Value):
    """A value known by its key, which tells everything but the order of members.

    Its typed text, where there is one, tells that as well.
    """

    def __init__(self, key: str, mask: int = ANY, text: str | None = None) -> None:
        self.sql = key
        self.text = text or key
        self.mask = mask

    def _lane(self, letter: str) -> str:
        key = self.sql
        tag, rest = f"left({key}, 1)", f"substr({key}, 2)"
        sql = {
            "k": key,
            "v": self.text,
            "t": f"CASE {tag} WHEN 'z' THEN 1 WHEN 'b' THEN 2 WHEN 'n' THEN 4 WHEN 'f' THEN 4 "
            "WHEN 't' THEN 8 WHEN 's' THEN 16 WHEN '[' THEN 32 WHEN '{' THEN 64 ELSE 0 END",
            "n": f"sdb_key_number({key})",
            "x": f"CASE WHEN {tag} = 'n' THEN TRY_CAST({rest} AS {quoting.WIDE}) END",
            "s": f"CASE WHEN {tag} = 's' THEN {rest} END",
            "b": f"CASE {key} WHEN 'b1' THEN true WHEN 'b0' THEN false END",
            "u": f"CASE WHEN {tag} = 't' THEN make_timestamp(TRY_CAST({rest} AS BIGINT)) END",
            "j": f"sdb_key_json({self.text})",
            "z": f"sdb_key_size({key})",
            "l": f"sdb_key_numbers({key})",
            "e": f"sdb_key_items({key})",
        }
        return sql[letter]

    def step(self, step: str | int) -> Value:
        """Return value of a member or element."""
        if isinstance(step, int):
            return Keyed(f"sdb_key_item({self.sql}, {quoting.integer(step)})")
        return Keyed(f"sdb_key_field({self.sql}, {quoting.string(step)})")

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        return f"({self.sql} IS NULL)" if self.mask & MISSING else "false"
