"""Queries on inputs that are no packfiles: packed for the first query, kept for the next ones."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import signal
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import sdb
from sdb.errors import NotFoundError
from sdb.query.catalog import cachedinputs
from tests.cli.conftest import COMMAND, environment
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"id": 1, "type": "push"}, {"id": 2, "type": "fork"}, {"id": 3, "type": "push"}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
COUNTED = {"push": 2, "fork": 1}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SDB_CACHE", str(folder))
    return folder


def written(folder: Path, name: str) -> None:
    path = folder / name
    if name.endswith((".csv", ".tsv")):
        separator = "," if name.endswith(".csv") else "\t"
        lines = ["id", "type"], *([str(row["id"]), str(row["type"])] for row in ROWS)
        path.write_text("".join(separator.join(line) + "\n" for line in lines))
    elif name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif name.endswith(".ion"):
        (folder / "rows.json").write_bytes(LINES)
        sdb.pack([folder / "rows.json"], folder / "rows.zion")
        with path.open("wb") as file:
            sdb.unpack([folder / "rows.zion"], file, fmt="ion")
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(LINES))
    elif name.endswith(".zst"):
        path.write_bytes(zstandard.compress(LINES))
    else:
        path.write_bytes(LINES)


def counted(stdout: bytes) -> dict[str, int]:
    return {row["type"]: row["n"] for row in map(json.loads, stdout.splitlines())}


def query(table: str) -> str:
    return f"SELECT type, COUNT(*) AS n FROM {table} GROUP BY type"


@pytest.mark.parametrize(
    "name",
    [
        *("x.json", "x.ndjson", "x.jsonl", "x.json.gz", "x.json.zst", "x.csv", "x.tsv"),
        *("x.parquet", "x.ion", "events"),
    ],
)
def test_every_input_that_pack_takes(run: Any, tmp_path: Path, name: str) -> None:
    written(tmp_path, name)
    first = run("query", query(f"read_file('{name}')"))
    assert first.returncode == 0, first.stderr
    assert counted(first.stdout) == COUNTED
    assert first.stderr.startswith(b"sdb: packed " + name.encode() + b" (")
    assert first.stderr.endswith(b" s, and kept for the next query (sdb cache)\n")
    again = run("query", query(f'"{name}"'))
    assert (counted(again.stdout), again.stderr) == (COUNTED, b"")


def test_plain_quotes(run: Any, tmp_path: Path) -> None:
    written(tmp_path, "x.json")
    assert counted(run("query", query("'x.json'")).stdout) == COUNTED


def test_patterns_and_packfiles_side_by_side(run: Any, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        written(tmp_path, name)
    assert run("pack", "-o", "c.zion", "a.json").returncode == 0
    result = run("query", query("read_file('*.json') ++ \"c.zion\""))
    assert counted(result.stdout) == {"push": 6, "fork": 3}
    assert result.stderr.count(b"sdb: packed ") == 2


def test_a_packfile_of_any_name_is_read_as_it_is(run: Any, tmp_path: Path, cache: Path) -> None:
    written(tmp_path, "x.json")
    assert run("pack", "-o", "x.zion", "x.json").returncode == 0
    (tmp_path / "x.zion").rename(tmp_path / "packed.json")
    result = run("query", query("'packed.json'"))
    assert (counted(result.stdout), result.stderr) == (COUNTED, b"")
    assert list(cache.glob("*.zion")) == []


def test_a_pipe(run: Any, cache: Path) -> None:
    result = run("query", query("read_file('/dev/stdin')"), data=LINES)
    assert counted(result.stdout) == COUNTED
    assert result.stderr.endswith(b" s, and not kept\n")
    assert list(cache.glob("*.zion")) == []


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "x.csv")
    for _ in range(2):
        with sdb.sql(query("'x.csv'")) as result:
            assert {row["type"]: row["n"] for row in result} == COUNTED
    remaining = sdb.cached()
    assert [entry.input_name for entry in remaining.entries] == ["x.csv"]
    assert [entry.name for entry in sdb.clear_cache().entries] == [remaining.entries[0].name]
    assert sdb.cached().entries == ()


def number(path: Path) -> int:
    with sdb.sql(f"SELECT n FROM '{path}'") as result:
        return next(iter(result))["n"]


def test_contents_of_one_size_within_a_tick_of_the_clock(tmp_path: Path) -> None:
    """Neither size nor, often, times tell these files from each other."""
    path = tmp_path / "x.json"
    path.write_bytes(b'{"n": 100}\n')
    times = path.stat()
    for n in range(100, 140):
        with path.open("r+b") as file:  # the same inode
            file.write(b'{"n": %d}\n' % n)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert number(path) == n
        assert number(path) == n


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take times for certain that are older than this machine's ticks, not than a minute."""
    from sdb.query.catalog import cachedinputs

    monkeypatch.setattr(cachedinputs, "_SETTLED_NS", 50_000_000)


