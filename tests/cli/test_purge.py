"""`sdb purge`: rows leave all versions, branches and tags, forks that share, and the disk."""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sdb
from sdb.table.catalog.leases import Lease

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

CANARY = "canary-7d1f"
WHERE = f"who = '{CANARY}'"
MAGIC = b"\x28\xb5\x2f\xfd"
MOMENT = datetime(2033, 3, 3, tzinfo=UTC)
"""The time of the rows that are purged, later than all others."""


def rows_of(number: int) -> list[dict[str, object]]:
    """Make rows of which some are the canary's, in each second packfile."""
    day = datetime(2026, 1, 1 + number, tzinfo=UTC)
    rows: list[dict[str, object]] = [
        {"n": 1000 * number + item, "who": f"user{item % 50}", "at": day} for item in range(200)
    ]
    if number % 2 == 0:
        rows[7] |= {"who": CANARY, "at": MOMENT, "only": {CANARY: 1}}
        rows[107] |= {"who": CANARY, "at": MOMENT}
    return rows


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a table with versions, a tag, a branch and a fork that shares, in the current folder."""
    db = sdb.connect(tmp_path)
    db.create("d.t", "in/*.json")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text('{"n": 9000, "who": "input"}\n')
    db.sync("d.t")
    for number in range(4):
        db.append("d.t", rows_of(number), stats="who")
    table = db.table("d.t")
    table.tag("report")
    table.branch("audit")
    db.append("d.t@audit", rows_of(4), stats="who")
    table.fork("d.shared", share=True)
    db.append("d.shared", rows_of(6), stats="who")
    db.table("d.t").compact()
    db.append("d.t", rows_of(5), stats="who")
    db.execute("CREATE TABLE d.other")
    db.execute("BEGIN; INSERT INTO d.other VALUES ({'n': 1}); DELETE FROM d.t WHERE n = 5; COMMIT")
    return tmp_path


def traces(folder: Path) -> set[str]:
    """Find the canary in the bytes of all objects, and in all that is compressed in them."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(CANARY.encode() in piece for piece in pieces(path.read_bytes()))
    }


def pieces(data: bytes) -> list[bytes]:
    actual, at = [data], data.find(MAGIC)
    while at >= 0:
        stream = pa.CompressedInputStream(io.BytesIO(data[at:]), "zstd")
        text = b""
        try:
            while piece := stream.read(1 << 16):
                text += piece
        except OSError:
            pass  # the end of the frames, or no frame
        actual.append(text)
        at = data.find(MAGIC, at + 1)
    return actual


def numbers(folder: Path, table: str) -> list[int]:
    with sdb.connect(folder).sql(f"SELECT n FROM {table} ORDER BY n") as result:
        return [row["n"] for row in result]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def purged(lake: Path) -> list[Path]:
    return [path for path in lake.rglob("*.zion") if CANARY in str(unpacked(path))]


def unpacked(path: Path) -> list[object]:
    with sdb.sql(f"SELECT * FROM '{path}'") as result:
        return list(result)


