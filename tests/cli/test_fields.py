"""`sdb fields`."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.records import replace
from tests.conftest import golden

if TYPE_CHECKING:
    from pathlib import Path

ROWS = (
    '{"id.orig_h":"10.0.0.1","items":[{"price":1.5,"tags":["a"]},{"price":2}],"user":{"name":"x"}}\n'
    '{"id.orig_h":"10.0.0.2","items":[],"":null}\n'
    '{"user":{"name":null,"id":7}}\n'
)


@pytest.fixture
def shop(run: Any, tmp_path: Path) -> Path:
    (tmp_path / "shop.json").write_text(ROWS)
    assert run("pack", "-o", "shop.zion", "shop.json").returncode == 0
    return tmp_path / "shop.zion"


def test_text_is_nested_and_in_the_order_of_the_rows(run: Any, shop: Path) -> None:
    result = run("fields", shop)
    assert (result.returncode, result.stderr) == (0, b"")
    lines = [re.sub(r"(?<=\S)  +", " | ", line) for line in result.stdout.decode().splitlines()]
    assert lines == [
        "3 rows, 8 fields",
        '"id.orig_h" | string | 2 | 66.7 %',
        "items[] | list of struct | 2 | 66.7 %",
        "  price | int, float | 1 | 33.3 %",
        "  tags[] | list of string | 1 | 33.3 %",
        "user | struct | 2 | 66.7 %",
        "  name | null, string | 2 | 66.7 %",
        "  id | int | 1 | 33.3 %",
        '"" | null | 1 | 33.3 %',
    ]


def test_json_has_every_path(run: Any, shop: Path) -> None:
    facts = json.loads(run("fields", "--json", shop).stdout)
    assert (facts["rows"], facts["complete"], facts["untold"]) == (3, True, [])
    assert facts["fields"][3] == {
        "name": "items[].price",
        "path": ["items", None, "price"],
        "types": ["int", "float"],
        "rows": 1,
    }
    assert [field["name"] for field in facts["fields"]] == [
        '"id.orig_h"',
        "items",
        "items[]",
        "items[].price",
        "items[].tags",
        "items[].tags[]",
        "user",
        "user.name",
        "user.id",
        '""',
    ]


def test_match_takes_brackets_for_what_they_are(run: Any, shop: Path) -> None:
    for pattern, expected in (
        ("items[].*", ["items[].price", "items[].tags", "items[].tags[]"]),
        ("user.*", ["user.name", "user.id"]),
        ("u?er", ["user"]),
        ("nope", []),
    ):
        facts = json.loads(run("fields", "--json", "--match", pattern, shop).stdout)
        assert [field["name"] for field in facts["fields"]] == expected
    text = run("fields", "--match", "items[].*", shop).stdout.decode()
    assert text.splitlines()[1].startswith("items[].price")


def test_numbers_are_those_of_the_rows(run: Any, events: Path) -> None:
    """The sample is GitHub's events, repeated."""
    facts = json.loads(run("fields", "--json", events).stdout)
    reported = {field["name"]: field["rows"] for field in facts["fields"]}
    counts: Counter[str] = Counter()
    with sdb.open(events) as pack:
        for row in pack.rows(fields=["payload", "org"]):
            counts["org"] += "org" in row
            counts["payload.commits[].sha"] += any(
                "sha" in commit for commit in row["payload"].get("commits") or []
            )
    assert {name: reported[name] for name in counts} == dict(counts)


@pytest.mark.usefixtures("shop")
def test_several_files_are_taken_together(run: Any, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"user":1}{"new":2}')
    run("pack", "-o", "more.zion", "more.json")
    facts = json.loads(run("fields", "--json", "*.zion").stdout)
    reported = {field["name"]: (field["types"], field["rows"]) for field in facts["fields"]}
    assert facts["rows"] == 5
    assert reported["user"] == (["int", "struct"], 3)
    assert reported["new"] == (["int"], 1)


def test_older_packfiles_tell_what_they_know(run: Any, shop: Path) -> None:
    with sdb.open(shop) as pack:
        trailer = pack.trailer
    sparse = replace(trailer.sparse, stored_presence=b"")
    body = shop.read_bytes()[: trailer.offset]
    shop.write_bytes(body + replace(trailer, sparse=sparse).encode())
    result = run("fields", shop)
    assert result.returncode == 0
    assert result.stdout.decode().splitlines()[0] == "3 rows, 6 fields, not all of them known"
    shop.write_bytes(body + replace(trailer, sparse=replace(sparse, summary=None)).encode())
    result = run("fields", shop)
    assert result.returncode == 0
    assert b"does not tell its fields; sdb pack -o NEW.zion" in result.stderr


def test_what_the_original_wrote_tells_nothing(run: Any) -> None:
    folder = golden()[0]
    (pack,) = folder.glob("pack.*")
    result = run("fields", "--json", pack)
    assert json.loads(result.stdout)["untold"] == [str(pack)]
    assert b"does not tell its fields" in result.stderr


def test_a_narrow_terminal_is_kept_to(screen: Any, events: Path) -> None:
    for columns in (40, 60, 120):
        code, text = screen("fields", events, columns=columns)
        assert code == 0
        assert max(map(len, text.splitlines())) <= columns


def test_wrong_files(run: Any, shop: Path, tmp_path: Path) -> None:
    assert run("fields", "nope.zion").returncode == 3
    (tmp_path / "cut.zion").write_bytes(shop.read_bytes()[:-9])
    assert run("fields", "cut.zion").returncode == 6


def test_python_tells_the_same(shop: Path) -> None:
    inventory = sdb.fields(shop)
    assert inventory.rows == 3
    assert [field.name for field in inventory.matching("user*").fields] == [
        "user",
        "user.name",
        "user.id",
    ]
    assert sdb.fields([shop, shop]).rows == 6
    with sdb.open(shop) as pack:
        assert pack.fields == inventory.fields
