from __future__ import annotations

import io
import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.packfile.build.indexbuilder import PackedParts, Span, build_index
from sdb.packfile.prune import selection
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.packfile.trailer.trailer import Block, Trailer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ALIGN = 1 << 12
START = 1609459200


def rows(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "ts": datetime.fromtimestamp(START + 60 * n, UTC).isoformat().replace("+00:00", "Z"),
            "n": n,
            "nested": {"text": f"é{n}", "list": [n, None, 0.5]},
        }
        for n in range(first, first + count)
    ]


def make(
    path: Path,
    lines: list[dict[str, Any]],
    *,
    constants: Mapping[str, object] | None = None,
    algorithm: str = "zion+zstd",
    hide: bool = False,
) -> Path:
    """Pack rows with small chunks and blocks; `hide` makes a wrong index and summary."""
    from sdb import _core, ion

    packer = _core.Packer(
        algorithm=algorithm,
        align=ALIGN,
        block_bytes=2 * ALIGN,
        threads=1,
        part_bytes=1 << 16,
        constants=ion.dumps(dict(constants)) if constants else None,
    )
    packer.begin("input", "json", "none", None)
    packer.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    packer.end()
    frames = []
    while packer.wait():
        frames += iter(packer.take, None)
    frames += iter(packer.take, None)
    spans = [Span(*run) for run in packer.runs]
    if hide:
        spans = [
            Span(span.offset, span.chunks, span.rows + 1, {("ts",): (0, 1, span.rows)})
            for span in spans
        ]
    types, complete = packer.types
    blocks, sparse = build_index(
        PackedParts(spans, {} if hide else types, complete),
        align_bytes=ALIGN,
        block_bytes=2 * ALIGN,
        constants=constants,
    )
    trailer = Trailer(1, packer.position, algorithm, 12, blocks, sparse)
    path.write_bytes(b"".join(frames) + trailer.encode())
    return path


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return make(tmp_path / "a.zion", rows(1000))


def unpacked(*paths: Path, **options: Any) -> list[dict[str, Any]]:
    output = io.BytesIO()
    sdb.unpack(paths, output, **options)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_rows_come_as_dicts(pack: Path) -> None:
    with sdb.open(pack) as opened:
        got = list(opened)
        assert len(got) == 1000
        assert got[1] == {
            "ts": datetime(2021, 1, 1, 0, 1, tzinfo=UTC),
            "n": 1,
            "nested": {"text": "é1", "list": [1, None, 0.5]},
        }
        assert opened.trailer.rows == 1000
        assert len(opened.blocks) > 3
        assert opened.size_bytes == pack.stat().st_size
        assert list(opened.time_indexes) == [("ts",)]
        assert opened.time_index() == opened.time_index("ts")
        with pytest.raises(errors.NotFoundError):
            opened.time_index("n")
        with pytest.raises(errors.NotFoundError):
            opened.read_block(len(opened.blocks))


def test_choices_of_rows(pack: Path) -> None:
    since, until = "2021-01-01T08:20:00Z", datetime(2021, 1, 1, 8, 25, tzinfo=UTC)
    expected = [{"n": n} for n in range(500, 505)]
    with sdb.open(pack) as opened:
        chosen = opened.select(since=since, until=until)
        assert 0 < len(chosen.blocks) < len(opened.blocks)
        assert list(opened.rows(fields=["n"], since=since, until=until)) == expected
        assert [row["n"] for row in opened.rows(limit=3, since=since)] == [500, 501, 502]
        first = sum(block["n"] >= 0 for block in opened.rows(blocks=[0]))
        assert first == opened.trailer.sparse.summary.rows[0]
        assert list(opened.rows(since="@0", until="@1")) == []
    assert unpacked(pack, fields=["n"], since=since, until=until) == expected
    assert [row["n"] for row in unpacked(pack, blocks="1-", limit=2)] == [first, first + 1]


def test_several_files_share_a_limit(tmp_path: Path, pack: Path) -> None:
    other = make(tmp_path / "b.zion", rows(10, 5000), algorithm="zstd")
    got = unpacked(other, pack, other, limit=1015, threads=1)
    assert [row["n"] for row in got] == [*range(5000, 5010), *range(1000), *range(5000, 5005)]
    assert unpacked(other, pack, limit=0) == []


