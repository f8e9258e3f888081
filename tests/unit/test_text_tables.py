"""Lanes and lines of JSON become tables of text as modules of Python would write them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import _core
from sdb.query.analyze import types
from sdb.query.result import outputs
from sdb.query.result.outputs import write_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

NAMES = ["a", "b c", "ä", 'q"', "t\t"]
TEXTS = st.text(st.sampled_from('ab,"\t\n\r\\|ä😀{}[]:= ') | st.characters(codec="utf-8"))
FORMATS = ["csv", "tsv", "markdown", "html"]
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS | st.integers())
ROWS = st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES | st.dictionaries(TEXTS, VALUES)))


def text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def delimited(cells: list[str], delimiter: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def rendered(lines: bytes, names: list[str], fmt: str) -> str:
    table = _core.TextTable(fmt)
    return table.rows(table.cells(lines), names).decode()


@given(ROWS, st.lists(st.sampled_from(NAMES), min_size=1), st.sampled_from(["csv", "tsv"]))
def test_cells_are_those_of_the_csv_module(
    rows: list[dict[str, Any]], names: list[str], fmt: str
) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    delimiter = "," if fmt == "csv" else "\t"
    cells = [[text_of(row.get(name)) for name in names] for row in rows]
    assert rendered(lines, names, fmt) == "".join(delimited(row, delimiter) for row in cells)


@given(ROWS, st.lists(st.sampled_from(NAMES), min_size=1))
def test_cells_of_pages_are_those_of_the_html_module(
    rows: list[dict[str, Any]], names: list[str]
) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    cells = [[f"<td>{escape(text_of(row.get(name)))}</td>" for name in names] for row in rows]
    assert rendered(lines, names, "html") == "".join(f"<tr>{''.join(row)}</tr>\n" for row in cells)


@given(ROWS)
def test_columns_are_the_names_in_the_order_of_their_appearance(
    rows: list[dict[str, Any]],
) -> None:
    table = _core.TextTable("csv")
    for row in rows:
        table.cells(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    assert table.names == list(dict.fromkeys(name for row in rows for name in row))


SCALARS = (
    TEXTS
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats()
    | st.datetimes(datetime(1, 1, 2), timezones=st.just(UTC))  # noqa: DTZ001 - it is added
)
LETTERS = {bool: "b", int: "x", float: "n", datetime: "u", str: "s"}
TAGS = {bool: types.BOOL, int: types.NUMBER, float: types.NUMBER, datetime: types.TIME}
ABSENT = object()


def key(value: Any) -> str:
    """Return the typed text of a value, which lanes have."""
    match value:
        case None:
            return "z"
        case str():
            return f"s{value}"
        case bool():
            return f"b{value:d}"
        case int():
            return f"n{value}"
        case list():
            return "[" + "".join(f"{len(key(item).encode())}:{key(item)}" for item in value)
        case _:
            members = [part for name, inner in value.items() for part in (name, key(inner))]
            return "{" + "".join(f"{len(part.encode())}:{part}" for part in members)


def lanes_of(values: Sequence[Any], *, is_json: bool) -> dict[str, pa.Array]:
    """Return the lanes of a column; `ABSENT` is MISSING."""
    arrow = {"b": pa.bool_(), "x": pa.decimal128(38, 0), "n": pa.float64(), "s": pa.utf8()}
    arrow |= {"u": pa.timestamp("us")}
    letters = [LETTERS.get(type(value), "") for value in values]
    lanes: dict[str, pa.Array] = {}
    for letter, of in arrow.items():
        cells = zip(letters, values, strict=True)
        lanes[letter] = pa.array([value if at == letter else None for at, value in cells], of)
    others = zip(letters, values, strict=True)
    texts = [None if at or value is ABSENT else value for at, value in others]
    text = json.dumps if is_json else key
    lanes["j" if is_json else "v"] = pa.array(
        [None if each is None else text(each) for each in texts], pa.utf8()
    )
    tags = [
        0 if value is ABSENT else types.NULL if value is None else TAGS.get(type(value), types.LIST)
        for value in values
    ]
    return {"t": pa.array(tags, pa.uint8()), **lanes}


@given(
    st.lists(st.tuples(*[SCALARS | VALUES | st.just(ABSENT)] * 2)),
    st.sampled_from(FORMATS),
    st.booleans(),
)
def test_rows_of_lanes_are_those_of_their_lines(
    rows: list[tuple[Any, Any]], fmt: str, is_json: bool
) -> None:
    arrays: list[pa.Array] = []
    members: list[tuple[str | None, dict[str, int]]] = []
    for at, name in enumerate("ab"):
        lanes = lanes_of([row[at] for row in rows], is_json=is_json)
        members.append((name, {letter: len(arrays) + n for n, letter in enumerate(lanes)}))
        arrays += lanes.values()
    table = pa.table(arrays, [str(at) for at in range(len(arrays))])
    lines = b"".join(_core.render_json(table, members))
    text = b"".join(_core.render_table(table, members, fmt)).decode()
    assert text == rendered(lines, ["a", "b"], fmt)
    alone = b"".join(_core.render_table(table, members[:1], fmt)).decode()
    assert alone == rendered(lines, ["a"], fmt)


@pytest.mark.parametrize("most_bytes", [0, 30, 1 << 20])
def test_pieces_beyond_the_memory_are_kept_in_a_file(
    most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_SPOOL_BYTES", most_bytes)
    out = io.BytesIO()
    pieces = [f'{{"a{at}": {at}, "b": "x,{at}"}}\n'.encode() for at in range(5)]
    write_cells(pieces, None, out, "csv", sorted)
    rows = [["a0", "a1", "a2", "a3", "a4", "b"]]
    rows += [["" if at != each else str(at) for each in range(5)] + [f"x,{at}"] for at in range(5)]
    assert list(csv.reader(io.StringIO(out.getvalue().decode()))) == rows


def test_markdown_has_a_line_for_each_row() -> None:
    out = io.BytesIO()
    write_cells([b'{"a": "x|\\n\\\\"}\n', b'{"b|": [1, null]}\n'], None, out, "markdown")
    assert out.getvalue().decode().splitlines() == [
        "| a | b\\| |",
        "| --- | --- |",
        "| x\\|<br>\\\\ |  |",
        "|  | [1, null] |",
    ]


def test_numbers_keep_their_digits_at_any_depth() -> None:
    deep = "[" * 5000 + "1.50" + "]" * 5000
    lines = f'{{"n": 1.500, "i": -Inf, "N": NaN, "d": {deep}}}\n'.encode()
    assert rendered(lines, ["n", "i", "N", "d"], "csv") == f"1.500,-Inf,NaN,{deep}\n"


@pytest.mark.parametrize("line", ['{"a', '{"a": ', '{"a": "x', '{"a": [1', '{"a": 1, "b'])
def test_what_is_cut_off_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="no line of JSON"):
        _core.TextTable("csv").cells(line.encode())
    with pytest.raises(ValueError, match="varuint is cut off"):
        _core.TextTable("csv").rows(b"\x01", ["a"])
