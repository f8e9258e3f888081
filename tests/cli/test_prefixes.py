"""Filters of prefixes of addresses through the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.build.options import StatisticsChoice

if TYPE_CHECKING:
    from pathlib import Path

# Networks of /16 in no order, so that bounds tell nothing: each block has a few of them.
ROWS = [
    {
        "n": n,
        "ip": f"10.{n // 30 * 7919 % 251}.{n * 31 % 256}.{n % 256}",
        "hops": [{"ip": f"192.168.{n // 30}.{n % 30:03}"}, {"ip": "9.9.9.9"}, {"ip": "255.0.0.1"}],
        "other": f"{n % 2 * 254}.1.1.1",
    }
    for n in range(600)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    path = tmp_path / "rows.zion"
    stats = "auto,prefixes:ip,prefixes:hops[].ip"
    sdb.pack([tmp_path / "rows.json"], path, align_bytes=2048, block_bytes=2048, stats=stats)
    return path


def counted(run: Any, name: str, where: str) -> tuple[int, int, int]:
    """Return how many rows a query finds, how many blocks it reads, and of how many."""
    query = f'SELECT COUNT(*) AS n FROM "{name}" WHERE {where}'
    facts = json.loads(run("query", "--explain", "--json", query).stdout)
    n = json.loads(run("query", "--fmt", "json", query).stdout)["n"]
    return n, facts["blocks"], facts["all_blocks"]


CONDITIONS = {
    f"IS_SUBNET_OF('10.{7 * 7919 % 251}.0.0/16', ip)": 30,
    f"IS_SUBNET_OF('10.{7 * 7919 % 251}.0.0/17', ip)": 14,
    f"IS_SUBNET_OF('10.{7 * 7919 % 251}.0.0', '10.{7 * 7919 % 251}.255.255', ip)": 30,
    f"ip = '10.{7 * 7919 % 251}.{7 * 30 * 31 % 256}.{7 * 30}'": 1,
    "IS_SUBNET_OF('192.168.7.0/24', hops[0].ip)": 30,
    "IS_SUBNET_OF('192.168.7.13', hops[0].ip)": 1,
    "IS_SUBNET_OF('11.0.0.0/8', ip)": 0,
}


@pytest.mark.usefixtures("path")
def test_queries_of_networks_read_few_blocks(run: Any) -> None:
    for where, rows in CONDITIONS.items():
        actual, read, known = counted(run, "rows.zion", where)
        assert (actual, read <= 3 < known) == (rows, True), where
        assert read or not rows
    where = f"IS_SUBNET_OF('10.{7 * 7919 % 251}.0.0/16', ip)"
    for command in (["head", "-n", "99"], ["unpack", "--fmt", "json"]):
        assert run(*command, "--where", where, "rows.zion").stdout.count(b"\n") == 30


def test_prefixes_stay(run: Any, screen: Any, path: Path) -> None:
    (path.parent / "new.json").write_text('{"n": 600, "ip": "172.16.0.1"}\n')
    assert run("append", "rows.zion", "new.json").returncode == 0
    run("concat", "-o", "both.zion", "rows.zion", "rows.zion")
    for name, rows in (("rows.zion", 1), ("both.zion", 2)):
        actual, read, known = counted(run, name, "IS_SUBNET_OF('172.16.0.0/12', ip)")
        assert (actual, 0 < read <= 2 * rows < known) == (rows, True)
        assert run("validate-file", name).returncode == 0
    facts = json.loads(run("describe-file", "--json", "both.zion").stdout)
    assert '"prefixes_bytes": 0' not in json.dumps(facts)
    assert "for prefixes)" in screen("describe-file", "both.zion", columns=100)[1]


@pytest.mark.usefixtures("path")
def test_wrong_paths_are_told(run: Any) -> None:
    for stats in ("prefixes", "prefixes:", "prefixes:.a", "off,prefixes:ip"):
        done = run("pack", "-o", "x.zion", "rows.json", "--stats", stats)
        if stats == "prefixes":  # a field may be called so
            assert b'no row of x.zion has "prefixes"' in done.stderr
            continue
        assert "invalid paths for statistics" in done.stderr.decode(), stats
        assert "prefixes:ip" in done.stderr.decode()
    done = run("pack", "-o", "y.zion", "rows.json", "--stats", "prefixes:Ip")
    assert b'has "Ip"' in done.stderr


def test_what_is_asked_for() -> None:
    choice = StatisticsChoice.of(["auto", "prefixes:a.b", "words", ("prefixes:c",)])
    assert choice == StatisticsChoice(True, (("prefixes:c",),), ((),), (("a", "b"),))
