"""What is kept of lists that were encoded gives the same bytes as encoding them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import sdb
from sdb import ion
from sdb.packfile.trailer.sparseindex import SparseIndex, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.table.format import limits, state
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.index import EncodedPackfiles, TableIndex
from sdb.table.format.state import VersionState

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NAMES = ("a", "b", "path")


def made(number: int, fields: tuple[str, ...], constants: tuple[str, ...]) -> Descriptor:
    indices = build_indices([{(name,): (number, number + 1) for name in fields}])
    sparse = SparseIndex(1, dict.fromkeys(constants, number), indices)
    trailer = Trailer(1, 100, "zion+zstd", 20, (Block(0, 1),), sparse)
    return Descriptor(f"db/d/t/data/{number}.zion", '"e"', 200 + number, trailer)


names = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)
packfiles = st.lists(st.builds(made, st.integers(0, 300), names, names), max_size=6)


@given(st.data(), packfiles)
def test_the_same_bytes_and_symbols(data: st.DataObject, known: list[Descriptor]) -> None:
    encoded = EncodedPackfiles()
    for _ in range(4):
        listed = data.draw(st.lists(st.sampled_from(known), max_size=9) if known else st.just([]))
        symbols = list(data.draw(st.sampled_from([("path", "x"), ("x",), ()])))
        plain = list(symbols)
        expected = ion.encode([item.struct() for item in listed], plain)
        assert encoded.encode(listed, symbols) == expected
        assert symbols == plain


@given(st.dictionaries(st.text(max_size=200), st.integers() | st.text(max_size=300), max_size=20))
def test_joined_values_are_those_of_a_struct(value: dict[str, object]) -> None:
    value = {name: item if isinstance(item, str) else item % 2**60 for name, item in value.items()}
    table = ["z"]
    together = list(table)
    expected = ion.encode(value, together)
    ion.encode(dict.fromkeys(value), table)
    parts = [ion.encode(item, table) for item in value.values()]
    assert ion.joined_struct(dict(zip(value, parts, strict=True)), table) == expected
    assert ion.joined_list(parts) == ion.encode(list(value.values()), table)


def test_what_is_remembered_is_what_would_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.USUAL, "inline_packfiles", 4)
    monkeypatch.setattr(limits.USUAL, "inline_versions", 4)
    (tmp_path / "in").mkdir()
    db = sdb.connect(tmp_path)
    db.create("d.t", "in/*.json")
    for number in range(8):
        (tmp_path / f"in/{number}.json").write_text('{"a": 1}\n' if number % 3 else "{")
        db.sync("d.t")
        db.append("d.t", [{"at": "2026-01-01T00:00:00Z"}], txn_id=f"id-{number}", message="why")
        handle = db.table("d.t").handle
        read = TableIndex.decode(handle.data, handle.root.keyring)
        assert handle.index == read
        assert handle.state == VersionState.from_struct(read.user_data[state.MEMBER])
