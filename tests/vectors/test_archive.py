"""The vectors that are checked in: whole, the same as where they come from, unpacked once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.vectors import archive
from tests.vectors.archive import STORED, VectorsError

SCRIPT = Path(archive.__file__)
MOST_BYTES = 10_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make vectors of two formats."""
    made = tmp_path / "made"
    for name in ("sql/a.jsonl", "sql/deep/b.json", "zion/c.bin"):
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name * 1000)
    return made


def test_the_vectors_are_in_the_checkout_and_small() -> None:
    actual = archive.unpacked()
    assert archive.differences(actual) == []
    assert {path.name for path in actual.iterdir()} == {"packfile", "sql", "table", "zion"}
    assert sum(path.stat().st_size for path in STORED.iterdir()) <= MOST_BYTES


def test_the_vectors_are_those_that_they_come_from() -> None:
    if not archive.source().is_dir():
        pytest.skip(f"nothing at {archive.source()} to compare with")
    archive.check(archive.source())


def test_archives_depend_on_their_files_alone(folder: Path, tmp_path: Path) -> None:
    item, other = tmp_path / "one", tmp_path / "other"
    assert archive.refresh(folder, item) == ["sql.tar.xz", "zion.tar.xz"]
    for path in folder.rglob("*"):
        path.touch()
        path.chmod(0o700)
    archive.refresh(folder, other)
    assert [path.read_bytes() for path in sorted(item.iterdir())] == [
        path.read_bytes() for path in sorted(other.iterdir())
    ]


def test_a_change_writes_the_archive_that_it_is_in(folder: Path, tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    archive.refresh(folder, stored)
    archive.check(folder, stored)
    (folder / "sql/a.jsonl").write_text("changed")
    (folder / "sql/new.json").write_text("new")
    (folder / "sql/deep/b.json").unlink()
    with pytest.raises(VectorsError, match="make vectors") as caught:
        archive.check(folder, stored)
    assert str(caught.value).splitlines()[:-1] == [
        "sql/a.jsonl: differs",
        "sql/deep/b.json: checked in, but no longer there",
        "sql/new.json: not checked in",
    ]
    (stored / "zion.tar.xz").write_bytes(b"written by another release of the compressor")
    assert archive.refresh(folder, stored) == ["sql.tar.xz"]
    archive.check(folder, stored)


def test_a_format_that_goes_takes_its_archive_along(folder: Path, tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    archive.refresh(folder, stored)
    (folder / "zion/c.bin").unlink()
    assert archive.refresh(folder, stored) == []
    assert [path.name for path in stored.glob("*.xz")] == ["sql.tar.xz"]


def test_many_processes_unpack_once(folder: Path, tmp_path: Path) -> None:
    """Each finds all files, and nothing but the folder is left; folders of before go."""
    stored, cache = tmp_path / "stored", tmp_path / "cache"
    archive.refresh(folder, stored)
    old = archive.unpacked(stored, cache)
    (folder / "sql/a.jsonl").write_text("changed")
    archive.refresh(folder, stored)
    code = (
        "import sys; from pathlib import Path; from tests.vectors import archive;"
        "print(archive.unpacked(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    command = [sys.executable, "-c", code, str(stored), str(cache)]

    def run(_: int) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    with ThreadPoolExecutor(4) as pool:
        (actual,) = set(pool.map(run, range(4)))
    assert actual != str(old)
    assert [str(path) for path in cache.iterdir()] == [actual]
    assert (Path(actual) / "sql/a.jsonl").read_text() == "changed"
    assert archive.differences(Path(actual), stored) == []


@pytest.mark.parametrize("name", ["sql.tar.xz", "contents.txt"])
def test_a_checkout_that_is_not_whole_is_an_error(folder: Path, tmp_path: Path, name: str) -> None:
    stored, cache = tmp_path / "stored", tmp_path / "cache"
    archive.refresh(folder, stored)
    data = (stored / name).read_bytes()
    for damaged in (data[:-80], data[:40] + bytes([data[40] ^ 1]) + data[41:], None):
        (stored / name).unlink() if damaged is None else (stored / name).write_bytes(damaged)
        with pytest.raises(VectorsError, match=r"damaged|missing|contents\.txt"):
            archive.unpacked(stored, cache)
    assert not [*cache.glob("*")]


def test_what_is_wrong_is_told_in_lines(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--check"]
    done = subprocess.run(
        command,
        env={"SDB_VECTORS": str(tmp_path / "x")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"no vectors at {tmp_path}/x: set SDB_VECTORS to their folder\n"
    done = subprocess.run(
        command, env={"SDB_VECTORS": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("no longer there") == len(archive.contents())
