"""Regular expressions that a scan decides mean what they mean to the engine, that is to RE2."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

import sdb
from sdb import _core
from sdb.packfile.read.reader import open_packfile
from sdb.query.catalog.tablescan import PackfileScan
from tests.amounts import usual

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    *(
        "",
        "a",
        "b",
        "ab",
        "aab",
        "abc",
        "A",
        "AB",
        "Kk",
        "k",
        "\u212a",
        "s",
        "\u017f",
        "S",
        "é",
        "É",
    ),
    *(
        "aé",
        "日本",
        "日",
        "\U0001f600",
        "a\nb",
        "\n",
        "a\n",
        "\nb",
        "\t",
        "a b",
        "a-b",
        "-",
        "_",
        "a_b",
    ),
    *(
        "1",
        "12",
        "a1b22",
        "٣",
        "a.b",
        "a|b",
        "(a)",
        "[a]",
        "{",
        "a{2}",
        "^",
        "$",
        "\\",
        "a\\b",
        "&&",
    ),
    *(
        "error: 17 ms",
        "GET /x?y=1",
        "\x00",
        "a\x00b",
        "\r\n",
        "\x0b",
        "ß",
        "ss",
        "aaaaaaaa",
        "a b\nc",
    ),
]
ATOMS = [
    *("a", "b", "k", "s", "A", "é", "日", "1", " ", "-", ".", "_", "/", ":", "\n", "&", "~"),
    *(
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        r"\.",
        r"\\",
        r"\n",
        r"\t",
    ),
    *(r"\_", r"\-", r"\(", r"\Q.\E", r"\pL", r"\x61", r"\101", r"\1", r"\y", r"\C", r"\a", "\\é"),
    *("^", "$", "|", "{", "}", "]", "{,2}", "{2", "[]a]", "[a", "[[:alpha:]]", "[b-a]", "[a&&b]"),
    *(
        "[ab]",
        "[^a]",
        "[a-c]",
        "[0-9]",
        "[A-Z]",
        r"[\d_]",
        r"[^\s]",
        "[-a]",
        "[a-]",
        "[a-c-e]",
        "[é]",
    ),
    *(
        "[^a-z]",
        r"[\]]",
        "[.]",
        "[+*?]",
        "[+--]",
        r"[\W]",
        "[~&]",
        "[ -/]",
        "()",
        "(?:)",
        "(|a)",
        "(?P<n>a)",
    ),
]
REPEATS = [
    *[""] * 6,
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "{2}",
    "{1,2}",
    "{0}",
    "{2,}",
    "**",
    "{2,1}",
    "{1001}",
]
FLAGS = [*[""] * 8, "(?i)", "(?s)", "(?is)", "(?m)", "(?U)", "(?-s)"]


def pattern(rng: random.Random, depth: int = 2) -> str:
    parts = []
    for _ in range(rng.randint(1, 3)):
        if depth and rng.random() < 0.25:
            opened = rng.choice(["(", "(", "(?:", "(?s:", "(?i:", "(?=", "(?i)"])
            atom = f"{opened}{pattern(rng, depth - 1)}{rng.choice(['|a', '', '', '|'])})"
        else:
            atom = rng.choice(ATOMS)
        parts.append(atom + rng.choice(REPEATS))
    return (rng.choice(FLAGS) if depth == 2 else "") + "".join(parts)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("regexes") / "texts.zion"
    sdb.pack([{"x": text, "at": at} for at, text in enumerate(TEXTS)], path)
    return path


@pytest.mark.parametrize("seed", range(usual(8)))
def test_what_a_scan_decides_is_what_the_engine_answers(packed: Path, seed: int) -> None:
    rng = random.Random(seed)
    engine = duckdb.connect()
    engine.execute("CREATE TABLE t AS SELECT UNNEST(?) AS x", [TEXTS])
    common = 0
    with open_packfile(packed) as pack:
        source = PackfileScan(pack, ((0, pack.block_count),)).source()
        for _ in range(400):
            text, ignore_case = pattern(rng), rng.random() < 0.3
            if not _core.is_common_regex(text, ignore_case=ignore_case):
                continue
            common += 1
            test = ("regex", ["x"], text, ignore_case)
            scan = _core.LaneScan([source], [(0, ["x"], "s")], predicate=test)
            actual = pa.RecordBatchReader.from_stream(scan).read_all().column(0).to_pylist()
            option = "i" if ignore_case else "c"
            wanted = engine.execute(
                "SELECT x FROM t WHERE regexp_matches(x, ?, ?)", [text, option]
            ).fetchall()
            assert sorted(actual) == sorted(row[0] for row in wanted), text
    assert common > 20


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x ~ '^a+b$'", ["ab", "aab"]),
        ("x ~* '^K+$'", ["Kk", "k", "\u212a"]),
        ("REGEXP_MATCHES(x, '[0-9]{2}')", ["12", "a1b22", "error: 17 ms"]),
        (
            "x SIMILAR TO 'a_b'",
            ["aab", "a\nb", "a b", "a-b", "a_b", "a.b", "a|b", "a\\b", "a\x00b"],
        ),
        ("x ILIKE 'é'", ["é", "É"]),
        ("NOT x ~ '.' AND x <> ''", ["\n"]),
        (r"x ~ '\\pN'", ["1", "12", "a1b22", "٣", "a{2}", "error: 17 ms", "GET /x?y=1"]),
    ],
)
def test_conditions_are_decided_by_scans_or_the_engine(
    packed: Path, condition: str, expected: list[str]
) -> None:
    with sdb.sql(f"SELECT x FROM '{packed}' WHERE {condition}") as result:
        assert sorted(row["x"] for row in result) == sorted(expected)
    with sdb.sql(f"EXPLAIN SELECT COUNT(*) AS n FROM '{packed}' WHERE {condition}") as result:
        assert next(iter(result))["plan"].endswith("COUNT") is ("pN" not in condition)
