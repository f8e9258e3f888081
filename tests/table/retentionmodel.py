"""Retention against a model of rows: what must stay stays, and what must go goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from sdb.records import record, replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import REAL
from sdb.table.definition.definition import Definition
from sdb.table.format.keys import TableKeys
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.pack import pack_rows
from sdb.table.sync.retention import retire
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from sdb.table.commit.environment import Environment

KEYS = TableKeys("d", "t")
DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US
NOW = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=NOW_US)
KEPT_DAYS = 10
NO_TIMES: tuple[Any, ...] = ("noon", 7, None, True, [NOW], {"at": NOW}, "2001-01-01")


def around(days: float) -> Environment:
    """Return an environment whose clock is this many days after `NOW`."""
    return replace(REAL, now_us=lambda: NOW_US + int(days * DAY_US))


@record
class Case:
    """Packfiles of rows, a policy, and the days at which it is carried out."""

    packfiles: tuple[tuple[Any, ...], ...]  # of each row what it has at the field; `...`: nothing
    share: float
    is_deleting: bool
    days: tuple[int, ...]
    pad: int  # how long rows are, of which blocks of a KiB are made
    constants: tuple[int | None, ...] = ()  # how old all rows of a packfile are, by its partition

    @property
    def definition(self) -> Definition:
        fate = "delete" if self.is_deleting else "keep"
        return Definition.parse(
            f'{{"retention_policy": {{"field": "at", "valid_for": "{KEPT_DAYS}d", '
            f'"without_time": "{fate}", "rewrite_share": {self.share}}}}}'
        )


ages = st.integers(0, 30).map(lambda age: NOW - timedelta(days=age, seconds=1))
values = st.one_of(ages, ages, ages, st.sampled_from(NO_TIMES), st.just(...))
runs = st.tuples(values, st.integers(1, 8)).map(lambda run: [run[0]] * run[1])
rows = st.one_of(
    st.lists(values, min_size=1, max_size=12),
    st.lists(runs, min_size=1, max_size=6).map(lambda lists: list(chain(*lists))),
    st.lists(ages, min_size=1, max_size=20),
)
cases = st.builds(
    Case,
    st.lists(rows.map(tuple), min_size=1, max_size=4).map(tuple),
    st.sampled_from([0, 0.2, 0.2, 0.5, 1]),
    st.booleans(),
    st.lists(st.integers(0, 12), min_size=1, max_size=3).map(lambda days: tuple(sorted(days))),
    st.sampled_from([0, 300]),
)


def play(case: Case) -> None:
    """Carry a policy out, and compare the rows that are left with those of the model."""
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    left: list[list[tuple[int, Any]]] = []
    for number, packed in enumerate(case.packfiles):
        numbered = [(100 * number + at, value) for at, value in enumerate(packed)]
        made = [{"n": n, "pad": "x" * case.pad} | _field(value) for n, value in numbered]
        done = pack_rows(root, KEYS, made, rules=None, align_bytes=512, block_bytes=1024)
        assert done.descriptor is not None
        commit(root, KEYS, TableChange("insert", (done.descriptor,)), env=around(0))
        left.append(numbered)
    for day in case.days:
        before = _numbers(left)
        left = _after(case, left, day)
        retired = retire(root, KEYS, case.definition, env=around(day))
        assert rows_of(root) == _numbers(left), (case, day)
        assert retired.rows == len(before) - len(_numbers(left))
        state = open_table(root, "d", "t").state
        assert state is not None
        assert state.rows == len(_numbers(left))
        assert not retire(root, KEYS, case.definition, env=around(day))


def rows_of(root: TableRoot) -> list[int]:
    """Return the numbers of the rows of the table."""
    numbers: list[int] = []
    for descriptor in open_table(root, "d", "t").descriptors():
        pack = whole_packfile(root, descriptor, OpenObjects(1))
        numbers += [row["n"] for row in pack.rows(fields=["n"])]
    return sorted(numbers)


def _field(value: Any) -> dict[str, Any]:
    return {} if value is ... else {"at": value}


def _numbers(packfiles: list[list[tuple[int, Any]]]) -> list[int]:
    return sorted(number for packfile in packfiles for number, _ in packfile)


def _after(
    case: Case, packfiles: list[list[tuple[int, Any]]], day: int
) -> list[list[tuple[int, Any]]]:
    """Return what is left, row by row."""
    limit = NOW + timedelta(days=day - KEPT_DAYS)
    have_times = any(isinstance(value, datetime) for rows in packfiles for _, value in rows)
    left = []
    for packfile in packfiles:
        staying = []
        for number, value in packfile:
            is_time = isinstance(value, datetime)
            is_over = is_time and value < limit
            if not (is_over or (case.is_deleting and have_times and not is_time)):
                staying.append((number, value))
        gone = len(packfile) - len(staying)
        are_over = not any(isinstance(value, datetime) for _, value in staying)
        is_worth = gone >= max(1, ceil(case.share * len(packfile)))
        left.append(staying if gone and (is_worth or are_over) else packfile)
    return [packfile for packfile in left if packfile]
