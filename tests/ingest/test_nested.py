"""Texts that are JSON, taken apart where an option says so; `testdata/field/nested` has more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import notes
from sdb.errors import UsageError
from sdb.table.definition.definition import Definition

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"m": json.dumps({"a": {"b": 1}, "t": "2024-03-04T05:06:07Z", "m": '{"c": 2}'})}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(ROW) + "\n")
    return path


def rows(source: Path, tmp_path: Path, **options: Any) -> list[dict[str, Any]]:
    sdb.pack(source, tmp_path / "out.zion", overwrite=True, **options)
    return list(sdb.open(tmp_path / "out.zion").rows())


@pytest.mark.parametrize(
    "form", ["json:nested=m", "auto:nested=m", "json:duplicates=last;nested=m"]
)
def test_a_text_becomes_its_value(form: str, events: Path, tmp_path: Path) -> None:
    (row,) = rows(events, tmp_path, format=form)
    assert row["m"]["a"] == {"b": 1}
    assert row["m"]["m"] == '{"c": 2}'
    assert row["m"]["t"].year == 2024
    assert ("m", "t") in sdb.open(tmp_path / "out.zion").trailer.sparse.indices


def test_what_was_taken_apart_is_taken_apart_in_turn(events: Path, tmp_path: Path) -> None:
    (row,) = rows(events, tmp_path, format="json:nested=m,m.m")
    assert row["m"]["m"] == {"c": 2}


def test_packfiles_parquet_and_patterns_have_it(events: Path, tmp_path: Path) -> None:
    sdb.pack(events, tmp_path / "texts.zion")
    with (tmp_path / "texts.parquet").open("wb") as out:
        sdb.unpack(tmp_path / "texts.zion", out, fmt="parquet")
    (tmp_path / "x.log").write_text(f"web {ROW['m']}\n")
    pattern = r"regex:nested=m:^(?P<host>\S+) (?P<m>.*)$"
    for name, form in (("texts.zion", None), ("texts.parquet", None), ("x.log", pattern)):
        (row,) = rows(tmp_path / name, tmp_path, format=form or "auto:nested=m")
        assert row["m"]["a"] == {"b": 1}, name


def test_a_field_that_no_row_has_is_said(events: Path, tmp_path: Path) -> None:
    with notes.heard() as warnings:
        rows(events, tmp_path, format="json:nested=mm")
    assert warnings == ["no value of mm has the form that was told for it"]


def test_definitions_and_queries_have_it(events: Path, tmp_path: Path) -> None:
    lake = sdb.connect(tmp_path)
    for form in ("json:nested=m", "auto:nested=m;duplicates=last"):
        rule = {"pattern": "file://*.json", "format": form}
        lake.create("d.t", Definition.parse(json.dumps({"input": [rule]})), overwrite=True)
        lake.sync("d.t")
    (row,) = lake.table("d.t").rows()
    assert row["m"]["a"] == {"b": 1}
    query = f"SELECT m.a.b AS b FROM read_file('{events}', nested => 'm')"
    with sdb.sql(query) as result:
        assert list(result) == [{"b": 1}]


@pytest.mark.parametrize("form", ["json:nested=", "json:nested=a..b", "auto:nested=,"])
def test_names_that_are_none_are_refused(form: str, events: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="where names of fields were expected"):
        rows(events, tmp_path, format=form)


def test_a_text_that_is_nested_too_deeply_stays_one(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(json.dumps({"m": "[" * 80 + "]" * 80}) + "\n")
    with notes.heard() as warnings:
        (row,) = rows(tmp_path / "deep.json", tmp_path, format="json:nested=m")
    assert row["m"].startswith("[[[")
    assert "1 text is no object or list of JSON, and stays (--nested)" in warnings
