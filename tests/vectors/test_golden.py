from __future__ import annotations

import contextlib
import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import sizes
from sdb.errors import CorruptError, SdbError, UnsupportedError
from sdb.packfile.inspect import describe
from tests.conftest import VECTORS, as_the_original_prints, golden, json_lines

if TYPE_CHECKING:
    from pathlib import Path

GOLDEN = golden()
CORRUPT = json_lines("packfile/corrupt/expect.jsonl")
S2 = "d06-basic-s2"
NOT_CANONICAL = {"s20-csv", "s21-tsv"}  # integers as floats: the original does not look

by_name = pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)


def readable(folder: Path) -> Path:
    """Return the packfile, or skip the test when this build lacks its codec."""
    pack = pack_of(folder)
    with sdb.open(pack) as opened:
        try:
            next(opened.rows(limit=1), None)
        except UnsupportedError as error:
            if folder.name != S2:
                pytest.skip(f"not in this build: {error}")
    return pack


def pack_of(folder: Path) -> Path:
    (pack,) = folder.glob("pack.*")
    return pack


def unpacked(path: Path, **options: Any) -> bytes:
    output = io.BytesIO()
    sdb.unpack([path], output, **options)
    return output.getvalue()


@by_name
def test_describe_text(folder: Path) -> None:
    description = describe.describe([pack_of(folder).name], root=str(folder))
    assert describe.text(description) == (folder / "describe.txt").read_text()
    json.dumps(describe.as_dict(description, blocks=True), allow_nan=False)


@by_name
def test_rows(folder: Path) -> None:
    pack = readable(folder)
    if folder.name == S2:
        with pytest.raises(UnsupportedError):
            unpacked(pack)
        return
    data = as_the_original_prints(folder, unpacked(pack, threads=2))
    meta = json.loads((folder / "meta.json").read_text())
    if (folder / "unpack.ndjson").exists():
        assert data == (folder / "unpack.ndjson").read_bytes()
    else:
        assert len(data) == meta["ndjson_bytes"]
        assert hashlib.sha256(data).hexdigest() == meta["ndjson_sha256"]


@by_name
def test_ion_output_is_the_chunks(folder: Path) -> None:
    pack = readable(folder)
    if folder.name == S2 or folder.name.startswith("e0"):
        pytest.skip("s2 cannot be read, and the large ones tell nothing new")
    align = 1 << json.loads((folder / "trailer.json").read_text())["blockshift"]
    data = unpacked(pack, fmt="ion", threads=1)
    chunks = [json.loads(line) for line in (folder / "chunks.jsonl").read_text().splitlines()]
    assert len(data) == align * len(chunks)
    for number, chunk in enumerate(chunks):
        start = number * align
        used = data[start : start + chunk["data_end"]]
        assert hashlib.sha256(used).hexdigest() == chunk["data_sha256"]


@by_name
def test_validation_agrees_with_the_original(folder: Path) -> None:
    if folder.name == S2:
        with pytest.raises(UnsupportedError):
            sdb.validate(readable(folder))
        return
    report = sdb.validate(readable(folder), threads=1)
    meta = json.loads((folder / "meta.json").read_text())
    sound = meta["validate_rc"] == 0 and folder.name not in NOT_CANONICAL
    assert report.ok == sound, report.findings[:5]
    if "rows" in meta:
        assert report.rows == meta["rows"]


@pytest.mark.parametrize("case", CORRUPT, ids=lambda case: case["file"])
def test_corrupt_files(case: dict[str, Any]) -> None:
    path = VECTORS / "packfile" / "corrupt" / case["file"]
    stage = case["must_fail_at"]
    report = sdb.validate(path, threads=1)
    assert report.ok == (stage == "none"), (case["why"], report.findings)
    assert all("\n" not in str(finding) for finding in report.findings)
    if stage in {"open", "read"}:
        with pytest.raises(SdbError, match=case["file"]) as caught:
            unpacked(path, threads=2)
        assert caught.value.exit_code == 6
    elif stage == "none":
        assert unpacked(path, threads=2).count(b"\n") == report.rows
    else:
        with contextlib.suppress(CorruptError):
            unpacked(path, threads=2)


def test_errors_of_blocks_say_where(vectors: Path) -> None:
    path = vectors / "packfile" / "corrupt" / "r05-payload-flip.zion"
    with pytest.raises(
        CorruptError, match=r"r05-payload-flip.zion: block 0 at byte \d+: "
    ) as raised:
        unpacked(path)
    with sdb.open(path) as pack, pytest.raises(CorruptError) as other:
        list(pack)
    assert str(raised.value) == str(other.value)
    assert raised.value.hint == f"sdb validate {path}"


def test_size_and_ratio_texts(vectors: Path) -> None:
    misc = json.loads((vectors / "packfile" / "misc.json").read_text())
    for case in misc["human_size"]:
        assert sizes.human(case["n"]) == case["text"]
    for case in misc["ratio"]:
        assert sizes.ratio(case["decompressed"], case["compressed"]) == case["text"]
    assert describe.text(describe.describe([])).endswith("0 (NaNx)\n")


def test_the_vectors_are_there(vectors: Path) -> None:
    assert vectors
    assert (len(GOLDEN), len(CORRUPT)) == (63, 78)