@pytest.mark.usefixtures("settled")
def test_times_of_old_files_are_enough(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"n": 100}\n')
    assert number(path) == 100
    (young,) = cache.glob("*.zion")
    assert young.name.startswith("c")
    time.sleep(0.1)
    assert number(path) == 100  # its content was looked at once more
    (old,) = cache.glob("*.zion")
    assert old.name.startswith("s")
    assert old.name[1:] != young.name[1:]
    assert not young.exists()
    times = path.stat()
    path.write_bytes(b'{"n": 200}\n')
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # the time of change stays behind
    time.sleep(0.1)
    assert number(path) == 200


@pytest.mark.usefixtures("settled")
def test_another_file_in_its_place(tmp_path: Path) -> None:
    path, other = tmp_path / "x.json", tmp_path / "y.json"
    path.write_bytes(b'{"n": 100}\n')
    other.write_bytes(b'{"n": 200}\n')
    times = path.stat()
    time.sleep(0.1)
    assert number(path) == 100
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    time.sleep(0.1)
    assert number(path) == 200


def test_a_file_that_grows_while_it_is_packed(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"n": 100}\n' * 400_000)
    grown = False

    def grow(_consumed: int, _total: int | None) -> None:
        nonlocal grown
        if not grown:
            grown = True
            with path.open("ab") as file:
                file.write(b'{"n": 200}\n')

    with sdb.sql(f"SELECT COUNT(*) AS n FROM '{path}'", progress=grow) as result:
        assert grown
        assert next(iter(result))["n"] in {400_000, 400_001}
    assert list(cache.glob("*.zion")) == []
    with sdb.sql(f"SELECT COUNT(*) AS n FROM '{path}'") as result:
        assert next(iter(result))["n"] == 400_001


def many(folder: Path, files: int = 40) -> str:
    """Write small files, and return the pattern that finds them."""
    (folder / "in").mkdir()
    for number in range(files):
        (folder / "in" / f"{number:02}.json").write_text(f'{{"n": {number}}}\n')
    return f"{folder}/in/*.json"


def rows_of(text: str) -> list[dict[str, Any]]:
    with sdb.sql(text) as result:
        return list(result)


def test_many_small_files_are_packed_as_one(tmp_path: Path) -> None:
    pattern = many(tmp_path)
    total = f"SELECT SUM(n) AS total, COUNT(*) AS rows FROM '{pattern}'"
    assert rows_of(total) == [{"total": 780, "rows": 40}]
    (entry,) = sdb.cached().entries
    assert entry.input_name == "00.json_and_39_more"
    assert rows_of(total) == [{"total": 780, "rows": 40}]
    assert [again.name for again in sdb.cached().entries] == [entry.name]


def test_a_change_of_one_of_many_small_files_shows(tmp_path: Path) -> None:
    total = f"SELECT SUM(n) AS total FROM '{many(tmp_path)}'"
    assert rows_of(total) == [{"total": 780}]
    changed = tmp_path / "in" / "07.json"
    times = changed.stat()
    changed.write_text('{"n": 9}\n')
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert rows_of(total) == [{"total": 782}]
    changed.rename(tmp_path / "in" / "99.json")  # the content stays, the name does not
    changed.write_text('{"n": 1}\n')
    assert rows_of(total) == [{"total": 783}]


def test_rows_of_many_small_files_tell_their_file(tmp_path: Path) -> None:
    pattern = many(tmp_path)
    assert rows_of(f"SELECT COUNT(*) AS n FROM '{pattern}'") == [{"n": 40}]
    rows = rows_of(f"SELECT t._file AS file, _row AS row, n FROM '{pattern}' AS t ORDER BY n")
    assert [(row["file"], row["row"]) for row in rows] == [
        (f"{tmp_path}/in/{number:02}.json", 0) for number in range(40)
    ]


