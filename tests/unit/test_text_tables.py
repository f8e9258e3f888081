"""Lines of JSON become CSV, TSV and Markdown as Python's own modules would write them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import _core
from sdb.query.result.outputs import write_cells

if TYPE_CHECKING:
    from typing import Any

NAMES = ["a", "b c", "ä", 'q"', "t\t"]
TEXTS = st.text(st.sampled_from('ab,"\t\n\r\\|ä😀{}[]:= ') | st.characters(codec="utf-8"))
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


@given(ROWS, st.lists(st.sampled_from(NAMES), min_size=1), st.sampled_from(["csv", "tsv"]))
def test_cells_are_those_of_the_csv_module(
    rows: list[dict[str, Any]], names: list[str], fmt: str
) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    printed = _core.render_text(lines, names, fmt).decode()
    delimiter = "," if fmt == "csv" else "\t"
    cells = [[text_of(row.get(name)) for name in names] for row in rows]
    assert printed == "".join(delimited(row, delimiter) for row in cells)


@given(ROWS)
def test_columns_are_the_names_in_the_order_of_their_appearance(
    rows: list[dict[str, Any]],
) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    names = dict.fromkeys(["b c", *(name for row in rows for name in row)])
    assert _core.text_columns(lines, ["b c"]) == list(names)


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
    lines = f'{{"n": 1.500, "i": -Inf, "d": {deep}}}\n'.encode()
    assert _core.render_text(lines, ["n", "i", "d"], "csv").decode() == f"1.500,-Inf,{deep}\n"


@pytest.mark.parametrize("line", ['{"a', '{"a": ', '{"a": "x', '{"a": [1', '{"a": 1, "b'])
def test_what_is_cut_off_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="no line of JSON"):
        _core.render_text(line.encode(), ["a"], "csv")
