"""What would have helped a query, and that it does."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.query.result.advice import advice
from sdb.query.result.reading import facts

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {
        "who": f"user{number * 7919 % 4000}",
        "kind": number % 3,
        "text": f"login of user{number} from {'zymurgic' if number == 123 else 'office'}"
        f" at 10.1.{number % 250}.{number // 250}",
        "pad": f"{number * 2654435761 % 2**32:032x}" * 4,
    }
    for number in range(4000)
]


@pytest.fixture(scope="module")
def packfile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advice") / "x.zion"
    packed = sdb.pack(ROWS, path, block_bytes=1 << 16, align_bytes=1 << 15, stats="off")
    assert len(packed.trailer.blocks) >= 8
    return path


def told(path: Path, condition: str) -> list[str]:
    with sdb.sql(f"SELECT kind FROM '{path}' WHERE {condition}") as result:
        notes: list[str] = facts(result)["notes"]
        assert [note for note in notes if " are read, " in note] == advice(result.tables)
        return advice(result.tables)


@pytest.mark.parametrize(
    ("condition", "stats"),
    [
        ("who = 'user77'", "auto,who"),
        ("who IN ('user77', 'user78')", "auto,who"),
        ("text LIKE '%zymurgic%'", "auto,words:text"),
        ("text LIKE '%10.1.77.15'", "auto,words:text"),
        ("who = 'user77' AND pad <> ''", "auto,who"),
    ],
)
def test_the_command_helps(packfile: Path, tmp_path: Path, condition: str, stats: str) -> None:
    (line,) = told(packfile, condition)
    blocks = len(sdb.describe(packfile).files[0].trailer.blocks)
    begin = f"{blocks} of {blocks} blocks, .*, are read, since nothing tells which may have "
    assert re.match(begin, line)
    command = line.rpartition(": ")[2]
    new = tmp_path / "new.zion"
    words = shlex.split(command.replace("NEW.zion", str(new)))
    assert words[:4] == ["sdb", "pack", "--stats", stats]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    # The same with as small blocks as before.
    sdb.pack(packfile, new, stats=stats, block_bytes=1 << 16, align_bytes=1 << 15, overwrite=True)
    assert told(new, condition) == []
    with sdb.sql(f"SELECT kind FROM '{new}' WHERE {condition}") as result:
        assert 1 <= len(result) <= 2
        assert result.reading.blocks <= 2 < result.reading.all_blocks


@pytest.mark.parametrize(
    "condition",
    [
        "kind > 1",  # is TRUE for many
        "who = 'user77' OR kind = 1",  # an index of either alone does not help
        "text LIKE '%a b.c d%'",  # filters of words have no piece of it
        "CHAR_LENGTH(who) = 5",
    ],
)
def test_nothing_is_said_that_does_not_help(packfile: Path, condition: str) -> None:
    assert told(packfile, condition) == []


def test_few_blocks_need_no_advice(tmp_path: Path) -> None:
    sdb.pack(ROWS, tmp_path / "x.zion", stats="off")
    assert told(tmp_path / "x.zion", "who = 'user77'") == []


def run(command: str) -> None:
    for part in command.split(" | "):
        words = [sys.executable, "-m", *shlex.split(part)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_tables_are_clustered(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.t", "in/*.json")
    chance = random.Random(7)
    for start in range(0, 4000, 400):
        rows = [row | {"pad": chance.randbytes(2500).hex()} for row in ROWS[start : start + 400]]
        db.append("web.t", rows, stats="off", block_bytes=1 << 20)  # clustered in as small ones
    query = "SELECT kind FROM web.t WHERE who = 'user77'"
    with db.sql(query) as result:
        (line,) = advice(result.tables, root=str(tmp_path / "lake"))
        before = result.reading
    command = f"sdb compact --cluster-by who --root {tmp_path / 'lake'} web.t"
    assert re.fullmatch(
        rf"[0-9]+ of [0-9]+ blocks, .*, are read, .* who = 'user77': {command}", line
    )
    run(command)
    with db.sql(query) as result:
        assert advice(result.tables) == []
        assert len(result) == 1
        assert result.reading.scanned_bytes * 4 <= before.scanned_bytes


def test_small_packfiles_are_merged_and_not_sorted(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.t", "in/*.json")
    for start in range(0, 4000, 400):
        db.append("web.t", ROWS[start : start + 400], stats="off")
    query = "SELECT kind FROM web.t WHERE who = 'user77'"
    with db.sql(query) as result:
        (line,) = advice(result.tables, root=str(tmp_path / "lake"))
    command = f"sdb compact --root {tmp_path / 'lake'} web.t"
    begin = "10 of 10 blocks, .*, are read, in 10 small packfiles: "
    assert re.fullmatch(begin + command, line)
    run(command)
    with db.sql(query) as result:
        assert advice(result.tables) == []
        assert result.reading.blocks < 3


@pytest.mark.skipif(shutil.which("jq") is None, reason="the command takes jq")
def test_words_of_tables(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.t", "in/*.json")
    for start in range(0, 4000, 400):
        db.append("web.t", ROWS[start : start + 400], stats="off")
    with db.sql("SELECT kind FROM web.t WHERE text LIKE '%10.1.77.15'") as result:
        (line,) = advice(result.tables, root=str(tmp_path / "lake"))
    command = line.partition(", or ")[2]
    assert "insert with --stats auto,words:text, or sdb def " in line
    program = command.replace("sdb ", f"{sys.executable} -m sdb ")
    subprocess.run(["bash", "-c", program], check=True, capture_output=True)
    shown = [sys.executable, "-m", "sdb", "def", "--root", str(tmp_path / "lake"), "web.t"]
    definition = json.loads(subprocess.run(shown, check=True, capture_output=True).stdout)
    assert definition["stats"] == "auto,words:text"
    assert definition["input"] == [{"pattern": "file://in/*.json"}]
