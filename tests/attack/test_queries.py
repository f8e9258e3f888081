"""Mutated queries: an answer, or a message that says what is wrong. Nothing else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.attack.harness import Sdb, batches, dice

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.attack.harness import Findings

FEW, MANY = 8, 120
MOST_CHARACTERS = 5000
DOCUMENTED = (0, 1, 2, 3, 8)
"""1 is lack of memory, 3 a file that a mutated query names, 8 what SQL has and we do not."""
SEEDS = (
    'SELECT * FROM "x.zion"',
    'SELECT COUNT(*) FROM "x.zion"',
    "SELECT a, b.c AS d, e[0] FROM \"x.zion\" WHERE a > 3 AND b.c = 'x' LIMIT 5 OFFSET 2",
    'SELECT t, COUNT(*) AS n, SUM(a), AVG(f), MAX(at) FROM "x.zion" GROUP BY t ORDER BY n DESC',
    'SELECT t FROM "x.zion" GROUP BY t HAVING COUNT(*) > 1 ORDER BY t LIMIT 3',
    'SELECT DISTINCT t, a % 3 FROM "x.zion" ORDER BY t',
    'SELECT COUNT(DISTINCT t), MIN(a) FROM "x.zion" WHERE at < `2024-05-01T00:00:30Z`',
    'SELECT x.a, y.a FROM "x.zion" x JOIN "x.zion" y ON x.a = y.a WHERE x.t <> y.t LIMIT 10',
    'SELECT a, v FROM "x.zion" x, x.e AS v WHERE v IS NOT MISSING LIMIT 10',
    "SELECT CASE WHEN a > 2 THEN 'big' WHEN f IS NULL THEN 0 ELSE a END FROM \"x.zion\"",
    'SELECT a, ROW_NUMBER() OVER (PARTITION BY t ORDER BY a) FROM "x.zion" LIMIT 4',
    "SELECT a FROM \"x.zion\" WHERE a IN (1, 2, 3) OR t LIKE 'a%' ESCAPE '!' OR f BETWEEN 1 AND 2",
    'SELECT a FROM "x.zion" WHERE a = (SELECT MAX(a) FROM "x.zion") UNION ALL SELECT 1',
    "SELECT {'k': a, 'l': [a, t]} AS s, CAST(a AS STRING), t || '-' || t FROM \"x.zion\"",
    'SELECT DATE_ADD(DAY, a, at), DATE_TRUNC(MONTH, at), EXTRACT(YEAR FROM at) FROM "x.zion"',
    'SELECT SUBSTRING(t, 1, a), UPPER(t), CHAR_LENGTH(t), TRIM(t), ROUND(f), SQRT(f) FROM "x.zion"',
    'EXPLAIN SELECT a FROM "x.zion" WHERE a > 1',
    'WITH q AS (SELECT a, t FROM "x.zion") SELECT q.t, SUM(q.a) FROM q GROUP BY q.t',
    "SELECT SUM(a) FILTER (WHERE f > 0.5), BOOL_AND(a > 0) FROM read_file('*.zion')",
)
HUGE = (
    *("9" * 20, "9" * 400, "1e308", "1e309", "-9223372036854775808", "9223372036854775808"),
    *(
        "18446744073709551615",
        "18446744073709551616",
        "0.1e-400",
        "0",
        "-1",
        "1e-320",
        "00",
        "1.",
        ".5",
    ),
)
WORDS = (
    *("(", ")", "[", "]", "{", "}", ",", ".", "*", "=", "<>", "||", "::", ";", "--", "/*", "*/"),
    *("NULL", "MISSING", "NOT", "AND", "OR", "IS", "IN", "LIKE", "BETWEEN", "CASE", "END", "FROM"),
    *("SELECT", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "OVER", "UNION", "AS", "DISTINCT", "ALL"),
    *(
        "$x",
        "$",
        "?",
        "@",
        "#",
        "`x`",
        "'",
        '"',
        "''",
        '""',
        "`2024-01-01`",
        "`",
        "\\",
        "%",
        "TRUE",
    ),
)
ODD = ("\x00", "\x01", "\u2028", "\ufeff", "é", "😀", "\u202e", "\x7f", "\t", "\r", "\n", "\x0c")
OTHERS = ("a", "at", "t", "b", "e", "x", "SUM", "COUNT", "UPPER", "zzz")
TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\w+|\s+|[^\w\s]")


def rows() -> bytes:
    """Make rows whose fields have several types."""
    lines = []
    for n in range(60):
        row = {"a": n % 7, "t": "abc"[n % 3], "f": n / 8, "at": f"2024-05-01T00:00:{n:02}Z"}
        row |= {"b": {"c": "x" if n % 2 else n}, "e": [n, "y", None][: n % 4]}
        row |= {"a": 2**64 - n} if n % 13 == 0 else {}
        lines.append(json.dumps(row))
    return "\n".join(lines).encode()


def _named(tokens: list[str], chance: random.Random, *, digits: bool) -> int:
    """Choose a token that is a number or a word, or any token without one."""
    actual = [i for i, text in enumerate(tokens) if (text.isdigit() if digits else text.isalpha())]
    return chance.choice(actual or range(len(tokens)))


def _shuffle(tokens: list[str], at: int, chance: random.Random) -> None:
    """Drop, swap, double or cut off tokens, or take some of another query."""
    to = chance.randrange(len(tokens))
    match chance.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens[at], tokens[to] = tokens[to], tokens[at]
        case 2:
            tokens.insert(at, tokens[to])
        case 3:
            del tokens[max(1, at) :]
        case _:
            other = TOKENS.findall(chance.choice(SEEDS))
            start = chance.randrange(len(other))
            tokens[at:at] = other[start : start + chance.randrange(1, 9)]


def _replace(tokens: list[str], at: int, chance: random.Random) -> None:
    """Put something else in the place of a token."""
    match chance.randrange(4):
        case 0:
            tokens[_named(tokens, chance, digits=True)] = chance.choice(HUGE)
        case 1:
            tokens[at] = chance.choice(HUGE)
        case 2:
            tokens[at] = f" {chance.choice(WORDS)} "
        case _:
            tokens[_named(tokens, chance, digits=False)] = chance.choice(OTHERS)


def _swell(tokens: list[str], at: int, chance: random.Random) -> None:
    """Add odd characters, repeat a token, or nest it."""
    match chance.randrange(4):
        case 0:
            tokens.insert(at, chance.choice(ODD))
        case 1:
            tokens[at] *= chance.choice([2, 100, 5000])
        case 2:
            tokens[at] = f"({''.join(tokens)})"
        case _:
            depth = chance.choice([10, 200, 2000, 50_000])
            left, right = chance.choice(["()", "[]", "{}", ("NOT ", ""), ("-", ""), ("1+", "")])
            tokens[at] = left * depth + tokens[at] + right * depth


def mutated(text: str, chance: random.Random) -> str:
    """Change a query in a few places."""
    tokens = TOKENS.findall(text)
    for _ in range(chance.choice([1, 1, 1, 2, 2, 3, 6])):
        if tokens:
            change = chance.choice([_shuffle, _replace, _swell])
            change(tokens, chance.randrange(len(tokens)), chance)
    return "".join(tokens)


@pytest.fixture
def folder(sdb: Sdb) -> Path:
    (sdb.folder / "x.json").write_bytes(rows())
    assert sdb("pack", "-o", "x.zion", "x.json").code == 0
    return sdb.folder


def attack(sdb: Sdb, findings: Findings, count: int, *names: object) -> None:
    """Ask mutated queries."""
    chance = dice(*names)
    for _ in range(count):
        text = mutated(chance.choice(SEEDS), chance)
        (sdb.folder / "q.sql").write_bytes(text.encode())
        form = chance.choice(["json", "json", "csv", "ion", "arrow"])
        flags = chance.choice([[], [], [], ["--explain"], ["-j", "1"]])
        outcome = sdb("query", "--fmt", form, *flags, "-f", "q.sql")
        complaints = outcome.complaints(DOCUMENTED)
        if outcome.code and outcome.out:
            complaints.append(f"rows before an error: {outcome}")
        if len(outcome.err) > MOST_CHARACTERS:
            complaints.append(f"a message of {len(outcome.err)} characters: {outcome.err[:200]}")
        findings.attacks += 1
        findings.add(complaints, text.encode(), f"{text!r:.200}:")
    findings.check()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", batches(10))
def test_mutated_queries(sdb: Sdb, folder: Path, findings: Findings, batch: int) -> None:
    assert folder.exists()
    attack(sdb, findings, MANY, "queries", batch)


def test_a_few_mutated_queries(sdb: Sdb, folder: Path, findings: Findings) -> None:
    assert folder.exists()
    attack(sdb, findings, FEW, "few queries")
