"""Records that are written around what they mean: OTLP and MongoDB, recognised by their members."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sdb
from sdb.errors import InputError, SdbWarning
from sdb.packfile.inputs.inputs import recognise

FIELD = Path(__file__).parents[2] / "testdata/field"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("otlp/telemetry.json", "otlp"),
        ("mongodb/canonical.json", "mongodb"),
        ("mongodb/relaxed.json", "mongodb"),
    ],
)
def test_the_first_record_tells_it(name: str, form: str) -> None:
    assert recognise(FIELD / name).format == form
    assert recognise(FIELD / name, "json").format == "json"


@pytest.mark.parametrize(
    "text", ['{"$schema": "x"}', '{"a": "{\\"$oid\\": 1}"}', '{"resourceLogs": 1}']
)
def test_other_objects_are_json(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    assert recognise(tmp_path / "a.json").format == "json"


def test_a_document_of_any_size_is_streamed(tmp_path: Path) -> None:
    record = {"timeUnixNano": "1709528767000000000", "body": {"stringValue": "x" * 900}}
    element = {"resource": {}, "scopeLogs": [{"logRecords": [record] * 200}]}
    text = json.dumps({"resourceLogs": [element] * 200})
    (tmp_path / "big.json").write_text(text)
    sdb.pack(tmp_path / "big.json", tmp_path / "out.zion")
    assert len(sdb.open(tmp_path / "out.zion")) == 40_000


def test_what_is_malformed_is_told_by_its_line(tmp_path: Path) -> None:
    good, bad = '{"_id": {"$oid": "a"}}', '{"_id": {"$oid" "a"}}'
    (tmp_path / "a.json").write_text(f"{good}\n{bad}\n{good}\n")
    with pytest.raises(InputError, match="line 2"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="mongodb")
    with pytest.warns(SdbWarning, match="line 2"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="mongodb", on_error="skip")
    assert len(sdb.open(tmp_path / "out.zion")) == 2


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ('{"$numberLong": "x"}', {"$numberLong": "x"}),
        ('{"$numberDecimal": "1E+3"}', "1E+3"),
        ('{"$numberDouble": "2.5"}', 2.5),
        ('{"$binary": "AA==", "$type": "00"}', "AA=="),
        ('{"$oid": "a", "b": 1}', {"$oid": "a", "b": 1}),
        ('[{"$undefined": true}]', [None]),
    ],
)
def test_what_values_of_mongodb_mean(value: str, meant: object, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"a": {value}}}\n')
    sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="mongodb")
    assert list(sdb.open(tmp_path / "out.zion").rows()) == [{"a": meant}]


@pytest.mark.parametrize("cut", [1, 3, 20, 40])
def test_a_document_that_is_cut_off_is_an_error(cut: int, tmp_path: Path) -> None:
    text = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}}]}]}]}'
    (tmp_path / "a.json").write_text(text[:-cut])
    with pytest.raises(InputError):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="otlp")


@pytest.mark.parametrize(
    "element",
    [
        '{"scopeLogs":5}',
        '{"instrumentationLibraryLogs":[{}]}',
        '{"scopeLogs":[{"logRecords":[{"attributes":[{"value":{}}]}]}]}',
    ],
)
def test_an_object_of_another_form_is_said(element: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"resourceLogs":[{element}]}}')
    with pytest.warns(SdbWarning, match="1 object is not of the form"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="otlp")
    assert list(sdb.open(tmp_path / "out.zion").rows()) == [json.loads(element)]


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_lists_are_an_error(depth: int, tmp_path: Path) -> None:
    lists = "[" * depth + "]" * depth
    record = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"count":{lists}}}]}}]}}]}}'
    (tmp_path / "a.json").write_text(record)
    with pytest.raises(InputError, match="nesting"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="otlp")


def test_a_resource_is_not_repeated_without_end(tmp_path: Path) -> None:
    resource = {"attributes": [{"key": "a", "value": {"stringValue": "x" * 500_000}}]}
    element = {"resource": resource, "scopeLogs": [{"logRecords": [{}] * 100_000}]}
    (tmp_path / "a.json").write_text(json.dumps({"resourceLogs": [element]}))
    with pytest.raises(InputError, match="rows of an object are too large"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="otlp")


@pytest.mark.parametrize(
    "text", ['[{"a":1} {"b":2}]', '[{"a":1},]', '{"a":[}}', '{"a":{"$undefined":{]}}}']
)
def test_malformed_json_stays_malformed(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match="line 1"):
        sdb.pack(tmp_path / "a.json", tmp_path / "out.zion", format="mongodb")
