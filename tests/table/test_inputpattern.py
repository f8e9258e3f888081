"""Patterns, templates and the order of listings, as the original has them (T 9)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.errors import UsageError
from sdb.table.inputs.pattern import InputPattern, expand, in_listing_order
from sdb.table.inputs.patternregex import matcher
from tests.amounts import usual
from tests.table.roots import vectors

GLOBS = vectors("globs.json")


def name_of(vector: dict[str, Any]) -> str:
    return f"{vector['pattern']} {vector['path']}"


@pytest.mark.parametrize("vector", GLOBS["match"], ids=name_of)
def test_match(vector: dict[str, Any]) -> None:
    text, path = vector["pattern"], vector["path"]
    if vector["to_glob_error"]:
        with pytest.raises(UsageError, match="bad pattern"):
            InputPattern.parse(text)
        return
    pattern = InputPattern.parse(text)
    # The original writes ** or *, which mean the same to it.
    assert pattern.glob().replace("**", "*") == vector["to_glob"].replace("**", "*")
    if vector["error"]:
        with pytest.raises(UsageError, match="bad pattern"):
            pattern.match(path)
    else:
        matched = pattern.match(path)
        assert (matched is not None) == vector["match"]
        assert matched is None or matched == vector["captures"]
    if vector["error"] or vector["listing_glob_error"]:
        assert pattern.flaws()
    else:
        assert not pattern.flaws()


@pytest.mark.parametrize("vector", GLOBS["expand"], ids=lambda vector: vector["template"])
def test_expand(vector: dict[str, Any]) -> None:
    captured = InputPattern.parse(vector["pattern"]).match(vector["path"])
    assert captured is not None
    if vector["error"]:
        with pytest.raises(UsageError, match="bad pattern"):
            expand(vector["template"], captured)
    else:
        assert expand(vector["template"], captured) == vector["result"]


@pytest.mark.parametrize(
    "vector", [entry for entry in GLOBS["walk"] if not entry["error"]], ids=str
)
def test_listing_order(vector: dict[str, Any]) -> None:
    pattern = InputPattern.parse(vector["glob"])
    actual = [path for path in GLOBS["walk_files"] if pattern.match(path) is not None]
    assert in_listing_order(actual, vector["seek"]) == vector["visited"]


@settings(max_examples=usual(300), deadline=None)
@given(text=st.text("ab/*?{}[]^-\\", max_size=10), path=st.text("ab/-^", max_size=8))
def test_any_pattern_matches_as_a_regular_expression_does(text: str, path: str) -> None:
    """Where there is no capture, leftmost choices find whatever backtracking finds."""
    try:
        pattern = InputPattern.parse(text)
        matched = pattern.match(path)
    except UsageError:
        return
    if pattern.captures or pattern.flaws():
        return
    expression = "".join(
        (r"[^/]*" if part.wildcard else "")
        + "".join(
            re.escape(element)
            if isinstance(element, str)
            else r"[^/]"
            if element is None
            else f"[{'^' * element.is_negated}{''.join(ranges(element.ranges))}]"
            for element in part.elements()
        )
        for part in pattern.parts
    )
    try:
        compiled = re.compile(expression)
    except re.error:  # a range that ends before it begins matches nothing here
        return
    assert (matched is not None) == (compiled.fullmatch(path) is not None)


def ranges(listed: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{re.escape(lo)}-{re.escape(hi)}" for lo, hi in listed]


def test_all_flaws_are_told_at_once() -> None:
    pattern = InputPattern.parse("{a}/{a}/[x/{c}-{d}-{e}-{f}-{g}-{h}-{i}")
    assert len(pattern.flaws()) == 3


def test_a_long_path_takes_little_time() -> None:
    pattern = InputPattern.parse("*a*a*a*a*a*a*a*a*b")
    assert pattern.match("a" * 2000) is None


@settings(max_examples=usual(600), deadline=None)
@given(text=st.text("ab/*?{}[]^-\\\n", max_size=12), path=st.text("ab/-^\n", max_size=9))
def test_compiled_patterns_match_the_same(text: str, path: str) -> None:
    try:
        pattern = InputPattern.parse(text)
        matched = pattern.match(path)
    except UsageError:
        return
    assert matcher(pattern)(path) == matched


@settings(max_examples=usual(200), deadline=None)
@given(
    st.data(), st.lists(st.sampled_from(["*", "{x}", "{y}", "{z}", "ab", "a", "/", "?", "[ab]"]))
)
def test_compiled_patterns_capture_the_same(data: st.DataObject, parts: list[str]) -> None:
    try:
        pattern = InputPattern.parse("".join(parts))
    except UsageError:
        return
    if pattern.flaws():
        return
    texts = [data.draw(st.text("ab", max_size=3)) if part[0] in "*{?[" else part for part in parts]
    path = "".join(texts)
    assert matcher(pattern)(path) == pattern.match(path)
