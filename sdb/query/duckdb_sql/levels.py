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
        if self.conditions:
            clauses.append(f"WHERE {' AND '.join(self.conditions)}")
        clauses.append(self.group)
        if self.qualified:
            clauses.append(f"QUALIFY {' AND '.join(self.qualified)}")
        clauses += [self.order, self.tail]
        return " ".join(clause for clause in clauses if clause)


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