def test_a_malformed_one_of_many_small_files_is_named(tmp_path: Path) -> None:
    pattern = many(tmp_path)
    (tmp_path / "in" / "21.json").write_text('{"n": 1}\n{"n"\n')
    with pytest.raises(sdb.errors.InputError, match=r"in/21\.json: line 3"):
        rows_of(f"SELECT COUNT(*) AS n FROM '{pattern}'")


def test_folders_of_many_small_files_are_fields(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"day={number}").mkdir()
        (tmp_path / f"day={number}" / "x.json").write_text('{"n": 1}\n')
    rows = rows_of(f"SELECT SUM(day) AS days, SUM(n) AS n FROM '{tmp_path}/day=*/x.json'")
    assert rows == [{"days": 190, "n": 20}]


def test_the_cache_is_not_looked_through_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []
    scandir, listdir = os.scandir, os.listdir
    monkeypatch.setattr(os, "scandir", lambda path: [listed.append(path), scandir(path)][1])
    monkeypatch.setattr(os, "listdir", lambda path: [listed.append(path), listdir(path)][1])
    by_file = f"SELECT _file, SUM(n) AS n FROM '{many(tmp_path)}' GROUP BY _file"
    for _ in range(2):  # packed one by one, and then there
        assert len(rows_of(by_file)) == 40
        looks = sum(str(path).endswith("/cache") for path in listed)
        assert looks <= 2


@pytest.mark.parametrize("count", [1, 20])
def test_a_cache_that_goes_while_rows_are_packed_fails_no_query(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    for number in range(count):
        (tmp_path / f"{number}.json").write_text(f'{{"n": {number}}}\n')
    good = cachedinputs._pack

    def pack(*words: Any) -> str:
        shutil.rmtree(cache, ignore_errors=True)
        return good(*words)

    monkeypatch.setattr(cachedinputs, "_pack", pack)
    with sdb.sql("SELECT COUNT(*) AS n FROM '*.json'", root=str(tmp_path)) as result:
        assert list(result) == [{"n": count}]
    monkeypatch.undo()
    shutil.rmtree(cache, ignore_errors=True)
    (tmp_path / "0.json").unlink()
    with pytest.raises(NotFoundError, match=r"0\.json"):
        sdb.sql("SELECT COUNT(*) AS n FROM '0.json'", root=str(tmp_path))


def test_the_oldest_goes_first(run: Any, tmp_path: Path, cache: Path) -> None:
    for name in ("a.json", "b.json", "c.json"):
        written(tmp_path, name)
    run("query", query("'a.json'"))
    size = next(cache.glob("*.zion")).stat().st_size
    bound = {"SDB_CACHE": str(cache), "SDB_CACHE_SIZE": str(2 * size)}
    run("query", query("'b.json'"), **bound)
    run("query", query("'a.json'"), **bound)  # is used, so b is the oldest
    result = run("query", query("'c.json'"), **bound)
    assert counted(result.stdout) == COUNTED
    names = [entry["name"] for entry in json.loads(run("cache", "--json").stdout)["shown"]]
    assert [name[-6:] for name in (item.removesuffix(".zion") for item in names)] == [
        "a.json",
        "c.json",
    ]


def test_nothing_is_kept_when_told(run: Any, tmp_path: Path, cache: Path) -> None:
    written(tmp_path, "x.json")
    result = run("query", query("'x.json'"), SDB_CACHE_SIZE="0")
    assert counted(result.stdout) == COUNTED
    assert result.stderr.endswith(b" s, and not kept\n")
    assert not cache.exists()


def test_a_folder_that_others_may_write_to_is_not_trusted(
    run: Any, tmp_path: Path, cache: Path
) -> None:
    written(tmp_path, "x.json")
    cache.mkdir()
    cache.chmod(0o777)
    result = run("query", query("'x.json'"))
    assert counted(result.stdout) == COUNTED
    assert b"and not kept: " in result.stderr
    assert b"other users may write to this folder" in result.stderr
    assert list(cache.iterdir()) == []


def test_kept_files_are_private(run: Any, tmp_path: Path, cache: Path) -> None:
    written(tmp_path, "x.json")
    run("query", query("'x.json'"))
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_damaged_packfile_in_the_cache_is_made_again(
    run: Any, tmp_path: Path, cache: Path
) -> None:
    written(tmp_path, "x.json")
    run("query", query("'x.json'"))
    (remaining,) = cache.glob("*.zion")
    remaining.write_bytes(remaining.read_bytes()[:-10])
    result = run("query", query("'x.json'"))
    assert counted(result.stdout) == COUNTED
    assert result.stderr.startswith(b"sdb: packed x.json")


def test_malformed_inputs(run: Any, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "x.json").write_bytes(LINES + b'{"id": 4,\n')
    result = run("query", query("'x.json'"))
    assert (result.returncode, result.stdout) == (6, b"")
    assert b"x.json" in result.stderr
    assert b"line 5" in result.stderr
    assert b"hint: read_file('x.json', on_error => 'skip')" in result.stderr
    assert [path.name for path in cache.iterdir() if path.suffix == ".zion"] == []
    assert list(cache.glob(".making*")) == []


def test_missing_and_unknown_inputs(run: Any, tmp_path: Path) -> None:
    assert run("query", query("'missing.json'")).returncode == 3
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    result = run("query", query("'image.png'"))
    assert result.returncode == 6
    assert b"image.png" in result.stderr
    (tmp_path / "damaged.zion").write_bytes(LINES)
    assert run("query", query("'damaged.zion'")).returncode == 6


def test_the_output_does_not_take_the_place_of_the_input(run: Any, tmp_path: Path) -> None:
    written(tmp_path, "x.json")
    for _ in range(2):  # the second time it comes from the cache
        result = run("query", "--force", "-o", "x.json", query("'x.json'"))
        assert result.returncode == 2
        assert (tmp_path / "x.json").read_bytes() == LINES


def test_several_processes_pack_once(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "x.json").write_bytes(LINES * 200_000)

    def ask(_: int) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, "query", query("'x.json'")],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            check=False,
        )

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(ask, range(4)))
    assert {result.returncode for result in results} == {0}
    for result in results:
        assert counted(result.stdout) == {"push": 400_000, "fork": 200_000}
    assert sum(result.stderr.count(b"sdb: packed") for result in results) == 1
    assert len(list(cache.glob("*.zion"))) == 1


