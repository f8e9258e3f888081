"""Keys with characters that URLs, patterns and shells give a meaning, in an S3 bucket with dots."""

from __future__ import annotations

import base64
import glob
import os
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.read.resolve import resolve
from sdb.store.s3 import client as s3
from tests.store.conftest import make_bucket

if TYPE_CHECKING:
    from pathlib import Path

BUCKET = "with.dots.and-more"
NAMES = ("a b", "a+b", "100%", "a%20b", "a#b", "a?b", "[x]", "a*b", "a&b=c;d", "ünï 日本", "it's")


@pytest.fixture(scope="module")
def dotted(endpoint: str) -> str:
    """Make an S3 bucket with dots in its name, and wait until it takes objects."""
    assert endpoint
    make_bucket(BUCKET)
    return f"s3://{BUCKET}"


@pytest.mark.parametrize("name", NAMES)
def test_a_packfile_has_the_name_that_was_given(dotted: str, tmp_path: Path, name: str) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text('{"n":1}\n{"n":2}\n')
    folder = f"{dotted}/{os.urandom(4).hex()}"
    location = f"{folder}/{name}.zion"
    sdb.pack([rows], location)
    sdb.append(location, [rows])
    listed = s3.connect().list_objects_v2(Bucket=BUCKET, Prefix=folder.rpartition("/")[2])
    assert [entry["Key"].partition("/")[2] for entry in listed["Contents"]] == [f"{name}.zion"]
    for pattern in (glob.escape(location), f"{folder}/*.zion", f"{folder}/**"):
        assert [reference.location for reference in resolve([pattern])] == [location]
        quoted = pattern.replace("'", "''")
        with sdb.sql(f"SELECT SUM(n) AS n FROM read_file('{quoted}')") as result:
            assert list(result) == [{"n": 6}]


def test_tables_take_inputs_of_any_name_once(dotted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    folder = f"root +%#ü {os.urandom(4).hex()}"
    for number, name in enumerate(NAMES):
        body = f'{{"n":{number}}}\n'.encode()
        s3.connect().put_object(Bucket=BUCKET, Key=f"{folder}/in/{name}.json", Body=body)
    root = f"{dotted}/{folder}"
    db = sdb.connect(root)
    db.create("web.t", f"{root}/in/*.json")
    for _ in range(2):
        db.sync("web.t")
        assert sorted(row["n"] for row in db.sql("SELECT n FROM web.t")) == [*range(len(NAMES))]
