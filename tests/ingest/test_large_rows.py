"""Rows above 1 MiB: larger chunks where a packfile needs them, and nowhere else."""

from __future__ import annotations

import base64
import io
import json
import random
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import bounds
from sdb.errors import CorruptError, InputError, SdbWarning, UsageError
from sdb.packfile.inspect.validate import validate
from sdb.packfile.trailer.read import read_trailer
from sdb.records import replace
from sdb.store.url import open_read

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
LARGE = {"id": 2, "text": "ab" * (MIB // 2), "list": list(range(200_000)), "at": "2026-11-28"}
ROWS = [{"id": 1, "text": "x"}, LARGE, {"id": 3, "n": {"a": [1.5]}}]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    assert validate(path).ok
    with sdb.open(path) as packfile:
        return list(packfile.rows())


def align_of(path: Path) -> int:
    return read_trailer(open_read(path), str(path)).align_bytes


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.zion"
    with pytest.warns(SdbWarning, match=r"a row takes 1\.\d+ MiB: queries of the original read"):
        sdb.pack([written(tmp_path / "a.json", ROWS)], path)
    return path


def test_a_row_above_a_mebibyte_has_a_chunk_of_its_own(large: Path, tmp_path: Path) -> None:
    assert (align_of(large), len(rows_of(large))) == (2 * MIB, 3)
    assert rows_of(large)[1]["text"] == LARGE["text"]
    result = sdb.sql(f"SELECT id, LENGTH(text) AS n FROM '{large}' ORDER BY id")
    assert result.fetchall() == [(1, 1), (2, MIB), (3, None)]
    out = io.BytesIO()
    sdb.unpack([large], out)
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sdb.pack([written(tmp_path / "b.json", ROWS[::2])], tmp_path / "b.zion")
    assert align_of(tmp_path / "b.zion") == MIB


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("form", ["json", "csv", "regex:(?P<text>.*)", "ion"])
def test_every_format_has_large_rows(tmp_path: Path, form: str, threads: int) -> None:
    path, texts = tmp_path / "a.txt", ["x", "y" * (MIB - 9), "z" * (2 * MIB - 20_000), "w"]
    lines = [json.dumps({"text": text}) if form == "json" else text for text in texts]
    path.write_text("\n".join(["text", *lines] if form == "csv" else lines) + "\n")
    inputs: Any = [{"text": text} for text in texts] if form == "ion" else [path]
    options = {} if form == "ion" else {"format": form}
    with pytest.warns(SdbWarning, match="a row takes 1.9"):
        sdb.pack(inputs, tmp_path / "a.zion", threads=threads, **options)
    assert [row["text"] for row in rows_of(tmp_path / "a.zion")] == texts


def test_append_and_concat_take_packfiles_of_either_kind(large: Path, tmp_path: Path) -> None:
    small, joined = tmp_path / "small.zion", tmp_path / "joined.zion"
    sdb.pack([written(tmp_path / "b.json", ROWS[::2])], small)
    for files in ([small, large], [large, small]):
        sdb.concat(files, joined, overwrite=True)
        assert align_of(joined) == 2 * MIB
        assert sorted(row["id"] for row in rows_of(joined)) == [1, 1, 2, 3, 3]
    sdb.append(joined, [{"id": 4}])
    assert [row["id"] for row in rows_of(joined)][-1] == 4
    with pytest.warns(SdbWarning, match="a row takes"):
        sdb.append(small, [tmp_path / "a.json"])
    assert (align_of(small), len(rows_of(small))) == (2 * MIB, 5)


def test_the_limit_can_be_told(tmp_path: Path) -> None:
    path, target = written(tmp_path / "a.json", ROWS), tmp_path / "a.zion"
    with pytest.raises(InputError, match="line 2: a row of more than 1048576 bytes"):
        sdb.pack([path], target, max_row_bytes=MIB)
    with pytest.raises(InputError, match="a row of more than 1048576 bytes"):
        sdb.pack([path], target, algorithm="zstd")
    with pytest.raises(UsageError, match="size of a row"):
        sdb.pack([path], target, max_row_bytes=17 * MIB)


def test_rows_that_there_is_no_room_for(tmp_path: Path) -> None:
    target, skipped = tmp_path / "a.zion", list[Any]()
    text = base64.b64encode(random.Random(1).randbytes(9 * MIB)).decode()
    path = written(tmp_path / "a.json", [{"id": 1}, {"t": text}, {"id": 2}])
    with pytest.raises(InputError, match="the limit is 2080768"):
        sdb.pack([path], target)
    sdb.pack([path], target, on_error=skipped.append)
    assert ([row["id"] for row in rows_of(target)], len(skipped)) == ([1, 2], 1)
    assert "the limit is 2080768" in skipped[0].message
    half = written(tmp_path / "b.json", [{"id": 1}, {"t": text[: 3 * MIB // 2]}, {"id": 2}])
    largest = bounds.MAX_ROW.most
    sdb.pack([half], target, algorithm="zstd", max_row_bytes=largest, overwrite=True)
    assert (align_of(target), rows_of(target)[1]) == (2 * MIB, {"t": text[: 3 * MIB // 2]})
    sdb.append(target, [{"id": 4}])
    assert [row.get("id") for row in rows_of(target)] == [1, None, 2, 4]


def test_rows_that_do_not_compress(tmp_path: Path) -> None:
    noise = random.Random(2).randbytes(3 * MIB)
    for size in (1_048_000, 1_540_000, 2_080_700):
        text = noise[:size].translate(bytes(range(128)) * 2).decode("ascii")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sdb.pack([{"t": text}, {"t": "x"}], tmp_path / "a.zion", overwrite=True)
        assert [row["t"] for row in rows_of(tmp_path / "a.zion")] == [text, "x"]


def test_tables_keep_large_rows(tmp_path: Path) -> None:
    written(tmp_path / "a.json", ROWS)
    lake = sdb.connect(tmp_path / "lake")
    lake.execute("CREATE TABLE db.t")
    for _ in range(3):
        with pytest.warns(SdbWarning, match="a row takes"):
            lake.append("db.t", [tmp_path / "a.json"])
        lake.append("db.t", [{"id": 9}])
    lake.execute("DELETE FROM db.t WHERE id = 1")
    lake.table("db.t").compact()
    counted = "SELECT COUNT(*) AS n, SUM(LENGTH(text)) AS s FROM db.t"
    assert lake.sql(counted).fetchall() == [(9, 3 * MIB)]
    assert lake.table("db.t").validate().ok


def test_a_bound_that_is_too_small_is_corrupt(large: Path) -> None:
    trailer = read_trailer(open_read(large), str(large))
    frames = large.read_bytes()[: trailer.offset]
    large.write_bytes(frames + replace(trailer, block_shift=20).encode())
    with sdb.open(large) as packfile, pytest.raises(CorruptError):
        list(packfile.rows())


def test_a_row_may_outgrow_the_packfile_that_it_is_in(tmp_path: Path) -> None:
    lake = sdb.connect(tmp_path)
    lake.create("d.t", "in/*.json")
    lake.append("d.t", [{"id": number, "text": "x"} for number in range(5)])
    large = written(tmp_path / "large.json", [{"id": 3, "text": "y" * (3 * MIB // 2)}])
    lake.execute(
        f"MERGE INTO d.t AS t USING '{large}' AS n ON t.id = n.id"
        " WHEN MATCHED THEN UPDATE SET text = n.text"
    )
    assert [len(row["text"]) for row in lake.table("d.t").rows()] == [1, 1, 1, 3 * MIB // 2, 1]
    lake.execute("UPDATE d.t SET id = 7 WHERE id = 0")
    assert sorted(row["id"] for row in lake.table("d.t").rows()) == [1, 2, 3, 4, 7]
