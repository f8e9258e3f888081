"""Readers of each version see its rows under its schema, for ever: random changes and rows.

The model is a list of stored rows with the eras in which they came, and
:func:`sdb.table.schema.conform.shown_row`, which makes of a row what a reader gets.
"""

from __future__ import annotations

import random
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ExistsError, UsageError
from sdb.table.schema.conform import shown_row

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.table.schema.columns import TableSchema

# A column that is stored in another field is a warning.
pytestmark = pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")

NAMES = ("a", "b", "c", "d")
VALUES: tuple[Any, ...] = (0, 1, 2, "x", True, [1], None)
STEPS = 7


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["n"])


class Model:
    """A table, its versions, and what readers of each have to see."""

    def __init__(self, db: Connection, choice: random.Random) -> None:
        self.db = db
        self.choice = choice
        self.stored: list[tuple[int, dict[str, Any]]] = []  # rows, each with its era
        self.numbers = 0
        self.expected: dict[int, tuple[TableSchema, list[dict[str, Any]]]] = {}

    @property
    def schema(self) -> TableSchema:
        schema = self.db.table("m.t").schema
        assert schema is not None
        return schema

    def insert(self) -> None:
        """Insert rows, which have the fields that columns lie in, and others."""
        rows = []
        for _ in range(self.choice.randint(1, 3)):
            self.numbers += 1
            row: dict[str, Any] = {"n": self.numbers}
            for name in self.choice.sample(NAMES, 2):
                row[name] = self.choice.choice(VALUES)
            if self.choice.random() < 0.7:
                row["s"] = {name: self.choice.choice(VALUES) for name in NAMES[:2]}
            if self.choice.random() < 0.5:
                row["l"] = [{"a": self.choice.choice(VALUES[:3]), "z": 1}]
            rows.append(row)
        self.db.append("m.t", rows)
        self.stored += [(self.schema.era, row) for row in rows]

    def delete(self) -> None:
        number = self.choice.randint(1, max(1, self.numbers))
        self.db.execute(f"DELETE FROM m.t WHERE n = {number}")
        self.stored = [(era, row) for era, row in self.stored if row["n"] != number]

    def change(self) -> None:
        name, other = self.choice.choice(NAMES), self.choice.choice(NAMES)
        inner = f"s.{self.choice.choice(NAMES[:2])}"
        self.db.execute(
            self.choice.choice(
                [
                    f"ALTER TABLE m.t DROP COLUMN {name}",
                    f"ALTER TABLE m.t RENAME COLUMN {name} TO {other}2",
                    f"ALTER TABLE m.t RENAME COLUMN {other}2 TO {name}",
                    f"ALTER TABLE m.t RENAME COLUMN {inner} TO {name}3",
                    f"ALTER TABLE m.t ADD COLUMN {name} INTEGER DEFAULT 5",
                    f"ALTER TABLE m.t ADD COLUMN {name} VARIANT",
                    f"ALTER TABLE m.t ADD COLUMN s.{other} INTEGER DEFAULT 9",
                    f"ALTER TABLE m.t DROP COLUMN {inner}",
                    "ALTER TABLE m.t RENAME COLUMN l.a TO first",
                    f"ALTER TABLE m.t ALTER COLUMN {name} FIRST",
                ]
            )
        )

    def note(self) -> None:
        """Note what readers of the newest version have to see from now on."""
        table = self.db.table("m.t")
        schema = self.schema
        rows = [shown_row(schema, row, era) for era, row in self.stored]
        assert table.version is not None
        self.expected[table.version] = (schema, sorted_rows(rows))

    def check(self) -> None:
        """Read each version again."""
        for version, (schema, rows) in self.expected.items():
            assert self.db.table("m.t").at(version).schema == schema
            names = [column.name for column in schema.columns]
            with self.db.sql(f"SELECT * FROM m.t@{version} WHERE n > 0") as result:
                assert result.columns == names
                assert sorted_rows(list(result)) == rows
            wanted = self.choice.choice(names)
            with self.db.sql(f'SELECT n, "{wanted}" AS v FROM m.t@{version}') as result:
                actual = sorted_rows(list(result))
            expected = [
                {"n": row["n"]} | ({"v": row[wanted]} if wanted in row else {}) for row in rows
            ]
            assert actual == expected
            for value in (5, 1):
                text = f'SELECT n FROM m.t@{version} WHERE "{wanted}" = {value}'
                with self.db.sql(text) as result:
                    fitting = [row["n"] for row in sorted_rows(list(result))]
                assert fitting == [
                    row["n"]
                    for row in rows
                    if type(row.get(wanted)) is int and row[wanted] == value
                ]


@pytest.mark.parametrize("seed", range(4))
def test_versions_keep_their_schemas_and_rows(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_versions_keep_their_schemas_and_rows_for_long(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 3 * STEPS)


def run(folder: Path, seed: int, steps: int) -> None:
    db = sdb.connect(str(folder))
    db.execute("CREATE TABLE m.t")
    db.table("m.t").set_schema(
        [
            {"name": "n", "type": "integer"},
            {"name": "a", "type": "variant"},
            {"name": "b", "type": "integer", "path": ["b"]},
            {"name": "s", "type": "struct<a integer, b variant>"},
            {"name": "l", "type": "list<struct<a integer>>"},
        ]
    )
    model = Model(db, random.Random(seed))
    model.insert()
    model.note()
    for _ in range(steps):
        step = model.choice.choice([model.insert, model.change, model.change, model.delete])
        # Some changes are against the rules.
        with suppress(UsageError, ExistsError) if step == model.change else nullcontext():
            step()
        model.note()
    model.check()
