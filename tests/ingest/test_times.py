"""Times of inputs: forms that can be read in one way, zones, and forms that a user tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from sdb.errors import SdbWarning, UsageError
from sdb.packfile.read.likelytimes import likely_times
from sdb.table.definition.definition import Definition
from sdb.times import Times, field, offsets

if TYPE_CHECKING:
    from pathlib import Path

AT = "2024-03-04T05:06:07Z"
FORMS = [
    "2024-03-04T05:06:07+0000",
    "2024-03-04T07:06:07+02",
    "2024-03-04 05:06:07 UTC",
    "2024/03/04 05:06:07",
    "04/Mar/2024:05:06:07 +0000",
    "Mon, 04 Mar 2024 05:06:07 GMT",
    "Mon Mar  4 05:06:07 2024",
]
OTHERS = ["2024-03-04", "20240304050607", "01/02/2024 10:00", "2024-02-30T05:06:07Z", "12:00"]


def values(source: object, path: Path, **options: Any) -> list[object]:
    """Pack and read the field `t`; times as texts."""
    sdb.pack(source, path / "out.zion", overwrite=True, **options)  # type: ignore[arg-type]
    rows = [row["t"] for row in sdb.open(path / "out.zion").rows()]
    return [
        instants.text(instants.to_us(value)) if hasattr(value, "tzinfo") else value
        for value in rows
    ]


def lines(path: Path, *texts: object) -> Path:
    file = path / "in.json"
    file.write_text("".join(json.dumps({"t": text}) + "\n" for text in texts))
    return file


def test_each_input_reads_the_same_forms(tmp_path: Path) -> None:
    from pyarrow import parquet, table

    (tmp_path / "in.csv").write_text("t\n" + "".join(f'"{text}"\n' for text in FORMS))
    (tmp_path / "in.log").write_text("".join(f't="{text}"\n' for text in FORMS))
    parquet.write_table(table({"t": FORMS}), tmp_path / "in.parquet")
    for source, options in (
        (lines(tmp_path, *FORMS), {}),
        (tmp_path / "in.csv", {}),
        (tmp_path / "in.log", {"format": "logfmt"}),
        (tmp_path / "in.parquet", {}),
        ([{"t": text} for text in FORMS], {}),
    ):
        assert values(source, tmp_path, **options) == [AT] * len(FORMS), source
    folder = tmp_path / f"t={FORMS[0].replace(':', '%3A')}"
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    assert values(folder / "a.json", tmp_path) == [AT]


def test_casts_and_comparisons_read_the_same_forms(tmp_path: Path) -> None:
    values(lines(tmp_path, *FORMS), tmp_path, times="none")
    cast = sdb.sql("SELECT DISTINCT t::TIMESTAMP AS t FROM 'out.zion'", root=str(tmp_path))
    assert [row["t"] for row in cast] == [instants.from_us(instants.parse(AT))]
    for text in FORMS:
        assert instants.parse(text) == instants.parse(AT)
        quoted = f"TIMESTAMP '{text}' = TIMESTAMP '{AT}'"
        assert next(iter(sdb.sql(f"SELECT {quoted} AS same"))) == {"same": True}


def test_other_texts_stay_texts(tmp_path: Path) -> None:
    assert values(lines(tmp_path, *OTHERS), tmp_path) == OTHERS
    assert values(lines(tmp_path, *FORMS), tmp_path, times="none") == FORMS
    rfc = values(lines(tmp_path, AT, FORMS[0]), tmp_path, times="rfc3339")
    assert rfc == [AT, FORMS[0]]


def test_what_is_typed_stays_what_it_is(tmp_path: Path) -> None:
    values(lines(tmp_path, AT), tmp_path, times="none")
    (tmp_path / "out.zion").rename(tmp_path / "texts.zion")
    assert values(tmp_path / "texts.zion", tmp_path) == [AT]


def test_digits_that_are_cut_are_counted(tmp_path: Path) -> None:
    source = lines(tmp_path, "2024-03-04T05:06:07.1234567Z", "2024-03-04T05:06:07.1234560Z")
    with pytest.warns(SdbWarning, match="^1 time has digits beyond microseconds"):
        assert values(source, tmp_path) == ["2024-03-04T05:06:07.123456Z"] * 2


def test_times_without_a_zone(tmp_path: Path) -> None:
    source = lines(tmp_path, "2024-07-01 12:00:00", "2024-07-01T12:00:00Z")
    reading = Times(timezone="Europe/Berlin")
    expected = ["2024-07-01T10:00:00Z", "2024-07-01T12:00:00Z"]
    assert values(source, tmp_path, times=reading) == expected
    with pytest.raises(UsageError, match="unknown time zone"):
        offsets("Europe/Nowhere")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1709528767, "unix"),
        (1709528767.0, "unix"),
        ("1709528767000", "unix_ms"),
        (1709528767000000, "unix_us"),
        ("1709528767000000000", "unix_ns"),
        ("04/03/2024 05:06:07", "%d/%m/%Y %H:%M:%S"),
    ],
)
def test_forms_that_are_told(tmp_path: Path, value: object, form: str) -> None:
    reading = Times(forms=((("t",), form),))
    (tmp_path / "in.csv").write_text(f"t\n{value}\n")
    for source in (lines(tmp_path, value), tmp_path / "in.csv", [{"t": value}]):
        assert values(source, tmp_path, times=reading) == [AT], source
    assert sdb.open(tmp_path / "out.zion").time_indexes


def test_a_form_that_no_value_has_is_said(tmp_path: Path) -> None:
    reading = Times(forms=((("t",), "unix_ms"),))
    with pytest.warns(SdbWarning, match="no value of t has the form"):
        assert values(lines(tmp_path, "x"), tmp_path, times=reading) == ["x"]
    with pytest.raises(UsageError, match="%Q is unknown"):
        values(lines(tmp_path, "x"), tmp_path, times=Times(forms=((("t",), "%Q"),)))


def test_hints_take_fractions_and_texts(tmp_path: Path) -> None:
    row = {"a": {"b": {"c": "1709528767"}}, "t": 1709528767.5}
    (tmp_path / "in.json").write_text(json.dumps(row))
    hints = b'{"t": "unix_seconds", "a.b.c": "unix"}'
    assert values(tmp_path / "in.json", tmp_path, hints=hints) == ["2024-03-04T05:06:07.5Z"]
    assert set(sdb.open(tmp_path / "out.zion").time_indexes) == {("t",), ("a", "b", "c")}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"ts": 1709528767.25}, "ts looks like epoch seconds: --time-field ts:unix"),
        ({"n": "1709528767123456"}, "n looks like epoch microseconds: --time-field n:unix_us"),
        ({"at": "25/12/2024 10:00"}, "--time-field 'at:%d/%m/%Y %H:%M'"),
        ({"at": "01/02/2024 10:00"}, "or --time-field 'at:%m/%d/%Y %H:%M'"),
        ({"id": 1709528767}, None),
        ({"ts": 17}, None),
        ({"ok": True, "text": "a"}, None),
        ({"ts": float("nan")}, None),
        ({"ts": float("-inf")}, None),
        ({"ts": "1" * 400}, None),
    ],
)
def test_fields_that_look_like_times(row: dict[str, object], expected: str | None) -> None:
    said = [str(field) for field in likely_times([row])]
    assert len(said) == (expected is not None)
    assert expected is None or expected in said[0]


def test_names_with_colons() -> None:
    assert field("a.b:unix_ms") == (("a", "b"), "unix_ms")
    assert field("t:%H:%M") == (("t",), "%H:%M")
    assert field("http:port:unix") == (("http:port",), "unix")
    assert field("http:port") == (("http:port",), "")


def test_a_period_on_a_field_without_times_says_so(tmp_path: Path) -> None:
    values(lines(tmp_path, 1709528767), tmp_path)
    with pytest.warns(SdbWarning, match=r"t has numbers and no timestamp in any row.*t:unix"):
        assert not list(sdb.open(tmp_path / "out.zion").rows(since=AT, time_field="t"))
    values(lines(tmp_path, "01/02/2024 10:00"), tmp_path)
    sql = f"SELECT * FROM 'out.zion' WHERE t > TIMESTAMP '{AT}'"
    answer = sdb.sql(sql, root=str(tmp_path))
    assert not list(answer)
    assert "t has strings and no timestamp in any row: compare t::TIMESTAMP" in answer.notes[0]


def test_a_definition_says_how_times_are_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines(tmp_path / "in", "01/02/2024 10:00")
    db = sdb.connect(tmp_path)
    reading = {"timezone": "Europe/Berlin", "fields": {"t": "%d/%m/%Y %H:%M"}}
    rule = {"pattern": "file://in/*.json", "times": reading}
    definition = Definition.parse(json.dumps({"input": [rule]}))
    assert Definition.parse(definition.shown()) == definition
    db.create("d.t", definition)
    db.sync("d.t")
    assert [row["t"] for row in db.sql("SELECT t FROM d.t")] == [
        instants.from_us(instants.parse("2024-02-01T09:00:00Z"))
    ]
    with pytest.raises(sdb.errors.SdbError, match="unknown times 'iso'"):
        db.create("d.u", Definition.parse(json.dumps({"input": [{**rule, "times": "iso"}]})))


def test_queries_of_raw_files_read_times_as_they_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDB_CACHE", str(tmp_path / "cache"))
    file = lines(tmp_path, "04/03/2024 06:06:07")
    query = f"SELECT t FROM '{file}'"
    local = Times(timezone="Europe/Berlin", forms=((("t",), "%d/%m/%Y %H:%M:%S"),))
    for times, expected in [("all", str), (local, object), ("all", str)]:
        with sdb.sql(query, times=times) as result:
            (row,) = result
        # What one reading has put into the cache is not the answer to the other.
        assert isinstance(row["t"], expected)
        if times is local:
            assert instants.text(instants.to_us(row["t"])) == AT
    with sdb.sql(query, times=local, since=AT, time_field="t") as result:
        assert len(list(result)) == 1


def test_comparisons_with_times_outside_of_conditions_tell_of_fields_without_any(
    tmp_path: Path,
) -> None:
    sdb.pack(lines(tmp_path, 1709528767, 1709528768), tmp_path / "out.zion")
    for item in (
        f"COUNT(*) FILTER (WHERE t > TIMESTAMP '{AT}')",
        f"SUM(CASE WHEN TIMESTAMP '{AT}' < t THEN 1 ELSE 0 END)",
    ):
        with sdb.sql(f"SELECT {item} AS n FROM '{tmp_path}/out.zion'") as result:
            list(result)
            (note,) = result.notes
        assert "is TRUE in no row: t has numbers and no timestamp; pack it with" in note


JOURNAL = b"""{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1709528767123456","MESSAGE":"a"}
{"__CURSOR":"s=2","_SOURCE_REALTIME_TIMESTAMP":"17","__REALTIME_TIMESTAMP":"1709528768123456"}
"""


@pytest.mark.filterwarnings("ignore:.*digits beyond microseconds")
def test_times_of_the_journal_are_found_by_themselves(tmp_path: Path) -> None:
    """Its texts of digits are times, unless the caller says otherwise."""
    path, times = tmp_path / "j.json", ("__REALTIME_TIMESTAMP",)
    path.write_bytes(JOURNAL)
    result = sdb.pack(path, tmp_path / "j.zion")
    assert set(result.trailer.sparse.indices) == {times}
    first, second = sdb.open(tmp_path / "j.zion").rows()
    assert str(first[times[0]]) == "2024-03-04 05:06:07.123456+00:00"
    assert second["_SOURCE_REALTIME_TIMESTAMP"] == "17"
    for reading in ("none", sdb.Times(forms=((times, "unix_ns"),))):
        sdb.pack(path, tmp_path / "other.zion", times=reading, overwrite=True)
        other = next(sdb.open(tmp_path / "other.zion").rows())[times[0]]
        assert str(other) != str(first[times[0]])
    lake = sdb.connect(tmp_path)
    lake.create("d.t", "j.json")
    lake.sync("d.t")
    assert next(lake.table("d.t").rows())[times[0]] == first[times[0]]


def test_others_with_the_names_of_the_journal_stay_what_they_are(tmp_path: Path) -> None:
    """Without a cursor, or with other texts, nothing is guessed."""
    for text in (
        b'{"__REALTIME_TIMESTAMP":"1709528767123456"}',
        b'{"__CURSOR":"s","__REALTIME_TIMESTAMP":"soon"}',
    ):
        (tmp_path / "j.json").write_bytes(text)
        result = sdb.pack(tmp_path / "j.json", tmp_path / "j.zion", overwrite=True)
        assert not result.trailer.sparse.indices
