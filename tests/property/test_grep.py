"""`grep` finds the rows that Python's `re` finds, and that queries with `~` find."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sdb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LETTERS = "ab1_ .é\n[-&"
TEXTS = st.text(LETTERS, max_size=6)
VALUES = st.recursive(
    TEXTS | st.sampled_from(["common", "ab"]) | st.integers(0, 20) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=6,
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "ab"]), VALUES), min_size=1, max_size=30)
# What Python and RE2 understand alike, once Python takes letters as those of ASCII.
ATOMS = st.sampled_from(
    ["a", "b", "ab", "1", "é", r"\.", ".", r"\d", r"\w", r"\W", r"\s", "[^a]", "[a-b1]", r"[\w.]"]
) | st.sampled_from(["common", r"[é\d]", "(?:a|1)", "(ab)", r"\[", r"[\[&]", r"[\]-]", r"\\"])
LOOKS = st.sampled_from(["", "", "", "^", r"\b"])
PATTERNS = st.builds(
    lambda look, atoms, end: look + "".join(atoms) + end,
    LOOKS,
    st.lists(
        st.builds(str.__add__, ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}"])),
        max_size=3,
    ),
    st.sampled_from(["", "", "", r"\Z", "|b", r"\b"]),
)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)


def packed(rows: list[dict[str, Any]], folder: Path) -> Path:
    # Often enough for texts to become symbols, and in more than one block.
    numbered = [{"n": number, **row} for number, row in enumerate(rows * 20)]
    text, target = folder / "rows.json", folder / "rows.zion"
    text.write_text("".join(f"{json.dumps(row)}\n" for row in numbered))
    sdb.pack(text, target, overwrite=True)
    return target


@pytest.mark.filterwarnings("ignore:no field is called")
@settings(deadline=None)
@given(
    rows=ROWS,
    patterns=st.lists(PATTERNS, min_size=1, max_size=2),
    fields=st.none() | st.just(["a"]),
    invert=st.booleans(),
    ignore_case=st.booleans(),
)
def test_as_python_finds_them(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    patterns: list[str],
    fields: list[str] | None,
    invert: bool,
    ignore_case: bool,
) -> None:
    path = packed(rows, tmp_path_factory.mktemp("grep"))
    flags = re.ASCII | (re.IGNORECASE if ignore_case else 0)
    sought = [re.compile(pattern, flags) for pattern in patterns]
    wanted = []
    for number, row in enumerate(rows * 20):
        inside = row if fields is None else {key: row[key] for key in row if key in fields}
        actual = any(item.search(text) for text in texts(inside) for item in sought)
        if actual != invert:
            wanted.append(number)
    ours = [pattern.replace(r"\Z", r"\z") for pattern in patterns]
    options: Any = {"fields": fields, "invert": invert, "ignore_case": ignore_case}
    assert [row["n"] for row in sdb.grep(ours, path, **options)] == wanted
    from sdb.packfile.export.grep import counts
    from sdb.packfile.read.resolve import resolve
    from sdb.packfile.read.search import search

    ((_, count),) = counts(search(ours, **options), resolve(path))
    assert count == len(wanted)


DIALECT = st.lists(
    st.sampled_from(
        [
            *r"ab1é.*+?|()[]{}^$-&\_",
            r"\d",
            r"\D",
            r"\w",
            r"\W",
            r"\b",
            r"\B",
            r"\s",
            r"\S",
            "[:alpha:]",
            r"\Qa.",
            r"\E",
            "{1}",
            "{,2}",
            "(?i)",
            "(?s)",
            "(?U)",
            r"\x41",
            r"\pL",
            r"\141",
            r"\<",
            "[^",
            "--",
        ]
    ),
    max_size=7,
).map("".join)


@settings(deadline=None)
@given(
    values=st.lists(st.text(LETTERS + "AK\u212a", max_size=6), min_size=1, max_size=20),
    pattern=DIALECT,
)
@example(values=["ab"], pattern="a(?i){1}")
def test_as_queries_find_them(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], pattern: str
) -> None:
    path = packed([{"t": value} for value in values], tmp_path_factory.mktemp("grep"))
    quoted = pattern.replace("\\", r"\\").replace("'", "''")  # SQL has escapes of its own
    try:
        # IS TRUE leaves the condition to the engine: a scan would ask what grep asks.
        query = f"SELECT n FROM read_file('{path}') WHERE (t ~ '{quoted}') IS TRUE ORDER BY n"
        with sdb.sql(query) as result:
            wanted = [row["n"] for row in result]
    except sdb.errors.SdbError:
        return
    try:
        ns = [row["n"] for row in sdb.grep(pattern, path)]
    except sdb.errors.UsageError as error:
        # What repeats a flag, as in a(?i)*, repeats for queries what is before it; grep refuses it.
        assert "repetition operator" in str(error)  # noqa: PT017 - most patterns raise nothing
        assert re.search(r"\(\?\w+\)", pattern)
        return
    assert ns == wanted
