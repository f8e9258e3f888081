"""References to versions: what they mean, and how few objects it takes to know."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import errors, instants
from sdb.records import replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog.foreign import seal_of
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import Environment
from sdb.table.commit.objects import put_new
from sdb.table.format import etags, limits
from sdb.table.format.history import HistoryRef, PastVersion, write_history
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import VersionState, with_state
from sdb.table.format.versionref import (
    BeforeFirstError,
    ExpiredError,
    UnknownReferenceError,
    parse_reference,
    parse_time,
)
from tests.amounts import usual
from tests.table.roots import LOCAL
from tests.table.simulation.actors import descriptor

if TYPE_CHECKING:
    from sdb.store.faults import StoreCall

KEYS = TableKeys("d", "t")
NOW_US = 1_700_000_000_000_000
SECOND_US = 1_000_000


def committed(root: TableRoot, number: int, at_us: int) -> None:
    key = f"{KEYS.folder}/data/{number}.zion"
    reported = descriptor(key, put_new(root, key, str(number).encode()), [str(number)])
    env = Environment(now_us=lambda: at_us)
    commit(root, KEYS, TableChange("insert", (reported,)), env=env)


def version_of(root: TableRoot, reference: str | int | datetime) -> int:
    handle = open_table(root, "d", "t", at=reference)
    assert handle.state is not None
    assert len(list(handle.descriptors())) == handle.state.version
    return handle.state.version


@pytest.mark.parametrize(
    ("text", "kind", "number", "name", "branch"),
    [
        ("@12", "version", 12, "", "main"),
        ("12", "version", 12, "", "main"),
        (12, "version", 12, "", "main"),
        (-3, "back", 3, "", "main"),
        ("@-1", "back", 1, "", "main"),
        ("@-1d", "time", NOW_US - 86_400 * SECOND_US, "", "main"),
        ("2w", "time", NOW_US - 14 * 86_400 * SECOND_US, "", "main"),
        ("@1970-01-02", "time", 86_400 * SECOND_US, "", "main"),
        ("1970-01-01T02:00+02:00", "time", 0, "", "main"),
        ("@v1", "name", 0, "v1", "main"),
        ("exp@-1", "back", 1, "", "exp"),
        ("@exp@7", "version", 7, "", "exp"),
    ],
)
def test_what_references_say(
    text: str | int, kind: str, number: int, name: str, branch: str
) -> None:
    actual = parse_reference(text, NOW_US)
    assert (actual.kind, actual.number, actual.name, actual.branch) == (kind, number, name, branch)


@pytest.mark.parametrize("text", ["", "@", "1x", "-x", "2026-13-01", "a/b", "a@b", "@@", "a@"])
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(errors.UsageError):
        parse_reference(text, NOW_US)


def test_times_as_seafowl_takes_them() -> None:
    for text in (
        "2022-11-18T13:13:35Z",
        "Fri, 18 Nov 2022 13:13:35 +0000",
        "2022-11-18 13:13:35",
        "2022-11-18 15:13:35 +0200",
        "2022-11-18 11:13:35 -02:00",
    ):
        assert parse_time(text) == 1_668_777_216 * SECOND_US - 1, text
    assert parse_time("2022-11-18 13:13:35.25") == 1_668_777_215 * SECOND_US + 250_000
    with pytest.raises(errors.UsageError, match="is not a time"):
        parse_time("yesterday morning")


@pytest.fixture(scope="module")
def table() -> tuple[TableRoot, list[int]]:
    """Make a table of forty versions, whose history is in several objects."""
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    times = [NOW_US + 10 * SECOND_US * number for number in range(1, 41)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits.USUAL, "inline_versions", 6)
        patch.setattr(limits.USUAL, "listed_versions", 8)
        for number, at_us in enumerate(times, 1):
            committed(root, number, at_us)
    head = open_table(root, "d", "t")
    assert head.state is not None
    assert len(head.state.older) > 3
    return root, times


def test_versions_by_number_and_from_the_end(table: tuple[TableRoot, list[int]]) -> None:
    root, _ = table
    for number in range(1, 41):
        assert version_of(root, f"@{number}") == number
        assert version_of(root, f"@-{40 - number}") == number
    for reference, error, hint in [
        ("@41", UnknownReferenceError, "the newest is 40"),
        ("@0", BeforeFirstError, "the first is version 1, of 2023-11-14T22:13:30Z"),
        ("@-40", BeforeFirstError, "the first is version 1"),
        ("@1999-01-01", BeforeFirstError, "the first is version 1"),
        ("@mian", UnknownReferenceError, "did you mean main?"),
        ("@no", UnknownReferenceError, None),
        ("@exp@3", UnknownReferenceError, None),
    ]:
        with pytest.raises(error) as raised:
            open_table(root, "d", "t", at=reference)
        assert raised.value.exit_code == errors.NotFoundError.exit_code
        assert (raised.value.hint or "").startswith(hint or ""), reference
    assert version_of(root, "main") == 40


@settings(max_examples=usual(200), deadline=None)
@given(st.integers(-15 * SECOND_US, 430 * SECOND_US))
def test_times_give_the_newest_version_that_is_not_after(
    table: tuple[TableRoot, list[int]], offset_us: int
) -> None:
    root, times = table
    moment = instants.from_us(NOW_US + offset_us)
    number = bisect_right(times, NOW_US + offset_us)
    if number:
        assert version_of(root, moment) == number
    else:
        with pytest.raises(BeforeFirstError):
            version_of(root, moment)


def test_l6_07_copies_answer_the_same(table: tuple[TableRoot, list[int]]) -> None:
    root, times = table
    store = MemoryStore()
    copy = TableRoot("mem://elsewhere", store, LOCAL)
    for url, data in root.store.contents.items():  # type: ignore[attr-defined]
        with store.create(copy.place(url.removeprefix("mem://r/"))) as file:
            file.write(data)
    for number, at_us in [*enumerate(times, 1)][::3]:
        for item in (root, copy):
            assert version_of(item, number) == number
            assert version_of(item, instants.text(at_us)) == number
            if number > 1:
                assert version_of(item, instants.text(at_us - 1000)) == number - 1
    for item in (root, copy):
        with pytest.raises(BeforeFirstError):
            version_of(item, instants.text(times[0] - 1000))
        assert version_of(item, "2999-01-01") == 40


def expired(root: TableRoot, item: set[int]) -> TableRoot:
    """Leave some versions out of the history, as expiry does."""
    head = open_table(root, "d", "t")
    assert head.state is not None
    state = replace(
        head.state, history=tuple([past for past in head.state.history if past.version in item])
    )
    index = replace(head.index, user_data=with_state(head.index.user_data, state))
    with root.store.create(root.place(KEYS.index), overwrite=True) as file:
        file.write(index.encode(LOCAL))
    return root


def test_what_has_expired_is_told() -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    for number in range(1, 11):
        committed(root, number, NOW_US + number * SECOND_US)
    expired(root, {3, 4, 9})

    def at(seconds: float) -> str:
        return instants.text(NOW_US + int(seconds * SECOND_US))

    for reference, number in [(3, 3), (at(3), 3), (at(3.5), 3), (at(4), 4), (at(9.5), 9), (-3, 3)]:
        assert version_of(root, reference) == number, reference
    for reference in (1, 2, 5, 8, at(1), at(4.5), at(8), -4, "@1999-01-01"):
        with pytest.raises(ExpiredError) as raised:
            version_of(root, reference)
        hint = f"the oldest that can be read is version 3, of {at(3)}"
        if reference in {5, 8}:
            hint = f"the nearest are 4, of {at(4)}, and 9, of {at(9)}"
        assert raised.value.hint == hint
    with pytest.raises(UnknownReferenceError):
        version_of(root, 11)


def test_a_version_among_100_000_takes_three_requests() -> None:
    calls: list[StoreCall] = []
    root = TableRoot("mem://r", MemoryStore(calls.append), LOCAL)  # type: ignore[arg-type]
    refs: list[HistoryRef] = []
    count, step, wanted = 100_000, 4096, {1, 4096, 4097, 50_000, 99_990}
    past: list[PastVersion] = []
    state = VersionState(b"t" * 16, 1, "c", 0, 0, "insert")
    for number in range(1, count + 1):
        at_us = NOW_US + number * SECOND_US
        key, etag = KEYS.version(number, "c"), '"x"'
        if number in wanted or number == count:
            index = TableIndex("t", at_us)
            listed = tuple(past) if number == count else ()
            state = replace(state, version=number, at_us=at_us, created_us=at_us, history=listed)
            state = replace(state, older=tuple(refs) if number == count else ())
            state = replace(state, seal=seal_of(index))
            index = replace(index, user_data=with_state({}, state))
            data = index.encode(LOCAL)
            etag = etags.of_content([data])
            put_new(root, key if number < count else KEYS.index, data)
        past.append(PastVersion(number, at_us, key, etag, "insert", number))
        if len(past) == step and number <= count - 128:
            data = write_history(tuple(past))
            put_new(root, key := KEYS.history(f"{number:026}"), data)
            ends = (past[0].version, number, past[0].at_us, at_us)
            refs.append(HistoryRef(key, etags.of_content([data]), *ends, step))
            past = []
    for number in wanted:
        for reference in (number, number - count, instants.text(NOW_US + number * SECOND_US + 5)):
            del calls[:]
            handle = open_table(root, "d", "t", at=reference)
            assert handle.state is not None
            assert handle.state.version == number
            assert [call.verb for call in calls] == ["open"] * len(calls)
            assert len(calls) <= 3


def test_a_table_of_the_original_has_no_versions() -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    put_new(root, KEYS.index, TableIndex("t", NOW_US).encode(LOCAL))
    assert open_table(root, "d", "t", at="2999-01-01").state is None
    assert open_table(root, "d", "t", at=datetime(2024, 1, 1, tzinfo=UTC)).state is None
    with pytest.raises(BeforeFirstError, match="before the first"):
        open_table(root, "d", "t", at="1999-01-01")
    with pytest.raises(BeforeFirstError):
        open_table(root, "d", "t", at=-1)
    with pytest.raises(UnknownReferenceError) as raised:
        open_table(root, "d", "t", at=1)
    assert raised.value.hint == "no sdb has written to it"


def test_an_index_that_another_program_has_written_follows_on_its_version() -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    for number in (1, 2):
        committed(root, number, NOW_US + number * SECOND_US)
    head = open_table(root, "d", "t").index
    theirs = replace(head, inline=head.inline[:1], created_us=NOW_US + 9 * SECOND_US)
    with root.store.create(root.place(KEYS.index), overwrite=True) as file:
        file.write(theirs.encode(LOCAL))
    assert len(open_table(root, "d", "t").index.inline) == 1
    for reference in (2, -1, instants.text(NOW_US + 8 * SECOND_US)):
        assert version_of(root, reference) == 2
    assert len(open_table(root, "d", "t", at="2999-01-01").index.inline) == 1


def test_a_version_that_is_missing_is_told() -> None:
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    for number in (1, 2):
        committed(root, number, NOW_US + number * SECOND_US)
    head = open_table(root, "d", "t").state
    assert head is not None
    key = head.history[0].key
    data = root.store.contents[root.place(key)]  # type: ignore[attr-defined]
    root.store.delete(root.place(key))
    with pytest.raises(errors.CorruptError, match="is missing"):
        version_of(root, 1)
    put_new(root, key, replace(TableIndex.decode(data, LOCAL), created_us=1).encode(LOCAL))
    with pytest.raises(errors.CorruptError, match="not what was written"):
        version_of(root, 1)
