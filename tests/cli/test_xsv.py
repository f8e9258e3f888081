"""CSV and TSV lose nothing without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_values import packed, parsed, unpacked


def refused(run: Any, data: bytes, *expected: str, name: str = ".csv", **options: str) -> None:
    words = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    result = run("pack", "-f", name, "-o", "bad.zion", *words, "-", data=data)
    assert (result.returncode, result.stdout) == (6, b"")
    for part in expected:
        assert part in result.stderr.decode()
    assert run("head", "bad.zion").returncode == 3


def test_line_ends_in_quotes_stay(run: Any) -> None:
    packed(run, b'a,b\r\n"x\r\ny","p""\r\nq"\r\n"l\nm",z\r\n', name=".csv")
    assert unpacked(run) == [{"a": "x\r\ny", "b": 'p"\r\nq'}, {"a": "l\nm", "b": "z"}]


def test_a_quote_that_is_not_closed(run: Any) -> None:
    rows = [f"{number},text {number}\n" for number in range(1000)]
    rows[50] = '50,"text 50\n'
    data = ("id,text\n" + "".join(rows)).encode()
    at = data.index(b'"')
    refused(run, data, f"line 52: a quote that is not closed (at byte {at})")
    refused(run, b'a\n"cut off', "line 2: a quote that is not closed (at byte 2)")
    # Closed by the quote of a later row, which takes the rows in between in.
    rows[900] = '900,"text" 900\n'
    data = ("id,text\n" + "".join(rows)).encode()
    refused(run, data, "line 52: a quote", f"(at byte {at})")
    # Other quotes stand for themselves, as long as they stay on their line.
    packed(run, b'id,text\n1,"he said "hi" twice"\n2,5" disk\n', name=".csv")
    assert unpacked(run) == [{"id": 1, "text": 'he said "hi" twice'}, {"id": 2, "text": '5" disk'}]


def test_an_unclosed_quote_is_kept_in_quarantine(run: Any, tmp_path: Any) -> None:
    data = b'a,b\n1,2\n3,"4\n5,6\n'
    words = ["pack", "-f", ".csv", "--on-error", "quarantine:q.csv", "-o", "a.zion", "-"]
    result = run(*words, data=data)
    assert result.returncode == 0
    assert b"skipped 1 record; kept in q.csv" in result.stderr
    assert (tmp_path / "q.csv").read_bytes() == b'3,"4\n5,6\n'
    assert unpacked(run) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("name", [".csv", ".tsv"])
@pytest.mark.parametrize("hints", [False, True])
def test_lines_of_carriage_returns(run: Any, tmp_path: Any, name: str, hints: bool) -> None:
    (tmp_path / "hints.json").write_text('{"skip_records": 1, "fields": [{"name": "a"}]}')
    options = {"hints": "hints.json"} if hints else {}
    separator = b"," if name == ".csv" else b"\t"
    text = b"a%cb\r1%c2\r3%c4\r" % ((separator[0],) * 3)
    refused(run, text, "carriage return alone", "(at byte 3)", name=name, **options)
    if name == ".csv":
        refused(run, b'"a","b"\r"1","2"\r', "carriage return alone", "(at byte 7)", **options)
        packed(run, b'"a\rb",c\n1,2\n', name=name)
        assert unpacked(run) == [{"a\rb": 1, "c": 2}]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_in_quotes(run: Any, separator: str) -> None:
    text = f'"a,b"{separator}c\n1{separator}2\n"x,y"{separator}"z"\n'
    packed(run, text.encode(), name=".csv")
    assert unpacked(run) == [{"a,b": "1", "c": "2"}, {"a,b": "x,y", "c": "z"}]


def test_what_was_recorded_with_hints_stays(run: Any, tmp_path: Any) -> None:
    """The original, which needs hints, closes the last field and makes LF of CRLF."""
    (tmp_path / "h.json").write_text('{"fields": [{"name": "a"}, {"name": "b"}]}')
    packed(run, b'"x\r\ny",1\n"open,c\n', "--hints", "h.json", name=".csv")
    assert unpacked(run) == [{"a": "x\ny", "b": "1"}, {"a": "open,c\n"}]
    refused(run, b'"open,c\nd,e\n', "line 1: a quote that is not closed", hints="h.json")
    refused(run, b'x\n"a"b,c\nd,"e"\n', "line 2: a quoted field", hints="h.json")
    assert json.loads(run("describe-file", "--json", "a.zion").stdout)
    assert parsed(run("head", "a.zion"))
