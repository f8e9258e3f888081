"""Filters of words never lose a row: mixed texts, patterns of `grep`, and conditions of queries.

What matches is what a search of all blocks finds. All of it:
``pytest tests/property/test_words.py -m slow``.
"""

from __future__ import annotations

import inspect
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import ion
from sdb.errors import QueryError, UsageError
from sdb.packfile.prune import ngrams, prune
from sdb.packfile.prune import rules as blockrules
from sdb.packfile.read.search import search
from sdb.query.catalog import reduction
from tests.amounts import usual
from tests.blockmutations import WORD_MUTATIONS
from tests.property.test_needles import Case as Condition
from tests.property.test_needles import (
    _executed,
    literal,
    lost,
    mutant,
    share_left_out,
    stored,
    tree,
)

if TYPE_CHECKING:
    from pathlib import Path

Rng = random.Random

# Texts of conditions are made at random, with escapes that are warned of.
pytestmark = pytest.mark.filterwarnings("ignore:.*where it says:sdb.errors.SdbWarning")

WORDS = [
    *("10.1.2.3", "calc.xll", "App.log", "ri\u017f\u212a.com", "fe80::1ff:fe23", "x.io"),
    *("timeout", "Timeout", "TIMEOUTS", "refused", "connection", "mimikatz", "\u212ael\u017finki"),
    *(
        "kelsinki",
        "pa\u017f\u017fword",
        "Password",
        "Straße",
        "straßen",
        "日本語テキスト",
        "Übergröße",
    ),
    *(
        "deadbeef-1234-0042",
        "3f2a77c0be560242ac120002",
        "3f2a77c0be560242ac120003",
        "résumé-2021",
        "ÉCLAIRAGES",
        "éclairages",
    ),
    *(
        "user-00012345",
        "10.100.200.30",
        "2021-03-04",
        "ERRORS",
        "a",
        "to",
        "\u0130stanbullu",
        "indivisib\u0130lities",
        "d\u0131v\u0131s\u0131on",
        "INDIVISIBILITIES",
        "\u0131stanbul",
    ),
]
SIGNS = [" ", "_", "/", ".", "-", "", ": ", "\n", "%", "\\", "'", "\ufffd", "[", "|"]
BYTES = b"mimikatz timeouts"
PATHS = ["x", "x", "n.b", "l[0]", "m[0].b", "y", "n"]
STATS = [
    "words",
    "words:x,words:n",
    "words:l,words:m[].b,x,words",
    "auto,words:x,words:l[],words:n.b",
]
BLOCKS, ROWS = 8, 4


def text(rng: Rng, words: list[str]) -> str:
    parts = [rng.choice(words) + rng.choice(SIGNS) for _ in range(rng.randrange(1, 5))]
    return "".join(parts)


def value(rng: Rng, words: list[str]) -> Any:
    pick = rng.random()
    if pick < 0.85:
        return text(rng, words)
    return rng.choice([None, 7, BYTES, BYTES, [text(rng, words)], {"b": "timeouts"}])


def row(rng: Rng, words: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "x": value(rng, words),
        "y": value(rng, words),
        "n": {"b": value(rng, words), "timeout": 1},
        "l": [value(rng, words) for _ in range(rng.randrange(3))],
        "m": [{"b": value(rng, words)} for _ in range(rng.randrange(3))],
    }
    return {name: made[name] for name in made if rng.random() < 0.8}


def packed(folder: Path, seed: int) -> tuple[Path, Path, list[str]]:
    """Pack rows with filters of words and without them; also gives some of their texts."""
    rng = Rng(seed)
    made = []
    for _ in range(BLOCKS):
        words = rng.sample(WORDS, 3)
        made += [row(rng, words) for _ in range(ROWS)]
    for number, item in enumerate(made):
        item["number"] = number
    source = folder / f"{seed}.ion"
    source.write_bytes(b"".join(map(ion.dumps, made)))
    places = []
    for name, stats in (("with", STATS[seed % len(STATS)]), ("without", "off")):
        path = folder / f"{seed}-{name}.zion"
        sdb.pack([source], path, block_bytes=512, align_bytes=512, stats=stats, threads=1)
        places.append(path)
    texts = [actual for item in made for actual in item.values() if isinstance(actual, str)]
    return places[0], places[1], texts or ["timeout"]


def part(rng: Rng, texts: list[str]) -> str:
    """Take a part of a text, or one that is much like it."""
    actual = rng.choice([*texts, *WORDS, *["bWltaWthdHogdGltZW91dHM="] * 4])
    pick = rng.random()
    if pick > 0.4:
        start = rng.randrange(len(actual))
        actual = actual[start : start + rng.randrange(1, 24)]
    pick = rng.random()
    if pick < 0.25:
        return actual.swapcase()
    if pick < 0.35:
        return actual.replace("s", "\u017f").replace("k", "\u212a")
    return actual


