"""Members of a table that only `sdb` knows: the state of versions, and content ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer.read import read_trailer
from sdb.records import replace
from sdb.store.url import open_read
from sdb.table.format import etags, limits
from sdb.table.format.history import (
    HistoryRef,
    PastVersion,
    VersionPointer,
    marks_of,
    read_history,
    write_history,
)
from sdb.table.format.index import TableIndex
from sdb.table.format.state import VersionChanges, VersionState, state_of, with_state
from tests.conftest import ROOT
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from pathlib import Path


def past(version: int) -> PastVersion:
    return PastVersion(
        version, version * 1000, f"db/d/t/versions/{version}", '"e"', "insert", 5, marks_of(("a",))
    )


STATE = VersionState(
    bytes(range(16)),
    7,
    "COMMIT",
    7001,
    7002,
    "insert",
    rows=100,
    size_bytes=2000,
    author="someone",
    message="why",
    parent=VersionPointer(6, "db/d/t/versions/6", '"e6"'),
    changes=VersionChanges(1, 2, 30, 40),
    history=(past(5), past(6)),
    older=(HistoryRef("db/d/t/history-A", '"h"', 1, 4, 1000, 4000, 4),),
    tags={"good": VersionPointer(3, "db/d/t/versions/3", '"e3"')},
    branches=("try",),
    boundary_us=6500,
    unknown={"later": [1, "x"]},
    branch="try",
    kept_etag='"b2sum:kept"',
    merged=VersionPointer(4, "db/d/t/versions/4", '"e4"'),
    merges={"other": VersionPointer(4, "db/d/t/versions/4", '"e4"')},
    ids=("job-1", "job-2"),
    dropped=True,
    parent_since_us=1_700_000_000_000_000,
    shares={"web.gha": "fork-web.trial-ABCDEFGH"},
    transaction="db/d/transactions/T",
    together={"db/d/u/index": 12},
    keeps_for="web.trial",
    begins="try",
    adopted=7,
    traced=7,
    traced_since=5,
    schema=b"schema",
    replaced=VersionPointer(5, "db/d/t/versions/5-foreign", '"e5"'),
    purged=4,
    joined=(VersionPointer(2, "db/d/t/versions/2", '"e2"'),),
    picked=(3, 5),
    trunk=VersionPointer(4, "db/d/t/versions/4", '"e4"'),
)


def test_state_survives_a_round_trip_in_an_index_of_anyone() -> None:
    theirs = {"definition": {"hash": bytes(32)}, "packed-gc-cursor": "x", "other": 1}
    index = TableIndex("t", user_data=with_state(theirs, STATE))
    actual = TableIndex.decode(index.encode(LOCAL), LOCAL)
    assert state_of(actual.user_data) == STATE
    assert {name: actual.user_data[name] for name in theirs} == theirs
    assert state_of(theirs) is None
    changed = replace(STATE, version=8)
    assert state_of(with_state(actual.user_data, changed)) == changed


@pytest.mark.parametrize("name", sorted(set(STATE.struct()) - {"later"}))
@pytest.mark.parametrize("bad", [None, -1, "", b"", [0], {"x": 1}, 10**18 * 9, True], ids=repr)
def test_members_of_another_type_are_refused_or_harmless(name: str, bad: Any) -> None:
    value = STATE.struct() | {name: bad}
    try:
        actual = VersionState.from_struct(value)
    except (CorruptError, UnsupportedError):
        return
    assert VersionState.from_struct(actual.struct()) == actual


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "a table of format 2"),
        ({"version": 6}, "not before this one"),
        ({"version": "x"}, "invalid version: expected an integer from 0 on, got 'x'"),
        ({"history": [{"version": 1}]}, "a version: at is missing"),
        ({"tags": [1]}, "invalid tags: expected a struct, got a list of 1"),
        ({"version": 0}, "expected 1 or more"),
        ({"history": [past(6).struct(), past(5).struct()]}, "not in ascending order"),
        ({"history": [past(5).struct(), past(5).struct()]}, "not in ascending order"),
        ({"history": [past(3).struct()]}, "out of order"),
        ({"tags": {"a/b": VersionPointer(1, "k", "").struct()}}, "slash"),
        ({"tags": {"12": VersionPointer(1, "k", "").struct()}}, "begins like a number"),
        ({"id": "../x"}, "slash"),
        ({"parent": VersionPointer(7, "k", "").struct()}, "not before it"),
        ({"parent": VersionPointer(6, "../k", "").struct()}, "is no name"),
        ({"shares": {"gha": "fork-web.trial-ABCDEFGH"}}, "no dot"),
        ({"shares": {"a/b.gha": "b"}}, "slash"),
        ({"shares": {"..web": "b"}}, "is no name"),
        ({"shares": {"web.": "b"}}, "is no name"),
        ({"shares": {"web.gha": "../b"}}, "slash"),
        ({"keeps-for": "trial"}, "no dot"),
        ({"transaction": "db/d/t/index"}, "expected the key of a transaction"),
        ({"transaction": "db/d/transactions/../t"}, "is no name"),
        ({"together": [{"index": "db/d/t/data/x", "version": 1}]}, "expected that of an index"),
        (
            {"together": [{"index": "db/d/t/branches/-1/index", "version": 1}]},
            "expected that of an",
        ),
    ],
    ids=str,
)
def test_impossible_states_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises((CorruptError, UnsupportedError), match=message):
        VersionState.from_struct(STATE.struct() | changes)


def test_missing_members_are_told() -> None:
    for name in ("table", "id", "at", "created", "operation", "bytes", "boundary"):
        value = STATE.struct()
        del value[name]
        with pytest.raises(CorruptError, match=f"{name} is"):
            VersionState.from_struct(value)


@settings(max_examples=12, deadline=None)
@given(commits=st.integers(1, 150), listed=st.integers(8, 40))
def test_every_version_of_a_long_history_is_found(commits: int, listed: int) -> None:
    """At most one object is read for it, and the index stays small."""
    store: dict[str, bytes] = {}

    def put(data: bytes) -> str:
        key = f"db/d/t/history-{len(store)}"
        store[key] = data
        return key

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits.USUAL, "listed_versions", listed)
        patched.setattr(limits.USUAL, "inline_versions", 16)
        state = VersionState(bytes(16), 1, "c", 1000, 1000, "create")
        for version in range(2, commits + 2):
            history = (*state.history, past(version - 1))
            state = replace(state, version=version, history=history)
            state = state.spilled(put, lambda ref: store[ref.key])
        assert VersionState.from_struct(state.struct()) == state
    assert len(state.history) < 16
    for version in range(1, commits + 1):
        path = state.place_of(version)
        if isinstance(path, HistoryRef):
            assert path.versions <= listed
            inside = read_history(store[path.key], path)
            path = next(item for item in inside if item.version == version)
        assert path == past(version)
    assert state.place_of(commits + 1) is None
    assert state.place_of(0) is None


def test_damaged_lists_of_versions_are_refused() -> None:
    data = write_history((past(1), past(2)))
    good = etags.of_content([data])
    ref = HistoryRef("db/d/t/history-A", good, 1, 2, 1000, 2000, 2)
    assert read_history(data, ref) == (past(1), past(2))
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 1
        with pytest.raises(CorruptError, match="reading db/d/t/history-A: its content"):
            read_history(bytes(bad), ref)
    with pytest.raises(CorruptError, match=r"expected versions . to"):
        read_history(data, replace(ref, last=3))
    empty = write_history(())
    with pytest.raises(CorruptError, match="an empty list"):
        read_history(empty, replace(ref, etag=etags.of_content([empty])))


def test_content_ids(tmp_path: Path) -> None:
    """The id follows from the digests, and is the same for the same rows."""
    rows = [{"a": n, "text": "x" * 50} for n in range(5000)]
    paths = [tmp_path / "a.zion", tmp_path / "b.zion", tmp_path / "c.zion"]
    for path, taken in zip(paths, (rows, rows, rows[1:]), strict=True):
        sdb.pack(taken, path)
    ids = []
    for path in paths:
        reader = open_read(path)
        try:
            actual = etags.read_content_id(reader)
            assert etags.of_trailer(read_trailer(reader, str(path))) == actual
        finally:
            reader.close()
        assert len(actual) == 32
        ids.append(actual)
    assert ids[0] == ids[1] != ids[2]
    damaged = bytearray(paths[0].read_bytes())
    damaged[40] ^= 1
    paths[1].write_bytes(damaged)
    reader = open_read(paths[1])
    try:
        assert etags.of_trailer(read_trailer(reader, "b")) == ids[0]
        assert etags.read_content_id(reader) != ids[0]
    finally:
        reader.close()
    with pytest.raises(CorruptError, match="not known"):
        etags.content_id([b""], b"x")


def test_the_page_tells_all_members() -> None:
    text = (ROOT / "docs" / "tables.md").read_text()
    state = text.partition("## The state of a version")[2].partition("## Content ids")[0]
    first = [line.split("|")[1] for line in state.splitlines() if line.startswith("| `")]
    reported = {name for cell in first for name in re.findall("`([^`]+)`", cell)}
    assert reported == STATE.struct().keys() - {"later"}
