"""Records in objects: found by themselves, or by the path that is named."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import InputError, UsageError
from sdb.packfile.inputs.inputs import recognise

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"id": 1, "n": {"Records": [1]}}, {"id": 2, "s": "]}"}]
SHAPES: dict[str, tuple[str, Any]] = {
    "CloudTrail": ("Records", {"Records": ROWS}),
    "CloudTrail behind others": (
        "Records",
        {"digest": {"Records": []}, "x": "[{", "Records": ROWS},
    ),
    "Azure": ("records", {"records": ROWS}),
    "Elasticsearch": (
        "hits.hits",
        {"took": 1, "hits": {"total": {"value": 2}, "hits": ROWS, "max_score": None}, "z": 0},
    ),
    "Kubernetes": ("items", {"apiVersion": "v1", "items": ROWS, "kind": "PodList"}),
    "Workspace": ("items", {"kind": "admin#reports#activities", "items": ROWS}),
    "Google": ("entries", {"nextPageToken": "x", "entries": ROWS}),
    "GuardDuty": ("Findings", {"Findings": [row | {"Arn": "a"} for row in ROWS]}),
    "Graph": ("value", {"@odata.context": "x", "value": ROWS}),
    "CloudWatch": ("logEvents", {"messageType": "DATA_MESSAGE", "logEvents": ROWS}),
}


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    packed = path.parent / "packed.zion"
    sdb.pack([path], packed, overwrite=True, **options)
    with sdb.open(packed) as packfile:
        return list(packfile.rows())


def ids(rows_: list[dict[str, Any]]) -> list[Any]:
    return [row.get("id") for row in rows_]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("indent", [None, 2])
def test_known_shapes_are_found(tmp_path: Path, shape: str, indent: int | None) -> None:
    expected, value = SHAPES[shape]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value, indent=indent))
    assert recognise(path).format == f"json:records={expected}"
    assert ids(rows(path)) == [1, 2]
    assert len(rows(path, format="json:records=none")) == 1
    assert len(rows(path, format="json")) == 1
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert ids(rows(path)) == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        {"Records": 5},
        {"items": ROWS},
        {"value": ROWS},
        {"x": {"Records": ROWS}},
        {"hits": [{"hits": ROWS}]},
        {"records": "text"},
    ],
)
def test_other_objects_are_rows(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    assert len(rows(path)) == 1


def test_paths_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"a": [{"b": {"c": ROWS[:1]}}, {"b": {"c": ROWS[1:]}}], "d": 1}))
    for form in ("json:records=a.b.c", ".json:records=a[].b.c[]"):
        assert ids(rows(path, format=form)) == [1, 2]
    with pytest.raises(InputError, match=r"a member x\.y .*was expected"):
        rows(path, format="json:records=x.y")
    for form in ("json:records=", "json:records=a..b", "json:rows=a"):
        with pytest.raises(UsageError):
            rows(path, format=form)


def test_documents_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    lines = "".join(json.dumps({"n": n, "records": [{"id": n}]}) + "\n" for n in range(500))
    path.write_text(lines)
    assert ids(rows(path)) == list(range(500))
    path.write_text(lines + '{"records":[{"id":}]}\n')
    with pytest.raises(InputError) as caught:
        rows(path)
    assert caught.value.line == 501
    assert caught.value.offset == len(lines) + len('{"records":[{"id":')
    path.write_text(lines + '{"other":1}\n')
    with pytest.raises(InputError, match="a member records"):
        rows(path)


def test_malformed_records_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"Records":[{"id":1},{"id":x},{"id":3}]}')
    rejected: list[Any] = []
    assert ids(rows(path, on_error=rejected.append)) == [1, 3]
    assert [record.text for record in rejected] == [b'{"id":x}']


def test_large_objects_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write('{"before":[' + ",".join(['{"x":"y"}'] * 100_000) + '],"records":[')
        file.write(",".join(f'{{"id":{n},"text":"{"x" * 200}"}}' for n in range(100_000)))
        file.write('],"after":"z"}')
    assert ids(rows(path, format="json:records=records")) == list(range(100_000))


def test_cut_off_objects_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    whole = json.dumps({"records": [{"id": 1}], "z": 1})
    for end in range(14, len(whole)):
        path.write_text(whole[:end])
        with pytest.raises(InputError):
            rows(path, format="json:records=records")


def test_shapes_are_not_looked_for_without_end(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ('{"Records":"' + '\\"' * 40_000, '{"Records":' + '{"a":' * 20_000):
        path.write_text(text)
        assert recognise(path).format == "json"
