"""Plans: every byte belongs to one task, and files are cut between rows only."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import errors
from sdb.spark.bulk.plan import InputFile, Task, boundary, measure, plan
from sdb.store.url import open_read

ROWS = st.lists(
    st.dictionaries(st.text(max_size=3), st.text(max_size=20) | st.integers(), max_size=3),
    max_size=60,
)


def lines(rows: list[dict[str, object]], *, indent: int | None = None) -> bytes:
    return b"".join(json.dumps(row, indent=indent).encode() + b"\n" for row in rows)


def text(task: Task) -> list[bytes]:
    """Return what a task reads."""
    return [Path(piece.file.path).read_bytes()[piece.start : piece.stop] for piece in task.pieces]


@given(rows=ROWS, tasks=st.integers(1, 9))
def test_no_row_is_lost_or_cut(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]], tasks: int
) -> None:
    path = tmp_path_factory.mktemp("plan") / "rows.json"
    path.write_bytes(lines(rows))
    actual = plan(measure([path]), tasks=tasks)
    assert len(actual) <= tasks
    pieces = sorted((p.start, p.stop) for task in actual for p in task.pieces)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == path.stat().st_size
    assert all(stop == start for (_, stop), (start, _) in pairwise(pieces))
    read = b"".join(piece for task in actual for piece in text(task)).splitlines()
    assert Counter(read) == Counter(path.read_bytes().splitlines())
    for piece in (piece for task in actual for piece in text(task)):
        for line in piece.splitlines():
            assert isinstance(json.loads(line), dict)


def test_a_large_file_is_cut_evenly(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(lines([{"number": number, "text": "x" * 50} for number in range(40_000)]))
    sizes = [task.size_bytes for task in plan(measure([path]), tasks=7)]
    assert len(sizes) == 7
    assert max(sizes) - min(sizes) < 1000


@pytest.mark.parametrize(
    "content",
    [
        lines(
            [{"a": {"b": number}, "list": [{"c": 1}, {"c": 2}]} for number in range(500)], indent=1
        ),
        b"[\n" + b",\n".join(b'{"a": %d}' % number for number in range(500)) + b"\n]",
        b'{"rows": [\n' + b",\n".join(b'{"a": %d}' % n for n in range(500)) + b"\n]}",
        b" ".join(b'{"a": %d}' % number for number in range(500)),
        gzip.compress(lines([{"a": number} for number in range(5000)])),
        b"",
    ],
    ids=["indented", "array", "nested", "one line", "gzip", "empty"],
)
def test_what_cannot_be_cut_is_left_whole(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    tasks = plan(measure([path]), tasks=4)
    assert [piece.is_whole for task in tasks for piece in task.pieces] == [True]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_tables_are_left_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"a,b\n" + b'{"a": 1}\n' * 1000)
    assert len(plan(measure([path]), tasks=4)) == 1


def test_a_text_that_looks_like_rows_inside_a_row_is_not_cut(tmp_path: Path) -> None:
    """A line that is an object may be the last one of a list; its neighbours tell."""
    path = tmp_path / "rows.json"
    path.write_bytes(b'{"a": [\n{"b": 1}\n]}\n' * 400)
    with closing(open_read(path)) as reader:
        assert boundary(reader, 100) is None
    assert len(plan(measure([path]), tasks=4)) == 1


def test_long_rows_are_cut_further_away(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(lines([{"a": "x" * 400_000} for _ in range(8)]))
    assert len(plan(measure([path]), tasks=4)) == 4


def test_small_files_share_tasks(tmp_path: Path) -> None:
    files = [
        InputFile(str(tmp_path / f"{n}.gz"), size, "") for n, size in enumerate([8, 1, 2, 3, 4, 6])
    ]
    tasks = plan(files, target_bytes=8)
    assert [task.size_bytes for task in tasks] == [8, 8, 8]
    assert sorted(piece.number for task in tasks for piece in task.pieces) == list(range(6))
    assert [task.number for task in tasks] == [0, 1, 2]


def test_no_processor_is_left_without_work(tmp_path: Path) -> None:
    files = [InputFile(str(tmp_path / f"{n}.gz"), 64 << 20, "") for n in range(4)]
    assert len(plan(files, parallelism=4)) == 4
    assert len(plan(files, parallelism=2)) == 2
    assert len(plan(files[:1], parallelism=1)) == 1
    small = [InputFile("x.gz", 1000, ""), InputFile("y.gz", 1000, "")]
    assert len(plan(small, parallelism=16)) == 1


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="no inputs"):
        measure([])
    with pytest.raises(errors.UsageError, match="standard input"):
        measure(["-"])
    with pytest.raises(errors.UsageError, match="only once"):
        measure(["/dev/null"])
    with pytest.raises(errors.NotFoundError):
        measure([tmp_path / "nothing"])
    with pytest.raises(errors.UsageError):
        plan([InputFile("x", 1, "")], target_bytes=0)
    with pytest.raises(errors.UsageError):
        plan([InputFile("x", 1, "")], tasks=0)


def test_inputs_are_of_the_kinds_that_pack_takes(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "sub/b.json"]
    (tmp_path / "sub").mkdir()
    for path in paths:
        path.write_bytes(b"{}")
    for inputs, expected in (
        (paths[0], paths[:1]),
        (str(paths[0]), paths[:1]),
        (paths, paths),
        (iter(map(str, paths)), paths),
        (tmp_path, paths),
        (str(tmp_path / "sub"), paths[1:]),
        (f"{tmp_path}/*.json", paths[:1]),
    ):
        assert [file.path for file in measure(inputs)] == list(map(str, expected))
    with pytest.raises(errors.UsageError, match="Spark cannot pack rows") as refused:
        measure([{"a": 1}])  # type: ignore[list-item]
    assert "sdb.pack takes" in str(refused.value.hint)
    with pytest.raises(errors.UsageError, match="Spark cannot pack an open file"):
        measure(io.BytesIO(b"{}"))  # type: ignore[arg-type]
    with pytest.raises(errors.UsageError, match="cannot be a int"):
        measure(3)  # type: ignore[arg-type]
