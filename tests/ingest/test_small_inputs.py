"""Small inputs share chunks; each has its own rows, times, errors and place in the provenance."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import InputError, SdbWarning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.packfile.trailer.provenance import Origin

COUNT = 60
EACH = 40


def _text(number: int) -> str:
    rows = ({"input": number, "row": row, "text": f"some text {row % 7}"} for row in range(EACH))
    return "".join(json.dumps(row) + "\n" for row in rows)


def _json(path: Path, number: int) -> Path:
    path = path.with_suffix(".json")
    path.write_text(_text(number))
    return path


def _gzip(path: Path, number: int) -> Path:
    path = path.with_suffix(".json.gz")
    path.write_bytes(gzip.compress(_text(number).encode()))
    return path


def _csv(path: Path, number: int) -> Path:
    path = path.with_suffix(".csv")
    lines = [f"some text {row % 7},{row},{number}\n" for row in range(EACH)]
    path.write_text("text,row,input\n" + "".join(lines))
    return path


WRITERS = (_json, _gzip, _csv)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Inputs of several formats, in turn."""
    return [WRITERS[number % 3](tmp_path / f"{number:02}", number) for number in range(COUNT)]


def _origins(path: Path) -> tuple[Origin, ...]:
    with sdb.open(path) as packfile:
        provenance = packfile.trailer.sparse.provenance()
    assert provenance is not None
    return provenance.origins


def test_small_inputs_share_a_chunk(inputs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.zion"
    sdb.pack(inputs, out)
    with sdb.open(out) as packfile:
        assert [block.chunks for block in packfile.blocks] == [1]
        rows = [(row["input"], row["row"]) for row in packfile]
    assert rows == [(number, row) for number in range(COUNT) for row in range(EACH)]


def test_their_rows_are_told_apart(inputs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.zion"
    sdb.pack(inputs, out)
    origins = _origins(out)
    assert [origin.name for origin in origins] == [str(path) for path in inputs]
    places = [(origin.first, origin.rows) for origin in origins]
    assert places == [(number * EACH, EACH) for number in range(COUNT)]
    assert len({origin.digest for origin in origins}) > COUNT // 3
    assert [origin.size_bytes for origin in origins] == [path.stat().st_size for path in inputs]


def test_threads_change_nothing(inputs: list[Path], tmp_path: Path) -> None:
    made = []
    for threads in (1, 4):
        out = tmp_path / f"{threads}.zion"
        sdb.pack(inputs, out, threads=threads)
        made.append(out.read_bytes())
    assert made[0] == made[1]


def test_appended_inputs_go_on_with_the_last_chunk(inputs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.zion"
    half = COUNT // 2
    sdb.pack(inputs[:half], out)
    sdb.append(out, inputs[half:])
    with sdb.open(out) as packfile:
        assert [block.chunks for block in packfile.blocks] == [1]
        rows = [(row["input"], row["row"]) for row in packfile]
    assert rows == [(number, row) for number in range(COUNT) for row in range(EACH)]
    places = [(origin.first, origin.rows) for origin in _origins(out)]
    assert places == [(number * EACH, EACH) for number in range(COUNT)]


@pytest.mark.parametrize("write", WRITERS[:2])
def test_what_is_malformed_in_one_is_said_of_it(
    inputs: list[Path], tmp_path: Path, write: Callable[[Path, int], Path]
) -> None:
    bad = write(tmp_path / "bad", 99)
    text = _text(99).replace('"row": 3,', '"row": 3 3,').encode()
    bad.write_bytes(gzip.compress(text) if bad.suffix == ".gz" else text)
    every = [*inputs[:10], bad, *inputs[10:]]
    out = tmp_path / "out.zion"
    with pytest.raises(InputError) as caught:
        sdb.pack(every, out)
    assert (caught.value.path, caught.value.line) == (str(bad), 4)
    assert not out.exists()
    with pytest.warns(SdbWarning, match="skipped 1 record"):
        result = sdb.pack(every, out, on_error="skip")
    assert result.rejected == 1
    rows = [origin.rows for origin in _origins(out)]
    assert rows == [EACH] * 10 + [EACH - 1] + [EACH] * (COUNT - 10)


def test_inputs_whose_times_are_read_otherwise_do_not_share(tmp_path: Path) -> None:
    journal = {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1709528767123456"}
    (tmp_path / "a.json").write_text(json.dumps(journal) + "\n")
    (tmp_path / "b.json").write_text(json.dumps({"__REALTIME_TIMESTAMP": "1709528767123456"}))
    out = tmp_path / "out.zion"
    sdb.pack([tmp_path / "a.json", tmp_path / "b.json"], out)
    with sdb.open(out) as packfile:
        first, second = [row["__REALTIME_TIMESTAMP"] for row in packfile]
    assert not isinstance(first, str)
    assert second == "1709528767123456"