def test_ctrl_c_while_packing(tmp_path: Path, cache: Path) -> None:
    big = tmp_path / "big.json"
    big.write_bytes(LINES * 2_000_000)
    process = subprocess.Popen(
        [*COMMAND, "query", "--progress", "json", query("'big.json'")],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert b"progress" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert process.wait(timeout=60) == 130
    assert time.monotonic() - began < soon(2)
    process.communicate()
    assert [path.name for path in cache.iterdir() if not path.name.startswith("lock-")] == []


def test_cache_command(run: Any, tmp_path: Path, cache: Path) -> None:
    assert run("cache").stdout == f"{cache}: 0 packfiles, 0 of at most 10.000 GiB\n".encode()
    written(tmp_path, "x.json")
    run("query", query("'x.json'"))
    facts = json.loads(run("cache", "--json").stdout)
    assert facts["folder"] == str(cache)
    (entry,) = facts["shown"]
    assert (cache / entry["name"]).stat().st_size == entry["size_bytes"] == facts["size_bytes"]
    lines = run("cache").stdout.decode().splitlines()
    assert lines[0].split() == ["used", "size", "input"]
    assert lines[1].endswith(" x.json")
    assert lines[2].startswith(f"{cache}: 1 packfile, ")
    assert run("cache", "clear").stdout.startswith(b"removed 1 packfile, ")
    assert list(cache.glob("*.zion")) == []
    assert run("cache", "empty").returncode == 2


def test_archives_and_objects_are_asked(run: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.json", LINES)
        archive.writestr("b.json", json.dumps({"count": 3, "records": ROWS}))
    (tmp_path / "x.json.xz").write_bytes(lzma.compress(LINES))
    (tmp_path / "x.json").write_bytes(LINES.decode().encode("utf-16"))
    for name, times in (("x.zip", 2), ("x.json.xz", 1), ("x.json", 1)):
        statement = f"SELECT type, COUNT(*) AS n FROM '{name}' GROUP BY type"
        result = run("query", "--fmt", "json", statement)
        assert result.returncode == 0, result.stderr
        expected = {kind: times * count for kind, count in COUNTED.items()}
        assert {
            row["type"]: row["n"] for row in map(json.loads, result.stdout.splitlines())
        } == expected
