"""Blocks of the golden packfiles through the Rust core: as text, as values, and checked."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sdb import _core
from sdb.errors import CorruptError, UnsupportedError, UsageError
from sdb.packfile.trailer.trailer import Trailer
from tests.conftest import VECTORS, as_the_original_prints, golden

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_US = 1_609_459_200_000_000


@dataclass(frozen=True)
class Pack:
    algorithm: str
    align: int
    blocks: list[tuple[bytes, int]]
    meta: dict[str, Any]

    def unpack(self, **options: Any) -> bytes:
        unpacker = _core.Unpacker(self.algorithm, self.align, **options)
        pieces = []
        for block, chunks in self.blocks:
            unpacker.feed(block, chunks)
            while unpacker.queued > 1:
                pieces += unpacker.take(wait=True)
        return b"".join(pieces + unpacker.finish())

    def rows(self, **options: Any) -> Iterator[dict[str, Any]]:
        for block, _ in self.blocks:
            yield from _core.rows(block, self.algorithm, self.align, **options)


def cut(data: bytes) -> Pack:
    length = int.from_bytes(data[-4:], "little")
    trailer = Trailer.decode(data[-4 - length : -4])
    stops = [*(block.offset for block in trailer.blocks), trailer.offset][1:]
    blocks = [
        (data[block.offset : stop], block.chunks)
        for block, stop in zip(trailer.blocks, stops, strict=True)
    ]
    return Pack(trailer.algorithm, trailer.align_bytes, blocks, {})


def load(folder: Path) -> Pack:
    pack = cut(next(folder.glob("pack.*")).read_bytes())
    return Pack(
        pack.algorithm, pack.align, pack.blocks, json.loads((folder / "meta.json").read_bytes())
    )


@pytest.fixture(params=golden(), ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Any:
    """Return the folder of a golden packfile that this build can read."""
    trailer = json.loads((request.param / "trailer.json").read_bytes())
    try:
        _core.Unpacker(trailer["algo"], 1 << trailer["blockshift"])
        load(request.param).unpack(threads=1, limit=1)
    except UnsupportedError as error:
        pytest.skip(str(error))
    return request.param


@pytest.mark.parametrize("threads", [1, 3])
def test_text_is_that_of_the_original(folder: Path, threads: int) -> None:
    pack = load(folder)
    text = as_the_original_prints(folder, pack.unpack(threads=threads))
    assert hashlib.sha256(text).hexdigest() == pack.meta["ndjson_sha256"]


def test_ion_is_whole_chunks(folder: Path) -> None:
    pack = load(folder)
    chunks = sum(chunks for _, chunks in pack.blocks)
    assert len(pack.unpack(format="ion", threads=2)) == chunks * pack.align


def test_limits_cut_rows_off(folder: Path) -> None:
    pack = load(folder)
    text = pack.unpack(threads=2)
    for limit in (0, 1, 7):
        first = pack.unpack(threads=2, limit=limit)
        assert first == b"".join(text.splitlines(keepends=True)[:limit])


def test_values_are_those_of_the_text(folder: Path) -> None:
    text = folder / "unpack.ndjson"
    if not text.exists():
        pytest.skip("the text is too long to be kept")
    lines = text.read_text().splitlines()
    for row, line in zip(load(folder).rows(), lines, strict=True):
        # Of a name that occurs twice the first value counts, as in the row.
        expected = json.loads(line, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        if "" in row:  # which the text shows as the number of its symbol
            shown = next(name for name in expected if name not in row)
            expected[""] = expected.pop(shown)
        assert json.loads(json.dumps(row, default=printed)) == expected


def printed(value: object) -> str:
    assert isinstance(value, datetime)
    assert value.tzinfo is UTC
    text = value.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".") + "Z"
    return text.rjust(len("2021-01-01T00:00:00Z"), "0")


def test_findings_are_those_of_the_original(folder: Path) -> None:
    pack = load(folder)
    reports = [
        _core.verify_block(block, pack.algorithm, pack.align, [["ts"]]) for block, _ in pack.blocks
    ]
    assert [report.chunks for report in reports] == [chunks for _, chunks in pack.blocks]
    assert sum(report.rows for report in reports) == pack.meta["rows"]
    total = sum(len(report.findings) + report.dropped for report in reports)
    reported = [line for line in pack.meta["validate_head"] if line.startswith("symbol")]
    if folder.name in {"s20-csv", "s21-tsv"}:
        # Integers stored as floats: the original writes them and does not notice.
        assert all("float" in text for report in reports for *_, text in report.findings)
    else:
        assert total == (pack.meta["validate_lines"] if reported else 0)


def test_time_ranges_are_exact(folder: Path) -> None:
    if not load(folder).blocks:
        return
    pack = load(folder)
    for block, _ in pack.blocks[:3]:
        times = [row["ts"] for row in _core.rows(block, pack.algorithm, pack.align) if "ts" in row]
        times = [time for time in times if isinstance(time, datetime)]
        report = _core.verify_block(block, pack.algorithm, pack.align, [["ts"]])
        if not times:
            assert report.ranges == {}
            continue
        low, high = (
            int(time.timestamp()) * 10**6 + time.microsecond for time in (min(times), max(times))
        )
        assert report.ranges == {("ts",): (low, high, len(times))}


def test_fields_and_times_choose_rows(folder: Path) -> None:
    pack = load(folder)
    window = (["ts"], START_US + 60_000_000, START_US + 600_000_000)
    chosen = [
        row
        for row in pack.rows()
        if isinstance(row.get("ts"), datetime)
        and window[1] <= row["ts"].timestamp() * 10**6 < window[2]
    ]
    text = pack.unpack(time_filter=window)
    assert text.count(b"\n") == len(chosen)
    assert list(pack.rows(time_filter=window)) == chosen
    for fields in (["name", "id"], ["ts", "l"], []):
        remaining = [{name: row[name] for name in row if name in fields} for row in chosen]
        assert list(pack.rows(fields=fields, time_filter=window)) == remaining
        lines = pack.unpack(fields=fields, time_filter=window).splitlines()
        assert [list(json.loads(line)) for line in lines] == [list(row) for row in remaining]
        chunks = pack.unpack(fields=fields, time_filter=window, format="ion")
        assert len(chunks) % pack.align == 0


def corrupt(when: str) -> list[Any]:
    path = VECTORS / "packfile" / "corrupt"
    if not path.exists():
        return []
    entries = map(json.loads, (path / "expect.jsonl").read_text().splitlines())
    return [
        pytest.param(path / entry["file"], id=entry["file"])
        for entry in entries
        if entry["must_fail_at"] == when
    ]


@pytest.mark.parametrize("path", corrupt("read"))
def test_damage_is_told(path: Path) -> None:
    pack = cut(path.read_bytes())
    with pytest.raises(CorruptError) as caught:
        pack.unpack(threads=2)
    assert caught.value.offset is not None
    reports = [
        (_core.verify_block(block, pack.algorithm, pack.align, []), chunks)
        for block, chunks in pack.blocks
    ]
    assert any(report.findings or report.chunks != chunks for report, chunks in reports)


@pytest.mark.parametrize("path", corrupt("validate"))
def test_a_validator_notices(path: Path) -> None:
    if "-time-" in path.name:
        pytest.skip("only the index tells")
    pack = cut(path.read_bytes())
    reports = [
        _core.verify_block(block, pack.algorithm, pack.align, []) for block, _ in pack.blocks
    ]
    assert any(report.findings for report in reports)


def test_rows_before_damage_come_out(vectors: Path) -> None:
    good = load(vectors / "packfile" / "golden" / "s01-mono-zstd")
    (first, chunks), *_ = good.blocks
    unpacker = _core.Unpacker(good.algorithm, good.align, threads=2)
    unpacker.feed(first, chunks)
    unpacker.feed(first[:-10])
    pieces: list[bytes] = []

    def take_all() -> None:
        while fresh := unpacker.take(wait=True):
            pieces.extend(fresh)

    with pytest.raises(CorruptError, match="goes beyond the end"):
        take_all()
    text = b"".join(pieces)
    assert text.startswith(Pack(good.algorithm, good.align, [(first, chunks)], {}).unpack())
    assert (unpacker.done, unpacker.failed_block) == (True, 1)


def test_constants_are_compared(vectors: Path) -> None:
    pack = load(vectors / "packfile" / "golden" / "s10-constants")
    block, _ = pack.blocks[0]
    row = next(pack.rows())
    constants = {name: row[name] for name in ("region", "day") if name in row}
    assert constants
    check = (block, pack.algorithm, pack.align, [])
    assert _core.verify_block(*check, constants).findings == []
    other = dict.fromkeys(constants, 7)
    report = _core.verify_block(*check, other, max_findings=5)
    assert len(report.findings) == 5
    assert report.dropped == len(constants) * report.rows - 5


@pytest.mark.parametrize(
    "options",
    [{"format": "xml"}, {"time_filter": ([], None, None)}],
)
def test_senseless_requests(options: Any) -> None:
    with pytest.raises(UsageError):
        _core.Unpacker("zion+zstd", 1 << 20, **options)
    with pytest.raises(UsageError):
        _core.Unpacker("zion+zstd", 1000)


def test_waiting_can_be_interrupted(vectors: Path) -> None:
    pack = load(vectors / "packfile" / "golden" / "e01-default-sizes-mono")
    unpacker = _core.Unpacker(pack.algorithm, pack.align, threads=1)

    def unpack_forever() -> None:
        while True:
            unpacker.feed(*pack.blocks[0])
            unpacker.finish()

    threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        unpack_forever()