def test_purge_erases_rows_everywhere(run: Run, lake: Path) -> None:
    names = ("d.t", "d.t@audit", "d.shared")
    remaining = {
        name: [n for n in numbers(lake, name) if n % 1000 not in (7, 107)] for name in names
    }
    others = {  # rows of these numbers in packfiles without the canary stay
        name: [n for n in numbers(lake, name) if n % 1000 in (7, 107) and n // 1000 % 2]
        for name in names
    }
    before = traces(lake)
    assert len(before) > 5
    assert any("/data/" in key for key in before)

    reported = contents(lake)
    dry = run("purge", "-n", "d.t", "--where", WHERE)
    assert dry.returncode == 0, dry.stderr
    assert contents(lake) == reported
    assert b"d.t: tags that would go: report" in dry.stderr

    done = run("purge", "d.t", "--where", WHERE)
    text = done.stderr.decode()
    assert done.returncode == 0, text
    assert "sdb: proof: 0 rows match in " in text
    assert "d.t: tags that went: report" in text
    for name in names:
        assert f"{name}: " in text
        assert numbers(lake, name) == sorted(remaining[name] + others[name])
    assert "not reached: the inputs that d.t was filled from" in text
    assert traces(lake) == set()
    assert not purged(lake)
    for name in ("d.t", "d.shared"):
        assert sdb.connect(lake).table(name).validate().ok
        assert run("log", name).returncode == 0

    reported = contents(lake)
    again = run("purge", "d.t", "--where", WHERE)
    assert again.returncode == 0
    assert contents(lake) == reported
    assert b"proof: 0 rows match" in again.stderr
    assert b"nothing" in run("sync", "d", "t").stderr or numbers(lake, "d.t") == sorted(
        remaining["d.t"] + others["d.t"]
    )
    for words in (["gc", "d.t"], ["gc", "d.t", "--grace", "0s"], ["gc", "d.shared"]):
        assert run(*words).returncode == 0, words
    # Nobody knows any more what both branches had in common.
    refused = run("merge", "d.t", "audit")
    assert refused.returncode == 5
    assert numbers(lake, "d.t") == sorted(remaining["d.t"] + others["d.t"])


def test_purge_finds_what_nothing_leads_to(run: Run, lake: Path) -> None:
    """A packfile that a program has left which was killed, and one that was dropped long ago."""
    (item, *_) = purged(lake)
    left = lake / "db/d/t/data" / f"{'A' * 32}.zion"
    shutil.copy(item, left)
    run("exec", "DELETE FROM d.t WHERE n < 10000")
    assert left in purged(lake)
    facts = json.loads(run("purge", "d.t", "--where", WHERE, "--json").stdout)
    assert facts["ok"]
    assert str(left.relative_to(lake)) in facts["packfiles"]
    assert traces(lake) == set()


def test_purge_leaves_what_somebody_reads(run: Run, lake: Path) -> None:
    table = sdb.connect(lake).table("d.t")
    lease = Lease(table.handle)
    lease.renew()
    needed = {descriptor.key for descriptor in table.handle.descriptors()}
    done = run("purge", "d.t", "--where", WHERE)
    assert done.returncode == 1
    text = done.stderr.decode()
    assert "no proof: " in text
    (line, *_) = [descriptor for descriptor in text.splitlines() if "sdb: left: " in descriptor]
    assert "the lease " in line
    assert "run it again later" in line
    assert all((lake / key).exists() for key in needed), "it is still being read"
    assert CANARY not in str(list(sdb.connect(lake).sql("SELECT who FROM d.t")))
    lease.release()
    assert run("purge", "d.t", "--where", WHERE).returncode == 0
    assert traces(lake) == set()


def test_a_lease_of_somebody_who_died_goes(run: Run, lake: Path) -> None:
    lease = Lease(sdb.connect(lake).table("d.t").handle)
    lease.renew()
    path = lake / lease.key
    then = time.time() - 3600
    os.utime(path, (then, then))
    assert run("purge", "d.t", "--where", WHERE).returncode == 0
    assert not path.exists()
    assert traces(lake) == set()


def test_packfiles_of_another_table_are_named(run: Run, lake: Path) -> None:
    """A fork loses the rows; the packfiles that it shared belong to the other table."""
    done = run("purge", "d.shared", "--where", WHERE)
    assert done.returncode == 1
    assert b"it belongs to d.t: purge that table" in done.stderr
    with sdb.connect(lake).sql(f"SELECT n FROM d.shared WHERE {WHERE}") as result:
        assert list(result) == []
    assert run("purge", "d.t", "--where", WHERE).returncode == 0
    assert run("purge", "d.shared", "--where", WHERE).returncode == 0
    assert traces(lake) == set()


def test_a_table_that_was_dropped_is_purged(run: Run, lake: Path) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE d.gone")
    db.append("d.gone", rows_of(0))
    db.execute("DROP TABLE d.gone")
    assert run("purge", "d.gone", "--where", WHERE).returncode == 0
    assert not [key for key in traces(lake) if "/gone/" in key]


def test_purge_in_python(lake: Path) -> None:
    table = sdb.connect(lake).table("d.t")
    plan = table.purge("who = $who", params={"who": CANARY}, dry_run=True)
    purged = table.purge("who = $who", params={"who": CANARY})
    assert purged.ok
    assert set(plan.packfiles) <= set(purged.packfiles)
    assert {branch.rows for branch in plan.branches} == {branch.rows for branch in purged.branches}
    assert purged.objects > len(purged.packfiles)
    assert purged.as_dict()["proof"] == {"packfiles": purged.scanned, "versions": purged.versions}
    assert traces(lake) == set()


BAD = (
    (["d.t"], 2, "no rows to purge given"),
    (["d.t", "--where", "n IN (SELECT n FROM d.t)"], 2, "reads tables"),
    (["d.t", "--where", "n ="], 2, "syntax error"),
    (["d.t", "--where", "n = 1; DELETE FROM d.t"], 2, "is no condition"),
    (["d.u", "--where", "n = 1"], 3, "there is no table d.u"),
    (["d.t@3", "--where", "n = 1"], 2, "is a version of a table"),
    (["d.t", "--where", "n = $n"], 2, "$n"),
)


def test_bad_words(run: Run, lake: Path) -> None:
    reported = contents(lake)
    for words, code, text in BAD:
        done = run("purge", *words)
        assert done.returncode == code, done.stderr
        assert text in done.stderr.decode()
    assert contents(lake) == reported


def test_a_purge_of_a_field_that_no_version_has_is_refused(run: Run, lake: Path) -> None:
    reported = contents(lake)
    for more in ([], ["--quiet"], ["-n"]):
        done = run("purge", *more, "d.t", "--where", f"n = -1 OR whom = '{CANARY}'")
        assert done.returncode == 2
        assert done.stderr.decode().splitlines() == [
            'sdb: no row of d.t has "whom": looked at 8 packfiles of all its versions',
            "hint: did you mean who?",
        ]
    assert contents(lake) == reported


def test_a_proof_names_fields_and_versions(run: Run, lake: Path) -> None:
    assert (lake / "db").is_dir()
    done = run("purge", "d.t", "--where", "who = 'nobody' AND n > 1")
    assert "looked at n, who in d.t 1 to " in done.stderr.decode()
    done = run("purge", "--quiet", "d.t", "--where", "who = 'nobody'")
    assert (done.returncode, done.stderr) == (0, b"")