def test_progress_counts_what_is_read(pack: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    unpacked(pack, progress=lambda done, total: seen.append((done, total)))
    with sdb.open(pack) as opened:
        assert seen[-1] == (opened.trailer.offset, opened.trailer.offset)
        assert len(seen) == len(opened.blocks)
    seen.clear()
    assert sdb.validate(pack, progress=lambda done, total: seen.append((done, total))).ok
    assert seen[-1][0] == seen[-1][1]


def test_a_sound_file_has_no_findings(tmp_path: Path, pack: Path) -> None:
    report = sdb.validate(pack)
    assert (report.findings, report.rows) == ((), 1000)
    constants = {"region": "eu", "shard": 7, "day": datetime(2021, 1, 1, tzinfo=UTC)}
    packed = make(tmp_path / "c.zion", rows(50), constants=constants)
    assert sdb.validate(packed).findings == ()
    assert sdb.open(packed).constants == constants
    assert next(iter(sdb.open(packed)))["region"] == "eu"
    empty = make(tmp_path / "d.zion", [])
    assert sdb.validate(empty).ok
    assert unpacked(empty) == []


def test_an_index_that_hides_rows_is_found(tmp_path: Path) -> None:
    report = sdb.validate(make(tmp_path / "bad.zion", rows(1000), hide=True), max_findings=50)
    lines = [str(finding) for finding in report.findings]
    assert "path [ts] time 2021-01-01 " in lines[0]
    assert "sparse Start()=" in lines[0]
    assert any("rows; the summary has" in line for line in lines)
    assert any("timestamp occurs; the summary does not list it" in line for line in lines)
    assert not report.ok


def test_findings_are_counted_beyond_the_limit(tmp_path: Path) -> None:
    report = sdb.validate(make(tmp_path / "bad.zion", rows(1000), hide=True), max_findings=2)
    assert len(report.findings) == 2
    assert report.dropped > 0


def test_constants_must_be_those_of_the_rows(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zion", rows(20), constants={"region": "eu"})
    data = path.read_bytes()
    with sdb.open(path) as opened:
        trailer = opened.trailer
    other = Trailer(1, trailer.offset, trailer.algorithm, 12, trailer.blocks, trailer.sparse)
    other.sparse.constants["region"] = "us"
    path.write_bytes(data[: trailer.offset] + other.encode())
    report = sdb.validate(path)
    assert "differs from the constant" in str(report.findings[0])
    other.sparse.constants["region"] = "eu"
    other.sparse.constants["zone"] = 1
    path.write_bytes(data[: trailer.offset] + other.encode())
    report = sdb.validate(path)
    assert "field zone, a constant, is missing" in str(report.findings[0])


def test_time_fields_are_guessed_only_when_obvious() -> None:
    def trailer(*paths: tuple[str, ...]) -> Trailer:
        span = Span(0, 1, 9, dict.fromkeys(paths, (0, 10, 9)))
        blocks, sparse = build_index(
            PackedParts([span], {}, types_complete=True), align_bytes=1, block_bytes=1
        )
        return Trailer(1, 10, "zstd", 12, blocks, sparse)

    assert selection.time_path(trailer(("a", "b"))) == ("a", "b")
    assert selection.time_path(trailer(("a", "b"), ("t",))) == ("t",)
    assert selection.time_path(trailer(("a.b",), ("t",)), "a.b") == ("a.b",)
    assert selection.time_path(trailer(), "x.y") == ("x", "y")
    for paths in ((), (("t",), ("u",)), (("a", "b"), ("a", "c"))):
        with pytest.raises(errors.UsageError):
            selection.time_path(trailer(*paths))


@pytest.mark.parametrize(
    ("text", "numbers"), [("0", [0]), ("1-2, 0", [0, 1, 2]), ("3-", [3, 4]), ("4-4,4", [4])]
)
def test_lists_of_blocks(text: str, numbers: list[int]) -> None:
    assert selection.block_numbers(text, 5) == numbers


def test_blocks_that_are_not_there() -> None:
    for text in ("5", "0-5", "99999999999-"):
        with pytest.raises(errors.NotFoundError):
            selection.block_numbers(text, 5)
    for text in ("", "x", "-1", "1--2", "1,,2"):
        with pytest.raises(errors.UsageError):
            selection.block_numbers(text, 5)
    with pytest.raises(errors.NotFoundError):
        selection.block_numbers([-1], 5)


def test_what_makes_no_sense_is_said(pack: Path) -> None:
    for options in (
        {"fmt": "xml"},
        {"limit": -1},
        {"time_field": "ts"},
        {"since": "soon"},
    ):
        with pytest.raises(errors.UsageError):
            unpacked(pack, **options)
    with pytest.raises(errors.NotFoundError):
        unpacked(pack, pack.with_name("none"))


def test_notebooks_show_a_table(pack: Path) -> None:
    with sdb.open(pack) as opened:
        page = opened._repr_html_()
    assert "<caption>" in page
    assert "2021-01-01T00:00:00Z" in page
    assert "color" not in page


def test_nothing_heavy_is_loaded_to_describe(pack: Path) -> None:
    code = (
        "import sys; from sdb.packfile.inspect.describe import describe, text\n"
        f"print(text(describe([{str(pack)!r}])))\n"
        "heavy = {'numpy', 'pyarrow', 'rich', 'typer', 'zstandard', 'amazon', 'pathlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.endswith("[]\n")


def test_block_list_offsets() -> None:
    trailer = Trailer(1, 30, "zstd", 12, (Block(0, 1), Block(10, 2)), SparseIndex(2))
    assert (trailer.block_range(0), trailer.block_range(1)) == ((0, 10), (10, 30))
    assert (trailer.chunks, trailer.decompressed_bytes, trailer.rows) == (3, 3 << 12, None)
