from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import CorruptError, SdbWarning
from sdb.packfile.build import choose
from sdb.packfile.build.newstats import BlockFacts
from sdb.packfile.prune import ngrams
from sdb.packfile.prune.predicate import ANY_TYPE, Anywhere, Both, Either, TextWords
from sdb.packfile.prune.rules import rules
from sdb.packfile.read.search import search
from sdb.packfile.trailer.blockstats import JOINTS, WORDS, ZONES, BlockStatistics, store_sections
from sdb.packfile.trailer.ribbon import RibbonFilter, ValueSet
from sdb.packfile.trailer.ribbonslices import encode_filter

if TYPE_CHECKING:
    from pathlib import Path

PATH = ("message",)


def found(path: Path, pattern: str) -> tuple[int, int]:
    """Return the rows that a search finds, and the blocks that it reads."""
    with sdb.open(path) as pack:
        blocks = search(pattern).selection(pack).blocks
    return len([*sdb.grep(pattern, path)]), len(blocks)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    names = ("timeouts", "refusals", "checksum", "mimikatz")
    lines = [f'{{"n": {n}, "message": "{names[n // 100]} no. {n}"}}\n' for n in range(400)]
    (tmp_path / "a.json").write_text("".join(lines))
    sdb.pack(
        [tmp_path / "a.json"],
        tmp_path / "a.zion",
        stats=["words", ("n",)],
        align_bytes=1024,
        block_bytes=1024,
    )
    return tmp_path / "a.zion"


def test_what_a_pattern_needs() -> None:
    word = TextWords(PATH, ("timeout",), "~ 'x'")
    assert ngrams.wanted(PATH, ["timeout"], words="~ 'x'") == word
    assert str(word) == "message ~ 'x'"
    assert ngrams.wanted(PATH, ["short", "timeout"]) == Anywhere()
    either = ngrams.wanted(PATH, ["timeout.*refused", "checksum"])
    assert isinstance(either, Either)
    both, other = either.parts
    assert isinstance(both, Both)
    assert [*map(str, both.parts), str(other)] == [
        "message has 'timeout'",
        "message has 'refused'",
        "message has 'checksum'",
    ]
    assert str(TextWords((), ("timeout",), is_deep=True)) == "the row has 'timeout'"


def test_what_stands_for_other_bytes_is_not_looked_for() -> None:
    assert ngrams.pieces(["time\ufffdouts"]) == []
    apart = ngrams.pieces(["timeouts", "refused"])
    assert ngrams.pieces(["timeouts\ufffdrefused"]) == apart
    assert len(ngrams.pieces(["abcdefghijklmnopqrstuvwxyz" * 9])) <= 16


@pytest.mark.parametrize(
    "needle",
    [
        "10.1.2.3",
        "calc.xll",
        "app.log",
        "/var/log/app.log",
        "fe80::1ff:fe23:4567",
        "ann@web.org",
        r"C:\temp\run.exe",
    ],
)
def test_needles_with_dots_are_known(needle: str) -> None:
    assert ngrams.pieces([needle]) == []
    assert ngrams.pieces([f"x {needle.upper()} y"], JOINTS) == ngrams.pieces([needle], JOINTS) != []
    assert isinstance(ngrams.wanted(PATH, [re.escape(needle)]), TextWords)


def dotted(tmp_path: Path) -> Path:
    """Pack lines of an access log, of which each address is in a block or two."""
    rows = [
        {"message": f"10.1.{n // 100}.{n % 100 + 100} GET /srv/app{n // 100 % 7}.log {'x' * 40}"}
        for n in range(2000)
    ]
    path = tmp_path / "dotted.zion"
    sdb.pack(rows, path, stats=["words", "words:message"], align_bytes=4096, block_bytes=4096)
    return path


def test_addresses_and_names_read_few_blocks(tmp_path: Path) -> None:
    path = dotted(tmp_path)
    with sdb.open(path) as pack:
        count = len(pack.blocks)
    assert count > 20
    for pattern in (r"10\.1\.7\.150", r"1\.7\.15[0-9] GET.*app0\.log", "SRV/APP5[.]LOG"):
        rows, blocks = found(path, f"(?i){pattern}")
        assert rows > 0
        assert blocks <= count / 2
    assert found(path, r"10\.1\.7\.150 ")[1] <= 2
    assert found(path, r"10\.9\.7\.150")[1] <= count / 8
    for condition in ("message LIKE '%10.1.7.150%'", "CONTAINS(message, '10.1.7.150')"):
        with sdb.sql(f"SELECT * FROM '{path}' WHERE {condition}") as result:
            assert len([*result]) == 1
            assert result.reading.blocks <= 2


def test_packfiles_without_joints_leave_out_nothing(tmp_path: Path) -> None:
    path = dotted(tmp_path)
    with sdb.open(path) as pack:
        count = len(pack.blocks)
        statistics = pack.known[1]
    assert statistics is not None
    older = {}
    for key in statistics.sizes:
        if key[1] != JOINTS:
            values = statistics.filter(*key) if key[1] != ZONES else None
            older[key] = encode_filter(values.whole()) if values is not None else (b"", b"")
    stored = store_sections({key: value for key, value in older.items() if value[0]})
    assert stored is not None
    known = BlockStatistics.decode(stored, count)
    assert known is not None
    assert known.words(()) is not None
    assert known.joints(()) is None
    asked = TextWords((), ("10.1.7.150",), is_deep=True)
    assert [*rules(asked, known, ANY_TYPE)] == []
    assert len([*rules(asked, statistics, ANY_TYPE)]) == 1
    # A program that does not know sections of this kind passes over them.
    unknown = store_sections({((), 10): older[(), WORDS], ((), WORDS): older[(), WORDS]})
    assert unknown is not None
    later = BlockStatistics.decode(unknown, count)
    assert later is not None
    assert later.words(()) is not None


def test_filters_have_fewer_planes_until_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [BlockFacts(sets={(PATH, WORDS): (ValueSet(9, b"\x01" * 256, 8),)})] * 4
    for most, size in ((1024, 1024), (1023, 896), (384, 384)):
        monkeypatch.setattr(choose, "NGRAM_BYTES", most)
        (remaining,) = choose.choose_ngrams(facts).values()
        assert remaining.size_bytes == size
    monkeypatch.setattr(choose, "NGRAM_BYTES", 383)
    with pytest.warns(SdbWarning, match="filters of words are left out"):
        assert choose.choose_ngrams(facts) == {}


def test_only_words_are_of_the_row() -> None:
    made = encode_filter(RibbonFilter.of([[1]], is_text=False))
    stored = store_sections({((), WORDS): made})
    assert stored is not None
    known = BlockStatistics.decode(stored, 1)
    assert known is not None
    assert known.words(()) is not None
    stored = store_sections({((), ZONES): made})
    assert stored is not None
    with pytest.raises(CorruptError, match="invalid depth of a path"):
        BlockStatistics.decode(stored, 1)


def test_damaged_words_are_ignored(path: Path) -> None:
    rows, blocks = found(path, "mimikatz")
    assert rows == 100
    with sdb.open(path) as pack:
        count = len(pack.blocks)
        statistics = pack.known[1]
        stored = pack.trailer.sparse.stored_statistics
    assert 0 < blocks <= count / 2
    assert statistics is not None
    assert stored is not None
    section = statistics.section((), WORDS)
    assert section is not None
    data = path.read_bytes()
    at = data.index(section) + len(section) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert found(path, "mimikatz") == (100, count)
    with sdb.open(path) as pack:
        assert pack.known[1] is not None
        assert pack.known[1].zone(("n",)) is not None
