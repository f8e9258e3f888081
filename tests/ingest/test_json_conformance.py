"""JSON in every shape and misshape: the right rows, or one clear error (docs/format.md, 11)."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import SdbError, SdbWarning

if TYPE_CHECKING:
    from pathlib import Path

DEEP = 63


def rows_of(folder: Path, text: bytes | str) -> list[dict[str, Any]]:
    source = folder / "input.json"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    packed = folder / "packed.zion"
    sdb.pack([source], packed, format="json", overwrite=True)
    with sdb.open(packed) as packfile:
        return list(packfile.rows())


def nested(levels: int, opening: str, closing: str, core: str = "1") -> str:
    """A record whose value makes it `levels` levels deep."""
    return '{"a":' + opening * (levels - 1) + core + closing * (levels - 1) + "}"


NUMBERS: dict[str, int | float] = {
    "0": 0,
    "-0": 0,
    "-0.0": 0,
    "0e999999999999": 0,
    "1": 1,
    "-1": -1,
    "00012": 12,
    "1.": 1,
    "1.0": 1,
    "1e3": 1000,
    "1E+3": 1000,
    "1e": 1,
    "1e-1": 0.1,
    "0.1": 0.1,
    "3.14159265358979323846": math.pi,
    "9223372036854775807": 2**63 - 1,
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": 2.0**64,
    "-9223372036854775808": -(2**63),
    "-9223372036854775809": -9223372036854777856.0,  # no integer that another text means
    "1e19": 1e19,
    "9007199254740993": 2**53 + 1,
    "9007199254740993.0": 2**53,
    "9007199254740992.5e0": 2**53,
    "1.7976931348623157e308": 1.7976931348623157e308,
    "4.9e-324": 5e-324,
    "2.4703282292062327e-324": 0,
    "2.4703282292062329e-324": 5e-324,
    "2.2250738585072011e-308": 2.2250738585072011e-308,
    "1e-400": 0,
    "123456789012345678901234567890": 1.2345678901234568e29,
    "0." + "0" * 400 + "1e401": 1,
    "1" + "0" * 400 + "e-400": 1,
    "1.00000000000000011102230246251565404236316680908203125": 1,
    "1.00000000000000011102230246251565404236316680908203126": 1.0000000000000002,
    "6929495644600919.5": 6929495644600920,
    "3.7455744005952583e15": 3745574400595258.5,
}


def test_numbers(tmp_path: Path) -> None:
    text = "".join(f'{{"v":{number}}}' for number in NUMBERS)
    got = [row["v"] for row in rows_of(tmp_path, text)]
    for (number, value), result in zip(NUMBERS.items(), got, strict=True):
        integral = float(value).is_integer() and -(2**63) <= value < 2**64 and abs(value) < 1e19
        expected = int(value) if integral or isinstance(value, int) else value
        assert (type(result), result) == (type(expected), expected), number


STRINGS = {
    r'""': "",
    r'"a"': "a",
    r'"\"\\\/\b\f\n\r\t"': '"\\/\b\f\n\r\t',
    r'"\a\v"': "\a\v",
    r'"\u0041\u00e9\u4E2d"': "Aé中",
    r'"\ud83d\ude00"': "😀",
    r'"\uD83D\uDE00x"': "😀x",
    r'"\ud83d"': "\ufffd",
    r'"\ude00\ud83d"': "\ufffd\ufffd",
    r'"\ud83dx"': "\ufffdx",
    r'"\ud83d\u0041"': "\ufffdA",
    r'"\ud83d\ud83d\ude00"': "\ufffd😀",
    r'"\u0000"': "\0",
    r'"\ufffe\uffff"': "\ufffe\uffff",
    '"a\nb\tc\x01\x7f"': "a\nb\tc\x01\x7f",
    '"é中😀\u2028"': "é中😀\u2028",
    '"\U0010ffff"': "\U0010ffff",
    '"' + "x" * 100_000 + '"': "x" * 100_000,
    '"' + "\\\\" * 33 + '"': "\\" * 33,
}


def test_strings(tmp_path: Path) -> None:
    text = "".join(f'{{"v":{string}}}' for string in STRINGS)
    assert [row["v"] for row in rows_of(tmp_path, text)] == list(STRINGS.values())


def test_names(tmp_path: Path) -> None:
    names = [*STRINGS, r'"$ion_symbol_table"', '"name"', '"symbols"', r'"na\u006de2"']
    text = "".join(f"{{{name}:1}}" for name in names)
    expected = [json.loads(name.replace("\\a", "\\u0007").replace("\\v", "\\u000b"), strict=False)
                for name in names]  # fmt: skip
    got = [next(iter(row)) for row in rows_of(tmp_path, text)]
    lone = [i for i, name in enumerate(expected) if any("\ud800" <= c <= "\udfff" for c in name)]
    assert [got[i] for i in lone] == [STRINGS[names[i]] for i in lone]
    rest = [i for i in range(len(names)) if i not in lone]
    assert [got[i] for i in rest] == [expected[i] for i in rest]


ACCEPTED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "nothing": ("", []),
    "white space": (" \t\r\n\v\f", []),
    "lines": ('{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
    "no last newline": ('{"a":1}\n{"a":2}', [{"a": 1}, {"a": 2}]),
    "CR LF and empty lines": ('\r\n{"a":1}\r\n\r\n\r\n{"a":2}\r\n', [{"a": 1}, {"a": 2}]),
    "concatenated": ('{"a":1}{"a":2} {"a":3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
    "array": ('[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
    "arrays and records": ('[]{"a":1}[{"a":2}] [ ] {"a":3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
    "spread out": ('\n{\n "a" \t:\r 1 ,\n"b":[ 1 , 2\n]\n}\n', [{"a": 1, "b": [1, 2]}]),
    "empty containers": ('{"a":{},"b":[],"c":[[],{}]}', [{"a": {}, "b": [], "c": [[], {}]}]),
    "empty record": ("{}", [{}]),
    "literals": (
        '{"a":null,"b":true,"c":false,"d":[null,true,false]}',
        [{"a": None, "b": True, "c": False, "d": [None, True, False]}],
    ),
    "duplicate names": ('{"a":1,"b":2,"a":3}', [{"a": 1, "b": 2}]),
    "duplicate escaped": (r'{"a":1,"\u0061":{"b":2}}', [{"a": 1}]),
    "duplicate structs": ('{"a":{"b":1,"b":2},"a":{"c":3}}', [{"a": {"b": 1}}]),
    "duplicate in list": ('{"a":[{"b":1,"b":[2]}]}', [{"a": [{"b": 1}]}]),
    "braces in strings": (r'{"a":"}{][\"}"}{"b":"\\"}', [{"a": '}{]["}'}, {"b": "\\"}]),
    "deepest lists": (nested(DEEP, "[", "]"), [json.loads(nested(DEEP, "[", "]"))]),
    "deepest records": (
        nested(DEEP, '{"a":', "}"),
        [json.loads(nested(DEEP, '{"a":', "}"))],
    ),
    "deepest in an array": (
        "[" + nested(DEEP, "[", "]") + "]",
        [json.loads(nested(DEEP, "[", "]"))],
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(tmp_path: Path, name: str) -> None:
    text, rows = ACCEPTED[name]
    is_dropped = name.startswith("duplicate")
    said = pytest.warns(SdbWarning, match="dropped, since an object has the name twice")
    with said if is_dropped else nullcontext():
        assert rows_of(tmp_path, text) == rows


REPLACED = {
    "overlong": b"\xc0\xaf",
    "overlong 3": b"\xe0\x80\xaf",
    "encoded surrogate": b"\xed\xa0\x80",
    "above 10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "lone continuation": b"\x80",
    "cut sequence": b"\xe4\xb8",
    "latin 1": b"caf\xe9",
}


@pytest.mark.parametrize("name", REPLACED)
def test_bytes_that_are_no_text_are_replaced_as_python_does(tmp_path: Path, name: str) -> None:
    data = REPLACED[name]
    with pytest.warns(SdbWarning, match="not UTF-8"):
        assert rows_of(tmp_path, b'{"a":"' + data + b'"}') == [{"a": data.decode(errors="replace")}]


REFUSED: dict[str, bytes | str] = {
    "NUL": b"\0",
    "NUL between records": b"{}\0{}",
    "NUL in a record": b'{"a":\x001}',
    "text": "hello",
    "scalar": "1",
    "string": '"a"',
    "null": "null",
    "comma between records": '{"a":1},{"a":2}',
    "comma first": ',{"a":1}',
    "comma last": '{"a":1},',
    "comma in array last": '[{"a":1},]',
    "array of scalars": "[1,2]",
    "array of arrays": '[[{"a":1}]]',
    "array unfinished": '[{"a":1}',
    "array without comma": '[{"a":1}{"a":2}]',
    "array two commas": '[{"a":1},,{"a":2}]',
    "array closed twice": '[{"a":1}]]',
    "record closed twice": "{}}",
    "record closed as array": '{"a":1]',
    "array closed as record": '{"a":[1}}',
    "comment": '{"a":1/*x*/}',
    "line comment": '{"a":1}//x',
    "hash comment": '{"a":1}#x',
    "single quotes": "{'a':1}",
    "bare name": "{a:1}",
    "number as name": "{1:1}",
    "no colon": '{"a" 1}',
    "two colons": '{"a"::1}',
    "no value": '{"a":}',
    "no value, comma": '{"a":,"b":1}',
    "trailing comma": '{"a":1,}',
    "leading comma": '{,"a":1}',
    "two commas": '{"a":1,,"b":2}',
    "no comma": '{"a":1 "b":2}',
    "list two commas": '{"a":[1,,2]}',
    "list leading comma": '{"a":[,1]}',
    "list no comma": '{"a":[1 2]}',
    "list of records trailing comma": '{"a":[{},]}',
    "list colon": '{"a":["b":1]}',
    "True": '{"a":True}',
    "nul": '{"a":nul}',
    "nulls": '{"a":nulls}',
    "truefalse": '{"a":truefalse}',
    "two values": '{"a":1 2}',
    "plus": '{"a":+1}',
    "point first": '{"a":.5}',
    "minus alone": '{"a":-}',
    "minus point": '{"a":-.5}',
    "two minus": '{"a":--1}',
    "hexadecimal": '{"a":0x10}',
    "two points": '{"a":1.2.3}',
    "two exponents": '{"a":1e2e3}',
    "letters after": '{"a":12ab}',
    "underscore": '{"a":1_000}',
    "full-width digit": '{"a":\uff11}',
    "overflow": '{"a":1e309}',
    "big overflow": '{"a":1e99999999999999999999}',
    "unfinished string": '{"a":"b',
    "unfinished escape": '{"a":"b\\',
    "escaped quote": '{"a":"b\\"}',
    "unknown escape": r'{"a":"\x41"}',
    "octal escape": r'{"a":"\101"}',
    "capital U": r'{"a":"\U0041"}',
    "short u": r'{"a":"\u004"}',
    "bad u": r'{"a":"\u00g0"}',
    "u sign": r'{"a":"\u+041"}',
    "second surrogate cut": r'{"a":"\ud83d\u"}',
    "escape in name": r'{"\q":1}',
    "cut at end": b'{"a":"\xe4\xb8',
    "outside": b"\xff{}",
    "no-break space": '{"a":\u00a01}',
    "too deep lists": nested(DEEP + 1, "[", "]"),
    "too deep records": nested(DEEP + 1, '{"a":', "}"),
    "very deep": "[" * 100_000,
    "very deep records": '{"a":' * 100_000,
    "very deep in array": '[{"a":' + "[" * 100_000,
    "mixed up": '{"a":[{"b":[}]}',
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    """Alone, and behind good rows: exit code 6, and line and offset of the culprit."""
    bad = REFUSED[name]
    bad = bad.encode() if isinstance(bad, str) else bad
    with pytest.raises(SdbError) as caught:
        rows_of(tmp_path, bad)
    assert caught.value.exit_code == 6
    good = b'{"a":1}\n' * 1000
    with pytest.raises(SdbError) as caught:
        rows_of(tmp_path, good + bad)
    error = caught.value
    assert error.exit_code == 6
    assert "input.json" in str(error)
    assert "\n" not in str(error).strip()
    assert error.line is not None
    assert error.line >= 1001
    assert error.offset is not None
    assert len(good) <= error.offset <= len(good + bad)
    assert not (tmp_path / "packed.zion").exists()


def test_truncation_anywhere(tmp_path: Path) -> None:
    """A record cut off at any byte is an error, never a row less."""
    record = '{"a b":[1,-2.5e3,"x\\u00e9\\n",{"c":null,"d":[true,false]}],"é":"中"}'.encode()
    assert len(rows_of(tmp_path, record)) == 1
    (tmp_path / "packed.zion").unlink()
    for end in range(1, len(record)):
        with pytest.raises(SdbError) as caught:
            rows_of(tmp_path, b"{}" + record[:end])
        assert caught.value.exit_code == 6, record[:end]


def test_random_rows_equal_json(tmp_path: Path) -> None:
    """What Python's own parser reads from the same text, across chunk and part boundaries."""
    row = '{{"i": {i}, "f": {i}.25, "s": "{s}", "n": {{"a": [{i}, null, {{"x": "{i}"}}]}}}}\n'
    text = "".join(row.format(i=i, s="é\\n\\u4e2d" * (i % 97)) for i in range(60_000))
    assert len(text) > 17 << 20
    expected = [json.loads(line) for line in text.splitlines()]
    assert rows_of(tmp_path, text) == expected
