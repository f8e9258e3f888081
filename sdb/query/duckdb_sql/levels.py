"""Statements of SQL whose columns are asked for one by one."""

from __future__ import annotations

from sdb.records import changing_record, field, record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class FromItem(Protocol):
    """SQL that is written out in FROM, under an alias."""

    @property
    def name(self) -> str:
        """Its alias."""

    def text(self) -> str:
        """Write it out."""


LEFT_OUT = "left_out_"
"""Sequences, by the number of the reason, that count rows as they are left out.

A function of Python could record them, but with the first one DuckDB imports numpy, which
takes longer than most queries.
"""


def leave_out(reason: int) -> str:
    """Return SQL that counts a row that is left out; FALSE."""
    return f"(nextval('{LEFT_OUT}{reason}') < 0)"


@record
class Drop:
    """Rows that are left out because a key is MISSING there."""

    missing: str  # SQL that is true for them, never NULL
    number: int  # the number of the note on them


@changing_record
class Level:
    """One SELECT."""

    name: str  # its name among the common table expressions of the statement
    source: tuple[str | FromItem, ...] = ()  # what stands after FROM; empty without FROM
    prefix: str = ""  # what stands between SELECT and the columns
    # Conditions, all of which rows must satisfy
    conditions: list[str] = field(default_factory=list)
    # Conditions that come after the window functions
    qualified: list[str] = field(default_factory=list)
    # Rows that are left out because a key is MISSING there, before and after windows
    drops: list[Drop] = field(default_factory=list)
    late_drops: list[Drop] = field(default_factory=list)
    tells: bool = True  # whether the engine tells when it meets such a row
    # The clauses, with their keywords; empty for none
    group: str = ""
    order: str = ""
    tail: str = ""
    columns: dict[str, str] = field(default_factory=dict)  # name of the column for each expression

    def column(self, sql: str) -> str:
        """Return name of a column that holds an expression."""
        return self.columns.setdefault(sql, f"c{len(self.columns)}")

    def text(self, columns: Iterable[tuple[str, str]] | None = None) -> str:
        """Write it out, with the columns asked for so far or with given ones (SQL, name)."""
        wanted = self.columns.items() if columns is None else columns
        listed = ", ".join(f"{sql} AS {name}" for sql, name in wanted) or "1 AS c0"
        source = "".join(
            part if isinstance(part, str) else f"({part.text()}) AS {part.name}"
            for part in self.source
        )
        clauses = [f"SELECT {self.prefix}{listed}"]
        if source:
            clauses.append(f"FROM {source}")
        if conditions := self._with_drops(self.conditions, self.drops):
            clauses.append(f"WHERE {' AND '.join(conditions)}")
        clauses.append(self.group)
        if conditions := self._with_drops(self.qualified, self.late_drops):
            # The engine wants a window there, and that of a column may not be asked for.
            if not any(" OVER (" in sql for sql in (listed, *conditions)):
                conditions.append("row_number() OVER () > 0")
            clauses.append(f"QUALIFY {' AND '.join(conditions)}")
        clauses += [self.order, self.tail]
        return " ".join(clause for clause in clauses if clause)

    def be_silent(self) -> None:
        """Make it and the levels inside of it report no rows that they leave out."""
        self.tells = False
        for part in self.source:
            if isinstance(part, Level):
                part.be_silent()

    def _with_drops(self, conditions: list[str], drops: list[Drop]) -> list[str]:
        """Add conditions that keys are there; rows that fail only these are reported."""
        tests = list(conditions)
        for drop in drops:
            drop_test = leave_out(drop.number) if self.tells else "false"
            if conditions and self.tells:
                drop_test = f"CASE WHEN {' AND '.join(conditions)} THEN {drop_test} ELSE false END"
            tests.append(f"CASE WHEN {drop.missing} THEN {drop_test} ELSE true END")
        return tests


@record
class Reference:
    """A level in FROM, or the level below another one, under an alias."""

    level: Level
    alias: str

    def column(self, sql: str) -> str:
        """Return SQL for an expression of the level."""
        return f"{self.alias}.{self.level.column(sql)}"


@record
class Lookup:
    """A level of at most one row, read by scalar sub-queries."""

    level: Level
    correlated: bool

    def column(self, sql: str) -> str:
        """Return SQL for an expression of the level."""
        if self.correlated:
            return f"({self.level.text([(sql, 'c0')])})"
        return f"(SELECT {self.level.column(sql)} FROM {self.level.name})"
