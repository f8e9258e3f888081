"""Commands that read packfiles read tables, too: rows of one version, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.trailer.read import read_trailer
from sdb.store.url import open_read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

LAKE = ("--root", "lake")


@pytest.fixture
def table(tmp_path: Path) -> sdb.client.table.Table:
    """Make `web.gha` of three versions: rows 0 to 3, without row 1, and with row 4."""
    db = sdb.connect(tmp_path / "lake")
    db.create("web.gha", "in/*.json")
    rows = [{"at": f"2026-11-01T10:00:0{n}Z", "n": n, "text": f"text{n}"} for n in range(5)]
    db.append("web.gha", rows[:4])
    sdb.execute("DELETE FROM web.gha WHERE n = 1", root=tmp_path / "lake")
    db.append("web.gha", rows[4:])
    return db.table("web.gha")


VERSIONS = {"": [0, 2, 3, 4], "@2": [0, 2, 3], "@-2": [0, 1, 2, 3], "@first": [0, 1, 2, 3]}


def numbers(out: bytes) -> list[int]:
    return [json.loads(line)["n"] for line in out.splitlines()]


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_those_of_the_version(
    run: Run, table: sdb.client.table.Table, version: str
) -> None:
    table.tag("first", 1)
    name, wanted = f"web.gha{version}", VERSIONS[version]
    for words in (["head"], ["tail"], ["unpack", "--fmt", "json"], ["grep", "text"]):
        done = run(*words, *LAKE, name)
        assert (done.returncode, numbers(done.stdout)) == (0, wanted), (words, done.stderr)
        assert run("--root", "lake", *words, name).stdout == done.stdout
    gone = [n for n in range(5) if n not in wanted]
    for n in gone:
        assert run("grep", f"text{n}$", *LAKE, name).returncode == 1
    facts = json.loads(run("fields", "--json", *LAKE, name).stdout)
    assert facts["rows"] == len(wanted)
    stats = json.loads(run("fields", "--stats", "--json", *LAKE, name).stdout)
    (field,) = (field for field in stats["fields"] if field["name"] == "n")
    assert (field["rows"], field["ranges"][0]["max"]) == (len(wanted), max(wanted))
    described = json.loads(run("describe-file", "--json", *LAKE, name).stdout)
    assert described["total"]["rows"] == len(wanted)
    checked = json.loads(run("validate-file", "--json", *LAKE, name).stdout)
    assert sum(file["rows"] for file in checked["files"]) == len(wanted)


def test_patterns_mean_tables_and_counts_are_those_of_tables(
    run: Run, table: sdb.client.table.Table, tmp_path: Path
) -> None:
    sdb.connect(tmp_path / "lake").create("web.other", "in/*.json")
    sdb.connect(tmp_path / "lake").append("web.other", [{"n": 9, "text": "text9"}])
    assert table.version == 3
    done = run("grep", "-c", "text", *LAKE, "web.*")
    assert done.stdout.splitlines() == [b"web.gha:4", b"web.other:1"]
    assert run("grep", "-c", "text", *LAKE, "web.gha").stdout == b"4\n"
    assert run("grep", "-l", "text", *LAKE, "*.*").stdout.splitlines() == [b"web.gha", b"web.other"]
    assert run("grep", "-H", "text9", *LAKE, "web.*").stdout.startswith(b"web.other:{")
    where = run("unpack", "--fmt", "json", "--where", "n > 3", *LAKE, "web.*")
    assert numbers(where.stdout) == [4, 9]
    sdb.execute("DROP TABLE web.other", root=tmp_path / "lake")
    assert run("grep", "-c", "text", *LAKE, "web.*").stdout == b"4\n"
    dropped = run("head", *LAKE, "web.other")
    assert (dropped.returncode, b"was dropped" in dropped.stderr) == (3, True)


def test_a_file_counts_before_a_table_and_says_so(
    run: Run, table: sdb.client.table.Table, tmp_path: Path
) -> None:
    (tmp_path / "row.json").write_text('{"n": 77}\n')
    sdb.pack([tmp_path / "row.json"], tmp_path / "lake/web.gha")
    done = run("head", *LAKE, "web.gha")
    assert numbers(done.stdout) == [77]
    assert b"web.gha is a file or folder here; the table is web.gha@main" in done.stderr
    assert numbers(run("head", *LAKE, "web.gha@main").stdout) == VERSIONS[""]
    assert numbers(run("head", *LAKE, "./web.gha").stdout) == [77]
    assert table.version == 3


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("web.ghb", "there is no file web.ghb, and no table web.ghb below lake", "web.gha?"),
        ("wb.gha", "there is no file wb.gha, and no table wb.gha below lake", "web.gha?"),
        ("gha", "there is no file or folder gha", "the table web.gha?"),
        ("web.x*", "neither a file nor a table matches web.x*", "sdb ls"),
        ("web.gha@9", "web.gha has no version 9", "the newest is 3"),
        ("none.zion", "opening lake/none.zion: no such file or directory", ""),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(
    run: Run, table: sdb.client.table.Table, word: str, message: str, hint: str
) -> None:
    for command in (["head"], ["tail"], ["fields"], ["grep", "x"], ["unpack", "--fmt", "json"]):
        done = run(*command, *LAKE, word)
        first, *rest = done.stderr.decode().splitlines()
        assert (done.returncode, first) == (3, f"sdb: {message}"), command
        assert hint in "".join(rest)
    assert table.version == 3


def test_a_root_without_tables_names_the_one_that_is_near(
    run: Run, table: sdb.client.table.Table
) -> None:
    for words in (["tables"], ["log", "web.gha"], ["head", "web.gha"], ["grep", "x", "web.gha"]):
        done = run(*words)
        assert (done.returncode, done.stdout) == (3, b"")
        assert b"has no tables\nhint: did you mean --root lake?" in done.stderr
        away = run("--root", "/nowhere", *words)
        assert (away.returncode, b"there is no folder /nowhere" in away.stderr) == (3, True)
        assert run(*words, SDB_ROOT="lake", SNELLER_BUCKET="/nowhere").returncode == 0
    assert table.version == 3


def test_damage_is_noticed_although_the_index_has_no_digests(
    run: Run, table: sdb.client.table.Table, tmp_path: Path
) -> None:
    (first, *_) = table.describe().packfiles.files
    path = tmp_path / "lake" / first.path
    reader = open_read(path)
    start, stop = read_trailer(reader, str(path)).block_range(0)
    reader.close()
    data = bytearray(path.read_bytes())
    data[(start + stop) // 2] ^= 1
    path.write_bytes(data)
    for words in (["head"], ["unpack", "--fmt", "json"], ["grep", "text"], ["tail"]):
        assert run(*words, *LAKE, "web.gha").returncode == 6, words
    assert run("validate-file", *LAKE, "web.gha").returncode == 1
    refused = run("unpack", "--no-verify", "--fmt", "json", *LAKE, "web.gha")
    assert (refused.returncode, b"web.gha is a table" in refused.stderr) == (2, True)


def test_more_packfiles_than_may_be_open_are_unpacked(run: Run, tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.many", "in/*.json")
    for n in range(210):
        db.append("web.many", [{"n": n}])
    assert numbers(run("unpack", "--fmt", "json", *LAKE, "web.many").stdout) == list(range(210))
    assert numbers(run("tail", "-n", "3", *LAKE, "web.many").stdout) == [207, 208, 209]


def test_tables_without_rows_are_listed(run: Run, table: sdb.client.table.Table) -> None:
    assert run("create", "-q", *LAKE, "web.new", "--input", "in/*.json").returncode == 0
    listed = json.loads(run("tables", "--json", *LAKE).stdout)["tables"]
    assert [(item["table"], item["rows"], item["synced_at"] is None) for item in listed] == [
        ("gha", 4, False),
        ("new", 0, True),
    ]
    assert b"never" in run("tables", *LAKE).stdout
    assert table.version == 3


def test_two_words_hint_at_the_name_of_a_table(run: Run) -> None:
    done = run("head", "web", "gha")
    assert done.returncode == 2
    hint = done.stderr.decode().splitlines()[-1]
    assert hint == "hint: a table is one word here, web.gha; sdb head --help"
    assert b"one word" not in run("ls", "a", "--x").stderr
    assert b"one word" not in run("head", "a.zion", "gha").stderr
