from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sdb import instants, ion
from sdb.errors import CorruptError, SdbError
from sdb.packfile.trailer.read import read_trailer
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.store import url
from tests.conftest import VECTORS, golden, json_lines

if TYPE_CHECKING:
    from pathlib import Path

ENCODE = json_lines("packfile/trailer-encode.jsonl")
DECODE = json_lines("packfile/trailer-decode.jsonl")
CORRUPT = json_lines("packfile/corrupt/expect.jsonl")
GOLDEN = golden()


def plain(value: object) -> object:
    """Return a constant the way the vectors show it."""
    us = ion.instant_to_us(value)
    if us is not None:
        return instants.text(us)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def decoded(trailer: Trailer) -> dict[str, Any]:
    sparse = trailer.sparse
    everything = sparse.indices | sparse.distrusted
    return {
        "version": trailer.version,
        "offset": trailer.offset,
        "algo": trailer.algorithm,
        "blockshift": trailer.block_shift,
        "blocks": [{"offset": block.offset, "chunks": block.chunks} for block in trailer.blocks],
        "sparse": {
            "blocks": sparse.blocks,
            "consts": plain(sparse.constants) or None,
            "indices": [
                {
                    "path": list(path),
                    "max": [list(pair) for pair in index.max],
                    "min": [list(pair) for pair in index.min],
                }
                for path, index in everything.items()
            ],
        },
    }


def constant(spec: dict[str, Any]) -> object:
    if "time" in spec:
        return instants.from_us(instants.parse(spec["time"]))
    return next((spec[key] for key in ("str", "int", "float", "bool") if key in spec), None)


def from_spec(spec: dict[str, Any]) -> Trailer:
    ranges = [
        {tuple(entry["path"]): (entry["min_us"], entry["max_us"]) for entry in block["ranges"]}
        for block in spec["blocks"]
    ]
    constants = {entry["name"]: constant(entry) for entry in spec["consts"]}
    blocks = tuple(Block(block["offset"], block["chunks"]) for block in spec["blocks"])
    sparse = SparseIndex(len(blocks), constants, build_indices(ranges))
    return Trailer(1, spec["offset"], spec["algo"], spec["blockshift"], blocks, sparse)


@pytest.mark.parametrize("case", ENCODE, ids=lambda case: case["id"])
def test_encoding_gives_the_bytes_of_the_original(case: dict[str, Any]) -> None:
    trailer = from_spec(case["spec"])
    data = trailer.encode()
    assert data[:-4].hex() == case["ion"]
    assert int.from_bytes(data[-4:], "little") == len(data) - 4
    again = Trailer.decode(data[:-4])
    assert again.encode() == data
    assert decoded(again) == case["trailer"]


@pytest.mark.parametrize("case", DECODE, ids=lambda case: case["id"])
def test_decoding(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["ion"])
    if "expect_error" in case:
        with pytest.raises(CorruptError):
            Trailer.decode(data)
    else:
        assert decoded(Trailer.decode(data)) == case["expect"]


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_golden_trailers(folder: Path) -> None:
    (pack,) = folder.glob("pack.*")
    reader = url.open_read(pack)
    trailer = read_trailer(reader, str(pack))
    assert decoded(trailer) == json.loads((folder / "trailer.json").read_text())
    assert bool(trailer.sparse.distrusted) == (folder.name == "a15-trim-newer")
    if not trailer.sparse.distrusted:
        assert trailer.encode() == reader.read(trailer.offset, reader.size_bytes)
    for size in (0, 3):
        text = "x" * size
        summary = Summary.bounded([7] * len(trailer.blocks), {(text,): 1}, complete=True)
        sparse = SparseIndex(
            len(trailer.blocks), trailer.sparse.constants, trailer.sparse.indices, summary
        )
        ours = Trailer(1, trailer.offset, "zstd", 20, trailer.blocks, sparse)
        assert Trailer.decode(ours.encode()[:-4]).check(trailer.offset) == ours
    reader.close()


@pytest.mark.parametrize("case", CORRUPT, ids=lambda case: case["file"])
def test_corrupt_files_are_refused_when_opened(case: dict[str, Any]) -> None:
    path = VECTORS / "packfile" / "corrupt" / case["file"]
    reader = url.open_read(path)
    if case["must_fail_at"] == "open":
        with pytest.raises(SdbError) as caught:
            read_trailer(reader, case["file"])
        assert caught.value.exit_code == 6
        assert "\n" not in str(caught.value)
    else:
        read_trailer(reader, case["file"])
    reader.close()


def test_the_vectors_are_there(vectors: Path) -> None:
    assert vectors
    assert (len(ENCODE), len(DECODE), len(CORRUPT), len(GOLDEN)) == (84, 29, 78, 63)