def regex(rng: Rng, texts: list[str]) -> str:
    """Make a pattern of parts of texts."""
    made = ""
    for _ in range(rng.randrange(1, 4)):
        first = part(rng, texts)
        at = rng.randrange(len(first))
        begin, unit, end = (re.escape(piece) for piece in (first[:at], first[at], first[at + 1 :]))
        either = re.escape(part(rng, texts))
        made += rng.choice(
            [
                begin + unit + end,
                begin + unit + end,
                f"{begin}{unit}?{end}",
                f"{begin}{unit}+{end}",
                f"{begin}{unit}{{1,2}}{end}",
                f"{begin}.{end}",
                f"({begin}){unit}(?:{end})",
                f"({begin}{unit}{end}|{either})",
                f"({begin}{unit}{end}|)",
                f"({begin}{unit})*{end}",
                f"(?i:{begin}{unit}){end}",
                f"\\b{begin}{unit}{end}",
            ]
        ) + rng.choice(["", "", ".*", "|", " ?", "$"])
    if first[at].isalpha() and rng.random() < 0.3:
        made = f"{begin}[{first[at].lower()}{first[at].upper()}]{end}"
    return rng.choice(["", "", "^", "(?i)"]) + made.strip("|")


def found_by(path: Path, patterns: list[str], **options: Any) -> list[int]:
    return [item["number"] for item in sdb.grep(patterns, path, **options)]


def run_greps(folder: Path, seeds: range, count: int) -> tuple[int, int]:
    """Search; give how many blocks without a match are read, and how many there are."""
    read = spare = 0
    for seed in seeds:
        filtered, plain, texts = packed(folder, seed)
        _, _, numbers = stored(plain)
        rng = Rng(seed)
        for _ in range(count):
            fixed = rng.random() < 0.3
            makes = part if fixed else regex
            patterns = [makes(rng, texts) for _ in range(rng.choice([1, 1, 2]))]
            options = {
                "fixed": fixed,
                "ignore_case": rng.random() < 0.3,
                "invert": rng.random() < 0.1,
                "fields": rng.choice([None, None, ["x"], ["n", "l"], ["m", "y"]]),
            }
            try:
                expected = found_by(plain, patterns, **options)
            except UsageError:
                continue
            assert found_by(filtered, patterns, **options) == expected, (seed, patterns, options)
            with sdb.open(filtered) as pack:
                chosen = search(patterns, **options).selection(pack).blocks
            read += len(chosen) - len({numbers[item] for item in expected})
            spare += max(numbers) + 1 - len({numbers[item] for item in expected})
    return read, spare


def condition(rng: Rng, texts: list[str]) -> str:
    path, first, two = rng.choice(PATHS), part(rng, texts), part(rng, texts)
    no, sign = rng.choice(["", "", "NOT "]), rng.choice(["%", "_", ""])
    like = literal(rng, f"{sign}{first}%{two}{rng.choice(['%', ''])}")
    middle = len(first) // 2
    gap = literal(rng, f"%{first[:middle]}%{first[middle + 1 :]}%")
    escaped = literal(rng, "%" + re.sub("([%_!])", r"!\1", first) + "%")
    odd = literal(rng, "%" + re.sub("([%_e])", r"e\1", first) + "%")
    made = literal(rng, regex(rng, texts))
    plain, two_plain = (re.sub(r"[%_()|*+?{}\[\]\\]", "_", first) for first in (first, two))
    return rng.choice(
        [
            f"{path} {no}LIKE {literal(rng, f'%{first}%')}",
            f"{path} {no}LIKE {like}",
            f"{path} {no}LIKE {gap}",
            f"{path} LIKE {escaped} ESCAPE '!'",
            f"{path} LIKE {odd} ESCAPE 'e'",
            f"{path} {no}ILIKE {literal(rng, f'%{first}%')}",
            f"{path} ILIKE {like}",
            f"{path} ILIKE {literal(rng, f'%{first.swapcase()}%')}",
            f"{path} ~ {made}",
            f"{path} ~* {made}",
            f"{path} ~* {literal(rng, re.escape(first))}",
            f"{path} ~* {literal(rng, re.escape(first.swapcase()))}",
            f"NOT ({path} ~ {made})",
            f"{no}REGEXP_LIKE({path}, {made})",
            f"{path} SIMILAR TO {literal(rng, f'%{plain}%')}",
            f"{path} SIMILAR TO {literal(rng, f'%({plain}|{two_plain})_*%')}",
            f"{path} SIMILAR TO {literal(rng, f'%{plain[:middle]}%{plain[middle + 1 :]}%')}",
            f"{path} {no}SIMILAR TO {literal(rng, f'%{plain}{sign}({two_plain}%)?')}",
            *(cased(rng, path, first, two) for _ in range(4)),
            f"LOWER({path}) = {literal(rng, lowered(rng.choice(texts)))}",
            f"{no}CONTAINS({path}, {literal(rng, first)})",
            f"{no}ENDS_WITH({path}, {literal(rng, first)})",
        ]
    )


