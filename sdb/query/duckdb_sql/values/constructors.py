"""Lists and structures that a query puts together."""

from __future__ import annotations

from sdb.query.analyze.types import LETTERS, LIST, MISSING, NUMBER, STRUCT
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.case_values import Chosen
from sdb.query.duckdb_sql.values.lanes import (
    SQL_TYPES,
    Keyed,
    Nothing,
    Typed,
    Value,
    Whole,
    bounded,
    exact_bounds,
)
from sdb.query.duckdb_sql.values.quoting import INT64_MAX, INT64_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.plan.scans import ScanNode


class MadeList(Value):
    """A list put together from values; those that are MISSING are left out."""

    mask = LIST

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = items

    def _lane(self, letter: str) -> str:
        if letter == "z":
            return _count_present(self.items)
        if letter == "j":
            texts = [item.lane("j") for item in self.items]
            return f"('[' || concat_ws(', ', {', '.join(texts)}) || ']')" if texts else "'[]'"
        if letter in "kv":
            keys = [_sized(item.lane(letter)) for item in self.items]
            return f"concat('[', {', '.join(keys)})" if keys else "'['"
        lane = "n" if letter == "l" else "k"
        if not self.items:
            return f"[]::{SQL_TYPES[letter]}"
        present = (
            f"list_filter([{', '.join(item.lane(lane) for item in self.items)}], "
            "lambda item: item IS NOT NULL)"
        )
        strange = [i.lane("t") for i in self.items if i.mask & ~(NUMBER | MISSING)]
        if letter == "e" or not strange:
            return present
        numbers = " AND ".join(f"{sql} IN (0, {NUMBER})" for sql in strange)
        return f"CASE WHEN {numbers} THEN {present} END"

    def step(self, step: str | int) -> Value:
        """Return value of an item as it was written."""
        if isinstance(step, int) and step < len(self.items):
            return self.items[step]
        return Nothing()


class MadeStruct(Value):
    """A structure put together from values; those that are MISSING are left out."""

    mask = STRUCT

    def __init__(self, members: Sequence[tuple[str, Value]]) -> None:
        self.members: dict[str, Value] = {}
        for name, value in members:
            self.members.setdefault(name, value)

    def _lane(self, letter: str) -> str:
        if letter == "z":
            return _count_present(list(self.members.values()))
        if letter == "j":
            texts = [
                f"({quoting.string(quoting.json(name) + ': ')} || {value.lane('j')})"
                for name, value in self.members.items()
            ]
            return f"('{{' || concat_ws(', ', {', '.join(texts)}) || '}}')" if texts else "'{}'"
        keys = []
        for name in sorted(self.members, key=str.encode) if letter == "k" else self.members:
            label = f"{len(name.encode())}:{name}"
            keys.append(f"({quoting.string(label)} || {_sized(self.members[name].lane(letter))})")
        return f"concat('{{', {', '.join(keys)})" if keys else "'{'"

    def step(self, step: str | int) -> Value:
        """Return value of a member."""
        return self.members.get(step, Nothing()) if isinstance(step, str) else Nothing()


class MergedStruct(Value):
    """A structure with the members of another, which come first where both have a name."""

    mask = STRUCT

    def __init__(self, under: Value, over: Value) -> None:
        self.under = under
        self.over = over

    def _lane(self, letter: str) -> str:
        order = "k" if letter == "k" else "v"
        under, over = (f"coalesce({value.lane(order)}, '{{')" for value in (self.under, self.over))
        merged = f"sdb_key_merge({under}, {over}, '{order}')"
        return bounded(merged if letter == order else Keyed(merged, STRUCT).lane(letter))

    def step(self, step: str | int) -> Value:
        """Return value of a member."""
        over = self.over.step(step)
        if not over.mask & MISSING:
            return over
        return Chosen([(f"(NOT {over.missing()})", over)], self.under.step(step))


def whole_row(columns: Sequence[tuple[str, Value]]) -> Value:
    """Return a row as one value: the empty name stands for members that are not known by name."""
    row: Value | None = None
    for name, value in columns:
        part = MadeStruct([(name, value)]) if name else value
        if isinstance(row, MadeStruct) and name:
            row = MadeStruct([*row.members.items(), (name, value)])
        else:
            row = part if row is None else MergedStruct(row, part)
    return row or MadeStruct([])


def _count_present(values: Sequence[Value]) -> str:
    certain = sum(not value.mask & MISSING for value in values)
    terms = [str(certain)]
    terms += [f"(NOT {value.missing()})::BIGINT" for value in values if value.mask & MISSING]
    return f"({' + '.join(terms)})::BIGINT"


def _sized(key: str) -> str:
    return f"(strlen({key}) || ':' || {key})"


# Values at paths of the rows of scans.


class FieldValue(Value):
    """A value at a path of the rows of a scan."""

    def __init__(self, scan: ScanNode, level: int, path: ValuePath) -> None:
        self.scan = scan
        self.level = level
        self.path = path
        self.mask = scan.types(level, path)
        if self.mask & ~MISSING and scan.is_full(level, path):
            self.mask &= ~MISSING
        known = scan.integers(level, path) if self.only == NUMBER else None
        if known is not None:
            self.whole = True
            self.wide = not (known[0] >= INT64_MIN and known[1] <= INT64_MAX)
            self.bounds = exact_bounds(*known)

    def _lane(self, letter: str) -> str:
        if self.whole and not self.wide and letter in {"n", "x", "t"}:
            return Whole(self._read("i"), absent=self.mask & MISSING).lane(letter)
        native = LETTERS.get(self.only)
        if native and letter not in {native, "x", "k", "v", "j"}:
            return Typed(self.only, self._read(native), absent=self.mask & MISSING).lane(letter)
        return self._read(letter)

    def _read(self, letter: str) -> str:
        return self.scan.lane(self.level, self.path, letter)

    def step(self, step: str | int) -> FieldValue:
        """Return value of a member or element."""
        return FieldValue(self.scan, self.level, (*self.path, step))

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        native = self._whole_letter() if self.whole else LETTERS.get(self.only)
        if native and self.mask & MISSING:
            return f"({self._read(native)} IS NULL)"
        return super().missing()

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        if self.whole:
            return self._read(self._whole_letter())
        native = LETTERS.get(self.only)
        return self._read(native if native and self.only != NUMBER else "k")

    def _whole_letter(self) -> str:
        return "x" if self.wide else "i"
