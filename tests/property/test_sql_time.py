"""Times that a query computes for rows are those that constants are folded to."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import instants
from sdb.query.analyze import calendar

if TYPE_CHECKING:
    from pathlib import Path

DAY_US = 86_400_000_000
PARTS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MICROSECOND")


def moment(dice: random.Random) -> int:
    """Return an instant, often near the end of a month."""
    us = dice.randrange(-(10**15), 2 * 10**15)
    if dice.random() < 0.5:
        us = (
            calendar.truncate("MONTH", us, 0) - dice.randrange(3) * DAY_US + dice.choice([-1, 0, 1])
        )
    return us


@pytest.mark.parametrize("part", PARTS)
def test_differences(part: str, tmp_path: Path) -> None:
    dice = random.Random(part)
    pairs = [(moment(dice), moment(dice)) for _ in range(2000)]
    pairs += [(start, start + dice.randrange(200) * DAY_US) for start, _ in pairs]
    rows = ({"a": instants.text(a), "b": instants.text(b)} for a, b in pairs)
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([tmp_path / "t.json"], tmp_path / "t.zion")
    query = f"SELECT DATE_DIFF({part}, a, b) AS n FROM 't.zion'"
    with sdb.sql(query, root=str(tmp_path)) as result:
        ns = [row["n"] for row in result]
    assert ns == [calendar.difference(part, a, b) for a, b in pairs]
