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


LEFT_OUT = "sdb_left_out"
"""A function that takes note of a row that is left out, by the number of the reason; FALSE."""


@record
class Drop:
    """Rows that are left out because a key is MISSING there.

    Attributes
    ----------
    missing : str
        SQL that is true for them, never NULL.
    number : int
        The number of what is told of them.
    """

    missing: str
    number: int


@changing_record
class Level:
    """One SELECT.

    Attributes
    ----------
    name : str
        Its name among the common table expressions of the statement.
    source : tuple of str or FromItem
        What stands after FROM; empty without FROM.
    prefix : str
        What stands between SELECT and the columns.
    conditions : list of str
        Conditions, all of which rows must satisfy.
    qualified : list of str
        Conditions that come after the window functions.
    drops, late_drops : list of Drop
        Rows that are left out because a key is MISSING there, before and after windows.
    tells : bool
        Whether the engine tells when it meets such a row.
    group, order, tail : str
        The clauses, with their keywords; empty for none.
    columns : dict
        Name of the column for each expression.
    """

    name: str
    source: tuple[str | FromItem, ...] = ()
    prefix: str = ""
    conditions: list[str] = field(default_factory=list)
    qualified: list[str] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    late_drops: list[Drop] = field(default_factory=list)
    tells: bool = True
    group: str = ""
    order: str = ""
    tail: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    def column(self, sql: str) -> str:
        """Give name of a column that holds an expression."""
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
            clauses.append(f"QUALIFY {' AND '.join(conditions)}")
        clauses += [self.order, self.tail]
        return " ".join(clause for clause in clauses if clause)

    def be_silent(self) -> None:
        """Let it tell of no row that it leaves out, nor what is inside of it."""
        self.tells = False
        for part in self.source:
            if isinstance(part, Level):
                part.be_silent()

    def _with_drops(self, conditions: list[str], drops: list[Drop]) -> list[str]:
        """Add that keys are there; of rows that satisfy the others it is told when they are not."""
        found = list(conditions)
        for drop in drops:
            told = f"{LEFT_OUT}({drop.number})" if self.tells else "false"
            if conditions and self.tells:
                told = f"CASE WHEN {' AND '.join(conditions)} THEN {told} ELSE false END"
            found.append(f"CASE WHEN {drop.missing} THEN {told} ELSE true END")
        return found


@record
class Reference:
    """A level in FROM, or the level below another one, under an alias."""

    level: Level
    alias: str

    def column(self, sql: str) -> str:
        """Give SQL for an expression of the level."""
        return f"{self.alias}.{self.level.column(sql)}"


@record
class Lookup:
    """A level of at most one row, read by scalar sub-queries."""

    level: Level
    correlated: bool

    def column(self, sql: str) -> str:
        """Give SQL for an expression of the level."""
        if self.correlated:
            return f"({self.level.text([(sql, 'c0')])})"
        return f"(SELECT {self.level.column(sql)} FROM {self.level.name})"
