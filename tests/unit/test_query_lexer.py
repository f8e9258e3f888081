from __future__ import annotations

import re
import warnings

import pytest

from sdb.errors import QueryError, SdbWarning
from sdb.query.syntax.ast import Instant
from sdb.query.syntax.lexer import MAX_BYTES, Lexer


def kinds(text: str) -> list[str]:
    return [token.kind for token in Lexer(text)][:-1]


def value(text: str) -> object:
    return next(iter(Lexer(text))).value


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        list(Lexer(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b101", 5),
        ("0o17", 15),
        ("017", 15),
        ("089", 89),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", 2**63),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("1" * 300, float("1" * 300)),
    ],
)
def test_numbers(text: str, number: float) -> None:
    actual = value(text)
    assert actual == number
    assert type(actual) is type(number)


@pytest.mark.parametrize("text", ["12abc", "1.5.5", "0x", "0xg", "0b2", "1e", "1e400"])
def test_what_is_no_number(text: str) -> None:
    assert text in refusal(text).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - 1", ["ID", "-", "NUMBER"]),
        ("a -1", ["ID", "-", "NUMBER"]),
        ("a-1", ["ID", "-", "NUMBER"]),
        ("1-1", ["NUMBER", "-", "NUMBER"]),
        ("(a)-1", ["(", "ID", ")", "-", "NUMBER"]),
        ("a * -1", ["ID", "*", "NUMBER"]),
        ("LIMIT -1", ["LIMIT", "NUMBER"]),
        ("2--3", ["NUMBER"]),
    ],
)
def test_minus_may_belong_to_a_number(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select", ["SELECT"]),
        ("o.select", ["ID", ".", "ID"]),
        ("1 AS from", ["NUMBER", "AS", "ID"]),
        ("group.x", ["ID", ".", "ID"]),
        ("null", ["NULL"]),
        ("[NULL]", ["[", "NULL", "]"]),
        ("{'a': TRUE}", ["{", "STRING", ":", "TRUE", "}"]),
        ("null.x", ["ID", ".", "ID"]),
        ("count(x)", ["COUNT", "(", "ID", ")"]),
        ("count /* c */ (x)", ["COUNT", "(", "ID", ")"]),
        ("count, x", ["ID", ",", "ID"]),
        ('"select"', ["ID"]),
        ("FROM'x'", ["FROM", "STRING"]),
        ("value", ["ID"]),
        ("end+1", ["ID", "+", "NUMBER"]),
    ],
)
def test_keywords_are_names_in_places(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"'a\tb\'\\\/\u00e9'", "a\tb'\\/é"),
        (r"'\ud83d\ude00'", "😀"),
        ("'it''s'", "it's"),
        ("''", ""),
        ("'a\nb'", "a\nb"),
        (r'"a\"b"', 'a"b'),
        ('""', ""),
        ("ünï", "ünï"),
        ("@at_1", "@at_1"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert value(text) == expected


def test_timestamps() -> None:
    assert value("`1970-01-01T00:00:00.1234567Z`") == Instant(123_456)
    assert value("` 1970-01-01 02:00:00+02:00 `") == Instant(0)
    assert value("`1969-12-31T23:59:60`") == Instant(0)
    assert value("`0000-03-01T00:00:00Z`") == Instant(-62_162_035_200_000_000)
    assert value("`1970-01-02`") == value("` 1970-01-02 00:00Z `") == Instant(86_400_000_000)
    for text in ("`2020-13-01`", "`2021-02-29T00:00:00Z`", "`2021-01-01T24:00:01Z`", "`x`"):
        assert text in refusal(text).message


def test_comments() -> None:
    assert kinds("a -- b\n/* c /* d */ e */ # f\n, g") == ["ID", ",", "ID"]
    assert refusal("a /* /* */").message == "parsing query: at 1:3: unterminated comment"


@pytest.mark.parametrize(
    ("text", "item", "word"),
    [
        ("é ?", (1, 4), "unexpected character '?'"),
        ("a\nb €", (2, 3), "unexpected character '€'"),
        ("a $1", (1, 3), "unexpected character '$'"),
        (r"'\ud83d'", (1, 2), "surrogate"),
        ("'a", (1, 1), "unterminated string"),
        ('"a', (1, 1), "unterminated name"),
        ("`a", (1, 1), "unterminated"),
        ("a; b", (1, 2), "a query ends with its semicolon"),
    ],
)
def test_faults_have_their_place(text: str, item: tuple[int, int], word: str) -> None:
    error = refusal(text)
    assert (error.line, error.column) == item
    assert word in error.message


def test_a_semicolon_may_end_the_text() -> None:
    assert kinds("a ; -- end") == ["ID"]


def test_texts_that_are_too_long_or_no_text() -> None:
    assert str(MAX_BYTES) in refusal(" " * (MAX_BYTES + 1)).message
    assert "UTF-8" in refusal("SELECT '\udcff'").message


def test_long_tokens_are_cut_in_messages() -> None:
    assert len(refusal("9" * 100_000).message) < 200


def test_underlining() -> None:
    text = "SELECT\té,\n'ünï' ?"
    error = refusal(text)
    assert error.underlined() == text + "\n      ^"
    assert len(refusal("\n" * 1000 + "?").underlined().splitlines()) < 50


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"'www\.x\d+\1'", r"www\.x\d+\1"),
        (r"'C:\users'", r"C:\users"),
        (r"'a\\.b'", r"a\.b"),
        (r"r'C:\temp\'", "C:\\temp\\"),
        ("R'it''s'", "it's"),
        (r"E'a\tb'", "a\tb"),
        (r"'it''s \q'", r"it's \q"),
    ],
)
def test_unknown_escapes_keep_their_backslash(text: str, wanted: str) -> None:
    assert value(text) == wanted


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (r"'C:\temp\new.exe'", "a tab"),
        (r"'%\Windows\temp%'", "a tab"),
        (r"'\bword'", "a backspace"),
        (r"'\\\\host\new'", "a line break"),
    ],
)
def test_escapes_that_look_like_paths_and_boundaries_warn(text: str, what: str) -> None:
    with pytest.warns(SdbWarning, match=re.escape(f"has {what} where it says")):
        kinds(text)


@pytest.mark.parametrize(
    "text", [r"'one\ntwo'", r"'\t'", r"E'C:\temp'", r"r'C:\temp'", r"'\d+\.\w'"]
)
def test_plain_escapes_do_not_warn(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kinds(text) == ["STRING"]


def test_r_and_e_are_names_where_no_quote_follows() -> None:
    assert kinds("r + e, r 'x'") == ["ID", "+", "ID", ",", "ID", "STRING"]
