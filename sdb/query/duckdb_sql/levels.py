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
        if self.conditions:
            clauses.append(f"WHERE {' AND '.join(self.conditions)}")
        clauses.append(self.group)
        if conditions := list(self.qualified):
            # The engine wants a window there, and that of a column may not be asked for.
            if not any(" OVER (" in sql for sql in (listed, *conditions)):
                conditions.append("row_number() OVER () > 0")
            clauses.append(f"QUALIFY {' AND '.join(conditions)}")
        clauses += [self.order, self.tail]
        return " ".join(clause for clause in clauses if clause)


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
