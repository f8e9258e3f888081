"""Schemas: types, columns, their JSON, changes, and merges; pure rules without a table."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.errors import ExistsError, InputError, UsageError
from sdb.table.schema import adopt, evolve
from sdb.table.schema.columns import TableSchema, walk
from sdb.table.schema.conform import departures, shown_row
from sdb.table.schema.merge import SchemaConflictError, merged
from sdb.table.schema.names import column_at
from sdb.table.schema.types import TableColumn, type_of
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Callable


def column(name: str, kind: str = "integer", **members: Any) -> TableColumn:
    return TableColumn(0, name, type_of(kind), members.pop("path", (name,)), **members)


def schema_of(*columns: TableColumn, mode: str = "observe") -> TableSchema:
    return adopt.first(TableSchema(columns, mode))


def names_of(schema: TableSchema) -> list[str]:
    return [".".join(names) for names, _, _ in walk(schema.columns)]


NESTED = schema_of(
    column("id", required=True),
    column("actor", "struct<id integer, login string>"),
    column("items", "list<struct<sku string, n integer>>"),
    column("price", "decimal(10,2)"),
    column("day", "date"),
    column("extra", "map<string, list<double>>"),
    column("any", "variant", description="whatever", aliases=("x", "y z")),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("INT", "integer"),
        ("bigint", "integer"),
        ("double precision", "double"),
        ("VARCHAR(20)", "string"),
        ("numeric(10, 2)", "decimal(10,2)"),
        ("decimal(5)", "decimal(5,0)"),
        ("integer[][]", "list<list<integer>>"),
        ("ARRAY<text>", "list<string>"),
        ("map<string, variant>", "map<string, variant>"),
        ('struct<a: int, "b c" struct<d date>>', 'struct<a integer, "b c" struct<d date>>'),
    ],
)
def test_types_are_read_and_shown(text: str, shown: str) -> None:
    assert str(type_of(text)) == shown
    assert str(type_of(shown)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("intger", "unknown type 'intger'"),
        ("decimal(40,2)", "1 to 38 digits"),
        ("decimal(4,5)", "not more behind the point"),
        ("list<integer", "expected '>' at its end"),
        ("map<integer, string>", "names of its values are strings"),
        ("integer integer", "before 'integer'"),
        ("struct<>", "invalid before '>'"),
        ("", "invalid at its end"),
        ("list<" * 50 + "integer" + ">" * 50, "levels deep"),
    ],
)
def test_errors_of_types_name_the_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        type_of(text)


def test_a_schema_survives_its_json() -> None:
    assert TableSchema.loads(NESTED.dumps()) == NESTED
    assert [column.id for _, _, column in walk(NESTED.columns)] == list(range(1, 12))


def test_all_errors_of_a_schema_come_at_once() -> None:
    text = """{"mode": "refuse", "colums": [], "columns": [
        {"name": "a", "type": "intger"}, {"name": "b", "type": "integer", "default": "x"},
        {"name": "c", "type": "string"}, {"name": "c", "type": "string", "path": ["d"]},
        {"name": "e", "type": "string", "path": ["f", "g"]},
        {"name": "h", "type": "string", "path": ["f"]}, {"type": "string"}]}"""
    with pytest.raises(InputError) as caught:
        TableSchema.loads(text)
    for part in (
        "unknown member 'colums', did you mean columns?",
        "unknown type 'intger'",
        "invalid mode 'refuse'",
        "invalid default 'x': expected an integer of 64 bits",
        "both called c",
        "e and h are at one path",
        "a column without a name",
    ):
        assert part in caught.value.message, part


@pytest.mark.parametrize("text", ["", "{", "7", '{"columns": 7}', "[[]]", "[" * 5000])
def test_broken_json_is_one_error(text: str) -> None:
    with pytest.raises(InputError):
        TableSchema.loads(text)


def test_a_name_that_is_dropped_and_added_again_is_another_column() -> None:
    schema = schema_of(column("id"), column("x"))
    old = {"id": 1, "x": 2}
    gone = evolve.drop(schema, ("x",))
    back = evolve.add(gone, (), column("x", "string"))
    assert shown_row(gone, old, 0) == {"id": 1}
    assert shown_row(back, old, 0) == {"id": 1}
    assert shown_row(back, {"id": 2, "x": "new"}, back.era) == {"id": 2, "x": "new"}
    assert shown_row(schema, old, 0) == old
    assert column_at(back, ("x",)).id > column_at(schema, ("x",)).id


def test_a_name_that_was_renamed_away_lies_elsewhere() -> None:
    schema = evolve.rename(schema_of(column("x")), ("x",), "y")
    both = evolve.add(schema, (), column("x"))
    assert shown_row(both, {"x": 1}, 0) == {"y": 1}
    assert column_at(both, ("x",)).path == ("x_2",)
    assert shown_row(both, {"x": 1, "x_2": 2}, 0) == {"y": 1, "x": 2}


def test_nested_columns_are_renamed_dropped_and_added() -> None:
    schema = evolve.rename(NESTED, ("items", "n"), "count")
    row = {"id": 1, "items": [{"sku": "a", "n": 2}], "actor": {"id": 3, "login": "ann"}}
    assert shown_row(schema, row, 0)["items"] == [{"sku": "a", "count": 2}]
    schema = evolve.drop(schema, ("actor", "login"))
    assert shown_row(schema, row, 0)["actor"] == {"id": 3}
    schema = evolve.add(schema, ("actor",), column("login"))
    assert shown_row(schema, row, 0)["actor"] == {"id": 3}
    assert shown_row(schema, row, schema.era)["actor"] == {"id": 3, "login": "ann"}
    with pytest.raises(UsageError, match="would be seen again"):
        evolve.widen(schema, ("actor",), type_of("variant"))


def test_defaults_are_the_values_of_rows_without_the_field() -> None:
    schema = evolve.add(schema_of(column("a")), (), column("b", default=7, required=True))
    assert shown_row(schema, {"a": 1}, 0) == {"a": 1, "b": 7}
    assert shown_row(schema, {"a": 1, "b": None}, 0) == {"a": 1, "b": None}


REFUSED: list[tuple[str, Callable[[TableSchema], TableSchema]]] = [
    ("already", lambda s: evolve.add(s, (), column("id"))),
    ("already", lambda s: evolve.rename(s, ("id",), "day")),
    ("already", lambda s: evolve.add(s, (), column("y z"))),
    ("without a default", lambda s: evolve.add(s, (), column("n", required=True))),
    ("no column lgin", lambda s: evolve.drop(s, ("lgin",))),
    ("no column actor.lgin", lambda s: evolve.drop(s, ("actor", "lgin"))),
    ("has no columns", lambda s: evolve.add(s, ("id",), column("n"))),
    ("beyond 2", lambda s: evolve.widen(s, ("id",), type_of("double"))),
    ("beyond 2", lambda s: evolve.widen(s, ("id",), type_of("double"), largest=1 << 60)),
    ("up to 19 digits", lambda s: evolve.widen(s, ("id",), type_of("decimal(18,0)"))),
    ("digits", lambda s: evolve.widen(s, ("price",), type_of("decimal(10,3)"))),
    ("would be none", lambda s: evolve.widen(s, ("day",), type_of("string"))),
    ("one by one", lambda s: evolve.widen(s, ("actor",), type_of("struct<id integer>"))),
    ("NOT NULL", lambda s: evolve.require(s, ("day",), has_gaps=True)),
    ("invalid mode", lambda s: evolve.with_mode(s, "refuse")),
    ("no column nn", lambda s: evolve.move(s, ("id",), after="nn")),
    ("both called", lambda s: evolve.alias(s, ("id",), ("day",))),
]


@pytest.mark.parametrize(("message", "change"), REFUSED)
def test_changes_against_the_rules_are_refused(
    message: str, change: Callable[[TableSchema], TableSchema]
) -> None:
    with pytest.raises((UsageError, ExistsError), match=message):
        change(NESTED)


ALLOWED: list[tuple[str, str, int | None]] = [
    ("integer", "double", 1 << 53),
    ("integer", "decimal(19,0)", None),
    ("integer", "decimal(21,2)", None),
    ("decimal(10,2)", "decimal(12,4)", None),
    ("date", "timestamp", None),
    ("string", "variant", None),
    ("struct<a integer>", "variant", None),
    ("list<date>", "list<timestamp>", None),
    ("map<string, integer>", "map<string, double>", 7),
]


@pytest.mark.parametrize(("old", "new", "largest"), ALLOWED)
def test_types_are_widened(old: str, new: str, largest: int | None) -> None:
    schema = evolve.widen(schema_of(column("a", old)), ("a",), type_of(new), largest=largest)
    assert str(column_at(schema, ("a",)).type) == new
    assert evolve.flaw_of_widening(type_of(new), type_of(old), largest=largest)


def test_columns_move() -> None:
    schema = schema_of(column("a"), column("b"), column("c"))
    assert names_of(evolve.move(schema, ("c",), after=None)) == ["c", "a", "b"]
    assert names_of(evolve.move(schema, ("a",), after="b")) == ["b", "a", "c"]
    assert evolve.move(schema, ("a",), after="a") == schema
    added = evolve.add(schema, (), column("d"), before="b")
    assert names_of(added) == ["a", "d", "b", "c"]


def test_departures_name_column_and_reason() -> None:
    row = {
        "actor": {"id": "7", "more": 1},
        "items": [{"sku": "a"}, {"n": 1.5}],
        "price": 1.234,
        "day": datetime(2026, 11, 1, 10, tzinfo=UTC),
        "extra": {"a": [1, "b"]},
        "any": [None],
        "new": 1,
    }
    assert [(item.column, item.reason) for item in departures(NESTED, row, 0)] == [
        ("id", "it is required, and has no value"),
        ("actor.id", "expected integer, got string"),
        ("actor.more", "no column has the field"),
        ('items."[]".n', "expected integer, got double"),
        ("price", "expected decimal(10,2), got double"),
        ("day", "expected date, got timestamp"),
        ('extra."{}"."[]"', "expected double, got string"),
        ("new", "no column has the field"),
    ]


def test_fields_of_dropped_columns_depart_only_in_new_rows() -> None:
    schema = evolve.drop(schema_of(column("a"), column("b", "struct<c integer>")), ("b",))
    row = {"a": 1, "b": {"c": 2}}
    assert not departures(schema, row, 0, is_new=False)
    assert [item.column for item in departures(schema, row, 0)] == ["b"]


def test_a_written_schema_keeps_what_it_does_not_change() -> None:
    text = """[{"name": "actor", "type": {"type": "struct", "columns": [
        {"name": "name", "id": 4, "type": "string"}, {"name": "id", "type": "integer"}]}},
        {"name": "id", "type": "decimal(19,0)", "required": true}, {"name": "z", "type": "date"}]"""
    schema = adopt.adopted(NESTED, TableSchema.loads(text))
    assert names_of(schema) == ["actor", "actor.name", "actor.id", "id", "z"]
    assert column_at(schema, ("actor", "name")).path == ("login",)
    assert column_at(schema, ("actor",)).id == 2
    assert column_at(schema, ("z",)).id == NESTED.next_id
    assert ("price",) in schema.dropped
    assert adopt.adopted(NESTED, TableSchema.loads(NESTED.dumps())) == NESTED


def test_a_written_schema_is_refused_with_all_reasons() -> None:
    text = """[{"name": "id", "type": "string", "default": "x"},
        {"name": "new", "type": "date", "required": true},
        {"name": "day", "type": "date", "path": ["days"]}]"""
    with pytest.raises(UsageError) as caught:
        adopt.adopted(NESTED, TableSchema.loads(text))
    for part in ("cannot become string", "its default is None", "its path is day", "is new"):
        assert part in caught.value.message


def test_names_swap_in_a_written_schema() -> None:
    schema = schema_of(column("a"), column("b"))
    text = '[{"id": 1, "name": "b", "type": "integer"}, {"id": 2, "name": "a", "type": "integer"}]'
    swapped = adopt.adopted(schema, TableSchema.loads(text))
    assert shown_row(swapped, {"a": 1, "b": 2}, 0) == {"b": 1, "a": 2}


BASE = schema_of(column("a"), column("b"), column("s", "struct<t integer, u integer>"))
WIDER = evolve.widen(BASE, ("a",), type_of("variant"))
MERGES: list[tuple[TableSchema, TableSchema, str]] = [
    (WIDER, evolve.rename(BASE, ("a",), "c"), ""),
    (evolve.add(BASE, (), column("n")), evolve.add(BASE, (), column("m")), ""),
    (evolve.add(BASE, (), column("n")), evolve.add(BASE, (), column("n")), ""),
    (evolve.add(BASE, (), column("n")), evolve.add(BASE, (), column("n", "date")), "column n"),
    (evolve.rename(BASE, ("a",), "c"), evolve.rename(BASE, ("a",), "d"), "its name is c here"),
    (evolve.rename(BASE, ("a",), "c"), evolve.rename(BASE, ("b",), "c"), "both called c"),
    (evolve.drop(BASE, ("a",)), WIDER, "column a: dropped here, and changed there"),
    (WIDER, evolve.drop(BASE, ("a",)), "column a: changed here, and dropped there"),
    (evolve.drop(BASE, ("a",)), evolve.drop(BASE, ("b",)), ""),
    (
        evolve.drop(BASE, ("s",)),
        evolve.add(BASE, ("s",), column("v")),
        "column s.v: added there, to a column that is dropped here",
    ),
    (
        evolve.add(BASE, ("s",), column("v")),
        evolve.drop(BASE, ("s",)),
        "column s.v: added here, to a column that is dropped there",
    ),
    (
        evolve.drop(evolve.add(BASE, (), column("n")), ("n",)),
        evolve.add(BASE, (), column("n")),
        "column n: added there, where a column was dropped here",
    ),
    (evolve.with_mode(BASE, "reject"), evolve.with_mode(BASE, "quarantine"), "the mode is"),
]


@pytest.mark.parametrize(("ours", "theirs", "conflict"), MERGES)
def test_schemas_merge_or_name_the_column(
    ours: TableSchema, theirs: TableSchema, conflict: str
) -> None:
    if conflict:
        with pytest.raises(SchemaConflictError, match=conflict):
            merged(BASE, ours, theirs)
        return
    result = merged(BASE, ours, theirs)
    expected = {*names_of(ours), *names_of(theirs)}
    for side in (ours, theirs):
        expected -= {*names_of(BASE)} - {*names_of(side)}
    assert {*names_of(result)} == expected
    assert len({column.id for _, _, column in walk(result.columns)}) == len(names_of(result))


def test_eras_of_branches_come_together() -> None:
    ours = evolve.add(evolve.drop(BASE, ("a",)), (), column("a", "string"))
    theirs = evolve.add(evolve.drop(BASE, ("b",)), (), column("b", "string"))
    result = merged(BASE, ours, theirs)
    row = {"a": "old or new", "b": "old or new"}
    assert set(shown_row(result, row, 0)) == set()
    assert set(shown_row(result, row, ours.era)) == {"a"}
    assert set(shown_row(result, row, theirs.era)) == {"b"}
    assert set(shown_row(result, row, result.era)) == {"a", "b"}


NAMES = ("a", "b", "c")


class Model:
    """Rows, and the values of each column by itself, which no change of another touches."""

    def __init__(self) -> None:
        self.schema = schema_of(column("a"), column("b"))
        self.rows: list[tuple[dict[str, Any], int]] = []
        self.values: dict[int, dict[int, int]] = {c.id: {} for c in self.schema.columns}

    def write(self, number: int, left_out: str) -> None:
        """Write a row with a value in each column but one."""
        columns = [c for c in self.schema.columns if c.name != left_out]
        self.rows.append(({c.path[0]: number for c in columns}, self.schema.era))
        for written in columns:
            self.values[written.id][len(self.rows) - 1] = number

    def change(self, action: str, name: str, other: str, default: int | None) -> None:
        """Change the schema."""
        if action == "add":
            self.schema = evolve.add(self.schema, (), column(name, default=default))
            self.values[column_at(self.schema, (name,)).id] = {}
        elif action == "drop":
            self.schema = evolve.drop(self.schema, (name,))
        elif action == "rename":
            self.schema = evolve.rename(self.schema, (name,), other)
        else:
            self.schema = evolve.move(self.schema, (name,), after=None)

    def shown(self) -> list[dict[str, int]]:
        """Return the rows as a reader of this version must get them."""
        result = []
        for at in range(len(self.rows)):
            cells = {c.name: self.values[c.id].get(at, c.default) for c in self.schema.columns}
            result.append({name: cell for name, cell in cells.items() if cell is not None})
        return result


@settings(max_examples=usual(150))
@given(st.data())
def test_random_changes_show_what_a_model_of_columns_shows(data: st.DataObject) -> None:
    model = Model()
    past: list[tuple[TableSchema, int, list[dict[str, int]]]] = []
    for number in range(data.draw(st.integers(1, 14))):
        action = data.draw(st.sampled_from(("row", "row", "add", "drop", "rename", "move")))
        name, other = (data.draw(st.sampled_from(NAMES)) for _ in range(2))
        if action == "row":
            model.write(number, name)
        else:
            with suppress(UsageError, ExistsError):
                default = data.draw(st.sampled_from((None, 100 + number)))
                model.change(action, name, other, default)
        past.append((model.schema, len(model.rows), model.shown()))
    for version, count, expected in past:
        again = TableSchema.loads(version.dumps())
        assert [shown_row(again, *row) for row in model.rows[:count]] == expected


CHANGES = ("add", "drop", "rename", "widen", "comment", "move")


@settings(max_examples=usual(100))
@given(st.data())
def test_a_merge_with_an_unchanged_side_is_the_other_side(data: st.DataObject) -> None:
    schema = BASE
    for number in range(data.draw(st.integers(0, 6))):
        kind = data.draw(st.sampled_from(CHANGES))
        name = data.draw(st.sampled_from([*names_of(schema)[:1], "b", "s"]))
        try:
            if kind == "add":
                schema = evolve.add(schema, (), column(f"n{number}"))
            elif kind == "drop":
                schema = evolve.drop(schema, (name,))
            elif kind == "rename":
                schema = evolve.rename(schema, (name,), f"r{number}")
            elif kind == "widen":
                schema = evolve.widen(schema, (name,), type_of("variant"))
            elif kind == "comment":
                schema = evolve.comment(schema, (name,), f"number {number}")
            else:
                schema = evolve.move(schema, (name,), after=None)
        except UsageError:
            continue
    assert merged(BASE, schema, BASE) == schema
    assert merged(BASE, schema, schema) == schema
    taken = merged(BASE, BASE, schema)
    assert names_of(taken) == names_of(schema)
