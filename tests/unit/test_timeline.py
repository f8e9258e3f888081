from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import instants
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.view.axis import ticks
from sdb.view.facts import block_table, table
from sdb.view.timeline import ASCII, UNICODE, draw, lines
from tests.unit.conftest import describe

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
PATH = ("ts",)


def in_order(count: int, step: int = HOUR) -> list[tuple[int, int]]:
    return [(at * step, (at + 1) * step - 1) for at in range(count)]


def test_blocks_in_order_make_a_diagonal(make: Any) -> None:
    assert draw(make({PATH: in_order(4)}), columns=44).splitlines() == [
        "ts",
        "1970-01-01T00:00:00Z to 1970-01-01T03:59:59Z",
        " 0 ██████████",
        " 1           ██████████",
        " 2                     ██████████",
        " 3                               ██████████",
        "  └┴───────────────────┴───────────────────",
        "   1970              02:00",
    ]


def test_halves_of_a_character(make: Any) -> None:
    spans = [(0, 24), (25, 49), (50, 74), (75, 99)]
    drawn = draw(make({PATH: spans}), columns=14).splitlines()
    assert [line[3:] for line in drawn[2:6]] == ["██▌", "  ▐██", "     ██▌", "       ▐██"]
    plain = draw(make({PATH: spans}), columns=14, glyphs=ASCII)
    assert plain.isascii()


def test_shuffled_blocks_are_as_wide_as_the_plot(make: Any) -> None:
    drawn = draw(make({PATH: [(0, DAY)] * 3}), columns=60).splitlines()
    assert [line.count("█") for line in drawn] == [0, 56, 56, 56, 0, 0]


def test_many_blocks_share_lines(make: Any) -> None:
    drawn = draw(make({PATH: in_order(10_000)}), columns=60).splitlines()
    assert len(drawn) < 30
    assert max(map(len, drawn)) <= 60
    assert drawn[1].split()[0] == "0-416"
    overlapping = make({PATH: [(0, DAY), (DAY // 2, DAY)] * 50})
    shades = {c for line in draw(overlapping, columns=60).splitlines()[1:-2] for c in line}
    assert shades & set(UNICODE.shades)


def test_blocks_without_times(make: Any) -> None:
    index = TimeIndex(max=[(HOUR, 3)], min=[(0, 1)])
    assert [len(line.spans) for line in lines(make({PATH: index}).blocks(), PATH, 9)] == [0, 1, 1]
    assert " 0 no times\n" in draw(make({PATH: index}), columns=60)


def test_a_file_without_index(make: Any) -> None:
    assert draw(make({}), columns=60) == "no time index\n"
    assert block_table(make({}), columns=60).split() == [
        *("block", "offset", "size", "ratio", "chunks", "rows")
    ]


def test_one_instant(make: Any) -> None:
    assert "█" in draw(make({PATH: [(7, 7)]}), columns=60) or "▌" in draw(
        make({PATH: [(7, 7)]}), columns=60
    )


@given(
    st.lists(
        st.none() | st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**40)),
        min_size=1,
        max_size=80,
    ).filter(lambda spans: spans[0] is not None),
    st.integers(40, 200),
)
def test_it_always_fits(spans: list[tuple[int, int] | None], columns: int) -> None:
    shifted = [span and (span[0], min(2**63 - 1, span[0] + span[1])) for span in spans]
    for glyphs in (UNICODE, ASCII):
        drawn = draw(describe({PATH: shifted}), columns=columns, glyphs=glyphs).splitlines()
        assert max(len(line) for line in drawn[2:]) <= columns


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**63), st.integers(1, 20))
def test_ticks_lie_within(first: int, width: int, most: int) -> None:
    last = min(first + width, 2**63 - 1)
    actual = [tick.us for tick in ticks(first, last, most)]
    assert actual == sorted(set(actual))
    assert all(first <= us <= last for us in actual)
    assert len(actual) <= most + 2


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        ("2021-01-01T00:00:10", "2021-01-01T00:01:00", ["00:00:15", "00:00:30", "00:01:00"]),
        ("2021-01-01T20:00", "2021-01-02T04:00", ["22:00", "01-02", "02:00"]),
        ("2020-12-30", "2021-01-03", ["12-30", "2021", "01-03"]),
        ("2020-11-15", "2021-04-15", ["2021", "2021-03"]),
        ("2018-05-01", "2022-05-01", ["2020", "2022"]),
    ],
)
def test_labels_are_round(first: str, last: str, labels: list[str]) -> None:
    actual = [tick.label for tick in ticks(instants.parse(first), instants.parse(last), 4)]
    assert set(labels) <= set(actual)


def test_table_leaves_out_what_does_not_fit() -> None:
    rows = [["1", "22", "333"], ["10", "2", "3"]]
    assert table(["a", "b", "c"], rows, columns=80) == " a   b    c\n 1  22  333\n10   2    3\n"
    times = [["ab", "12,345", "2026-11-29T04:16:01Z", "7"]]
    assert table(["t", "rows", "at", "n"], times, columns=30) == (
        " t                    at\nab  2026-11-29T04:16:01Z\n(no room for: rows, n)\n"
    )
    assert table(["a", "b", "c"], rows, columns=8) == " a   b\n 1  22\n10   2\n(no room for: c)\n"


def test_block_table(make: Any) -> None:
    file = make({PATH: in_order(2)}, types={PATH: 64})
    assert block_table(file, columns=200).splitlines()[1].split() == [
        *("0", "0", "1000", "2097.15", "2", "10"),
        *("1970-01-01T00:00:00Z", "1970-01-01T00:59:59.999999Z"),
    ]