def cased(rng: Rng, path: str, item: str, two: str) -> str:
    """Ask for a text in upper or lower case."""
    name, change = rng.choice([("LOWER", lowered), ("UPPER", uppered)])
    call, no, sign = f"{name}({path})", rng.choice(["", "", "NOT "]), rng.choice(["%", "_", ""])
    item, two = (change(text) if rng.random() < 0.9 else text for text in (item, two))
    text = literal(rng, item)
    pattern = literal(rng, re.escape(item))
    return rng.choice(
        [
            f"{call} = {text}",
            f"{call} IN ({literal(rng, two)}, {text})",
            f"{call} {no}LIKE {literal(rng, f'%{item}%')}",
            f"{call} LIKE {literal(rng, f'{item}%')}",
            f"{call} {no}LIKE {literal(rng, f'{sign}{item}%{two}%')}",
            f"{call} {rng.choice(['ILIKE', 'SIMILAR TO'])} {literal(rng, f'%{item}%')}",
            f"{call} {rng.choice(['~', '~*'])} {pattern}",
            f"{call} ~ {literal(rng, f'{re.escape(item)}|{re.escape(two)}')}",
            f"REGEXP_LIKE({call}, {pattern})",
            f"{no}{rng.choice(['CONTAINS', 'STARTS_WITH', 'ENDS_WITH'])}({call}, {text})",
        ]
    )


def lowered(text: str) -> str:
    return "".join(part.lower()[0] for part in text)


def uppered(text: str) -> str:
    return "".join(part.upper() if len(part.upper()) == 1 else part for part in text)


def conditions(folder: Path, seed: int, count: int) -> list[Condition]:
    """Make conditions; one query tells what each of these is TRUE for."""
    filtered, plain, texts = packed(folder, seed)
    rng = Rng(seed)
    sparse, statistics, numbers = stored(filtered)
    made: dict[str, Any] = {}
    for _ in range(count):
        asked = condition(rng, texts)
        try:
            where = tree(asked)
            with sdb.sql(f"SELECT number FROM read_file('{plain}') WHERE {asked}") as result:
                holding = {numbers[int(item["number"])] for item in result}
        except QueryError:
            continue
        made[asked] = Condition(asked, where, sparse, statistics, holding)
    return [*made.values()]


def run_conditions(folder: Path, seeds: range, count: int) -> float:
    """Check conditions; give the share of blocks without a row that were left out."""
    return share_left_out(seeds, lambda seed: conditions(folder, seed, count))


@pytest.mark.seeds
def test_searches_find_the_same(tmp_path: Path) -> None:
    read, spare = run_greps(tmp_path, range(usual(8, 4)), 30)
    assert read < 0.85 * spare


@pytest.mark.seeds
def test_no_row_is_lost(tmp_path: Path) -> None:
    assert run_conditions(tmp_path, range(100, 100 + usual(8, 3)), 12) > 0.1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_searches_find_the_same(tmp_path: Path) -> None:
    read, spare = run_greps(tmp_path, range(1000, 1100), 200)
    assert read < 0.85 * spare


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_row_is_lost_by_many_conditions(tmp_path: Path) -> None:
    assert run_conditions(tmp_path, range(2000, 2040), 60) > 0.1


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[Condition]:
    folder = tmp_path_factory.mktemp("words")
    return [case for seed in range(300, 350) for case in conditions(folder, seed, 90)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WORD_MUTATIONS)
def test_rules_made_wrong_lose_rows(name: str, known: list[Condition]) -> None:
    module, old, new = WORD_MUTATIONS[name]
    made = mutant(module, old, new)
    rules, reduced = (_executed(item, inspect.getsource(item)) for item in (prune, reduction))
    asked = made if module is blockrules else _executed(blockrules, inspect.getsource(blockrules))
    if module is ngrams:
        asked.ngrams = made  # type: ignore[attr-defined]
        reduced.wanted = made.wanted  # type: ignore[attr-defined]
    for word in ("cased", "ascii_parts", "similar"):
        if module is not ngrams and hasattr(made, word):
            setattr(reduced, word, getattr(made, word))
    rules.rules = asked  # type: ignore[attr-defined]
    assert any(lost(case, rules, made if module is reduction else reduced) for case in known)
