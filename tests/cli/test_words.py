"""Filters of words through the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("timeout", "refused", "mimikatz", "checksum", "overflow", "deadlock")
ROWS = [
    {"n": n, "message": f"{WORDS[n // 50]} no. {n}", "more": [{"note": f"{WORDS[n // 50]}s"}]}
    for n in range(300)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    path = tmp_path / "rows.zion"
    stats = "auto,words,words:message"
    sdb.pack([tmp_path / "rows.json"], path, align_bytes=2048, block_bytes=2048, stats=stats)
    return path


def blocks_read(run: Any, *words: str) -> tuple[int, int, bytes]:
    """Return how many blocks `sdb grep` reads, of how many, and what it prints."""
    done = run("grep", "--verbose", *words)
    (reported,) = [line for line in done.stderr.decode().splitlines() if "may have a match" in line]
    counts = [int(line) for line in reported.split() if line.isdigit()]
    return counts[0], counts[1], done.stdout


@pytest.mark.usefixtures("path")
def test_grep_reads_few_blocks(run: Any) -> None:
    for words in (["mimikatz"], ["-i", "MIMIKATZ"], ["--fields", "message", "mimikatz no"]):
        read, known, printed = blocks_read(run, *words, "rows.zion")
        assert read <= 2 < known, words
        assert printed.count(b"\n") == 50
    read, known, printed = blocks_read(run, "-F", "mimikatzs", "rows.zion")
    assert (read <= 2, printed.count(b"\n")) == (True, 50)
    read, known, printed = blocks_read(run, "-v", "mimikatz", "rows.zion")
    assert (read, printed.count(b"\n")) == (known, 250)
    assert run("grep", "mimikatzen", "rows.zion").stdout == b""


@pytest.mark.usefixtures("path")
def test_queries_read_few_blocks(run: Any) -> None:
    for where in (
        "message LIKE '%mimikatz%'",
        "message ~ 'mi(mikatz|)' AND message ~ 'mimikatz'",
        "LOWER(message) LIKE '%mimikatz no%'",
        "UPPER(message) ~ 'MIMIKATZ|PASSPHRASE'",
        "STARTS_WITH(LOWER(message), 'mimi') AND CONTAINS(UPPER(message), 'MIMIKATZ')",
        "message SIMILAR TO '%(mimikatz|passphrase) no. [0-9]+'",
    ):
        query = f'SELECT COUNT(*) AS n FROM "rows.zion" WHERE {where}'
        assert json.loads(run("query", "--fmt", "json", query).stdout) == {"n": 50}
        facts = json.loads(run("query", "--explain", "--json", query).stdout)
        assert facts["blocks"] <= 2 < facts["all_blocks"]
        assert '"filter"' in json.dumps(facts)


def test_words_stay(run: Any, screen: Any, path: Path) -> None:
    (path.parent / "new.json").write_text('{"n": 300, "message": "a new catastrophe"}\n')
    run("append", "rows.zion", "new.json")
    run("concat", "-o", "both.zion", "rows.zion", "rows.zion")
    for name in ("rows.zion", "both.zion"):
        read, known, printed = blocks_read(run, "catastrophe", name)
        assert 0 < read <= 2 < known
        assert printed
        assert run("validate-file", name).returncode == 0
    facts = json.loads(run("describe-file", "--json", "both.zion").stdout)
    assert "words_bytes" in json.dumps(facts)
    assert "for words)" in screen("describe-file", "both.zion", columns=100)[1]


@pytest.mark.usefixtures("path")
def test_wrong_paths_are_refused(run: Any) -> None:
    for stats in ("words:.a", "off,words", ","):
        error = run("pack", "-o", "x.zion", "rows.json", "--stats", stats).stderr.decode()
        assert "invalid paths for statistics" in error, stats
        assert "words:message" in error
