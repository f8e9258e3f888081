from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sdb.view.rows import layout

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(st.dictionaries(st.text(), values), st.integers(1, 120), st.booleans())
def test_it_is_still_the_same_row(row: dict[str, Any], columns: int, color: bool) -> None:
    text = layout(dump(row), columns=columns, color=color)
    if color:
        text = re.sub("\x1b\\[\\d*m", "", text)
    assert json.loads(text) == row


def test_short_values_stay_in_a_line() -> None:
    row = {"a": [1, 2], "b": {"c": "x" * 30, "d": []}}
    assert layout(dump(row), columns=1000) == dump(row)
    assert layout(dump(row), columns=40).splitlines() == [
        "{",
        '  "a": [1, 2],',
        '  "b": {',
        f'    "c": "{"x" * 30}",',
        '    "d": []',
        "  }",
        "}",
    ]


def test_what_json_does_not_have() -> None:
    row = '{"a": NaN, "b": [-Inf, +Inf], "a": 1.5e+300}'
    assert layout(row, columns=1000) == row


def test_deep_rows_stay_as_they_are() -> None:
    row = '{"a": ' + "[" * 500 + "]" * 500 + "}"
    assert layout(row, columns=10) == row


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 999)))
def test_lines_fit(row: dict[str, int]) -> None:
    lines = layout(dump(row), columns=30).split("\n")
    assert max(map(len, lines)) <= 30
