"""Values of CSV, TSV and logs have the type of their column: a guess destroys nothing."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import InputError, SdbError, SdbWarning
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def rows_of(data: bytes, format: str, folder: Path, **options: Any) -> list[Any]:  # noqa: A002
    target = folder / "columns.zion"
    sdb.pack([io.BytesIO(data)], target, format=format, overwrite=True, **options)
    with sdb.open(target) as pack:
        return list(pack.rows())


def column(*texts: str, folder: Path) -> list[Any]:
    return [row.get("n") for row in rows_of(csv_of(texts), "csv", folder)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("1", "2.5", "-3"), [1, 2.5, -3]),
        (("1.50", "2.25"), [1.5, 2.25]),
        (("203615", "008015"), ["203615", "008015"]),
        (("a1b2c3d", "12345e7", "1234567", "5e3"), ["a1b2c3d", "12345e7", "1234567", "5e3"]),
        (("1.9.2", "1.10", "1.1"), ["1.9.2", "1.10", "1.1"]),
        (("1.9", "1.10", "1.1"), ["1.9", "1.10", "1.1"]),
        (("12345e7",), ["12345e7"]),
        (("true", "FALSE"), [True, False]),
        (("true", "7"), ["true", "7"]),
        (("18446744073709551616", "1"), ["18446744073709551616", "1"]),
        (("1", "", "3"), [1, None, 3]),
    ],
)
def test_a_column_has_a_type_only_if_all_values_have_it(
    tmp_path: Path, texts: tuple[str, ...], expected: list[Any]
) -> None:
    assert column(*texts, folder=tmp_path) == expected


WORDS = st.one_of(
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,3})?(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["true", "False", "TRUE", "007", "NaN", "2024-03-04", "null", "1e999", "+1"]),
    st.text("abe10.-+: ", min_size=1, max_size=6).filter(lambda text: text.strip() == text),
)
SPELLINGS = (
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S,%f+0000",
    "%Y/%m/%d %H:%M:%S",
    "%d/%b/%Y:%H:%M:%S +0000",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y%m%dT%H%M%SZ",
)
INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def columns(draw: st.DrawFn) -> dict[str, datetime | None]:
    """Draw texts of a column, with the instants of those that are times."""
    texts: dict[str, datetime | None] = {}
    kinds = draw(st.sampled_from([(0,), (1,), (0, 1)]))
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=8)):
        if kind == 0:
            texts[draw(WORDS)] = None
            continue
        spelling = draw(st.sampled_from(SPELLINGS))
        at = draw(INSTANTS)
        texts[at.strftime(spelling)] = at if "%f" in spelling else at.replace(microsecond=0)
    return texts


def check_value(text: str, value: object, at: datetime | None) -> None:
    """Check that a value is its text, or a number, a truth value or a time that is equal to it."""
    if isinstance(value, bool):
        assert text.lower() == str(value).lower()
    elif isinstance(value, int):
        assert Decimal(text) == value
    elif isinstance(value, float):
        assert float(text) == value
    elif isinstance(value, str):
        assert value == text
    else:
        assert value == at, text


def csv_of(texts: Iterable[str]) -> bytes:
    out = io.StringIO()
    rows = ([text, "."] for text in texts)
    csv.writer(out, lineterminator="\n").writerows([["n", "x"], *rows])
    return out.getvalue().encode()


LINES = {
    "csv": csv_of,
    "tsv": lambda texts: b"n\tx\n" + b"".join(b"%s\t.\n" % text.encode() for text in texts),
    "logfmt": lambda texts: b"".join(
        b"n=%s\n" % (json.dumps(text) if " " in text else text).encode() for text in texts
    ),
    "json": lambda texts: b"".join(json.dumps({"n": text}).encode() + b"\n" for text in texts),
}


@pytest.mark.parametrize("format_", LINES)
@settings(max_examples=usual(40), deadline=None)
@given(columns())
def test_values_are_their_texts_or_equal_to_them_and_no_two_texts_become_one(
    tmp_path_factory: pytest.TempPathFactory, format_: str, texts: dict[str, datetime | None]
) -> None:
    rows = rows_of(LINES[format_](texts), format_, tmp_path_factory.mktemp("columns"))
    values = [row["n"] for row in rows]
    for (text, at), value in zip(texts.items(), values, strict=True):
        check_value(text, value, at)
    # JSON has its own types, and each text is looked at alone.
    if format_ != "json" and any(isinstance(value, str) for value in values):
        assert values == list(texts)


def test_types_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    lines = [f"{number},{number if number < 30_000 else 'x'}" for number in range(40_000)]
    data = ("a,b\n" + "\n".join(lines) + "\n").encode()
    with pytest.warns(SdbWarning, match=r"10,000 values of b are no number"):
        alone = rows_of(data, "csv", tmp_path, threads=1)
    with pytest.warns(SdbWarning):
        two = rows_of(data, "csv", tmp_path, threads=2)
    assert alone == two
    assert (two[29_999]["b"], two[30_000]["b"]) == (29_999, "x")


def test_a_column_that_is_nearly_of_one_type_is_told(tmp_path: Path) -> None:
    data = b"n\n" + b"7\n" * 99 + b"n/a\n"
    with pytest.warns(SdbWarning, match="n is text, since only 99 of the first 100 values"):
        assert rows_of(data, "csv", tmp_path)[0] == {"n": "7"}
    with pytest.warns(SdbWarning, match="1 value of n is no number, and stays text"):
        rows = rows_of(data, "csv:columns=n:number", tmp_path)
    assert (rows[0], rows[99]) == ({"n": 7}, {"n": "n/a"})


def test_types_of_columns_can_be_said(tmp_path: Path) -> None:
    rows = rows_of(b"id,n\n1,2\n", "csv:columns=id:text,n:int", tmp_path)
    assert rows == [{"id": "1", "n": 2}]
    with pytest.raises(SdbError, match='there is no column "x"'):
        rows_of(b"id,n\n1,2\n", "csv:columns=x:text", tmp_path)
    with pytest.raises(SdbError, match='"date" is no type'):
        rows_of(b"id,n\n1,2\n", "csv:columns=id:date", tmp_path)


def test_a_first_row_with_values_is_no_header(tmp_path: Path) -> None:
    data = b"1,alice,2024-01-01\n2,bob,2024-01-02\n"
    with pytest.warns(SdbWarning, match="the first row has values and no names"):
        rows = rows_of(data, "csv", tmp_path)
    assert rows == [
        {"c0": 1, "c1": "alice", "c2": "2024-01-01"},
        {"c0": 2, "c1": "bob", "c2": "2024-01-02"},
    ]
    assert len(rows_of(data, "csv:header=no", tmp_path)) == 2
    assert rows_of(data, "csv:header=yes", tmp_path) == [
        {"1": 2, "alice": "bob", "2024-01-01": "2024-01-02"}
    ]


@pytest.mark.parametrize(
    "value",
    [
        *("192.0.2.1", "2001:db8::1", "::1", "550e8400-e29b-41d4-a716-446655440000", "-1.5", '"7"'),
        *("true", "FALSE", "a.b@example.org", "https://example.org/x"),
    ],
)
def test_a_first_row_with_a_value_is_no_header(tmp_path: Path, value: str) -> None:
    data = f"GET,{value}\nPUT,{value}\n".encode()
    with pytest.warns(SdbWarning, match="the first row has values and no names"):
        assert [row["c0"] for row in rows_of(data, "csv", tmp_path)] == ["GET", "PUT"]


@pytest.mark.parametrize(
    "name", ["ip", "1.2.3.4.5", "a-b-c-d-e", "v1", "truth", "host:port", "$1", "a@b", "@timestamp"]
)
def test_a_first_row_of_names_is_a_header(tmp_path: Path, name: str) -> None:
    assert rows_of(f"x,{name}\ny,z\n".encode(), "csv", tmp_path) == [{"x": "y", name: "z"}]


def test_comments_and_lines_before_the_header_do_not_count(tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "a"}]
    assert rows_of(b"# comment\n# another\nid,name\n1,a\n", "csv", tmp_path) == rows
    assert rows_of(b"report of May\n\nid,name\n1,a\n", "csv:skip=1", tmp_path) == rows
    assert rows_of(b"report of May\nid,name\n1,a\n", "csv:header=2", tmp_path) == rows
    data = b"id,name\n% half\n1,a\n% end\n"
    assert rows_of(data, "csv:comment=%", tmp_path) == rows
    # A name may begin with the sign of comments.
    assert rows_of(b"#,name\n1,a\n", "csv", tmp_path) == [{"#": 1, "name": "a"}]


def test_fields_of_w3c_and_zeek_name_the_columns(tmp_path: Path) -> None:
    data = (
        b"#Version: 1.0\n#Fields: date time cs-uri-stem sc-status\n"
        b"2024-03-04\t05:06:07\t/a\t200\n#Remark\n2024-03-04\t05:06:08\t-\t404\n"
    )
    at = datetime(2024, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert rows_of(data, "tsv", tmp_path) == [
        {"time": at, "cs-uri-stem": "/a", "sc-status": 200},
        {"time": at + timedelta(seconds=1), "sc-status": 404},
    ]
    assert rows_of(data.replace(b"\t", b" "), "tsv", tmp_path) == rows_of(data, "csv", tmp_path)
    zeek = b"#separator \\x09\n#fields\tts\tuid\torig.p\n1.5\tCx\t80\n2.5\t-\t(empty)\n#close\n"
    assert rows_of(zeek, "tsv", tmp_path) == [{"ts": 1.5, "uid": "Cx", "orig.p": 80}, {"ts": 2.5}]
    with pytest.raises(InputError, match="the fields change here"):
        rows_of(data + b"#Fields: time date\n05:06:09\t2024-03-04\n", "tsv", tmp_path)


def test_logs_have_types_by_field(tmp_path: Path) -> None:
    data = b"commit=12345e7 n=5\ncommit=1234567 n=6 ok=true\n"
    assert rows_of(data, "logfmt", tmp_path) == [
        {"commit": "12345e7", "n": 5},
        {"commit": "1234567", "n": 6, "ok": True},
    ]
    assert rows_of(b"a 1\nb 02\n", r"regex:(?P<k>\w) (?P<v>\d+)", tmp_path) == [
        {"k": "a", "v": "1"},
        {"k": "b", "v": "02"},
    ]


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    for format, message in [  # noqa: A001
        ("csv:heder=no", "there is no option"),
        ("csv:header=maybe", "yes, no, auto"),
        ("csv:comment=##", "one ASCII character"),
        ("json:x=1", "unknown option"),
        ("text:x=1", "takes no options"),
    ]:
        with pytest.raises(SdbError, match=message):
            rows_of(b"a,b\n1,2\n", format, tmp_path)
