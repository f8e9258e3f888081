"""Packfiles in which rows change, against the same changes on a list of rows."""

from __future__ import annotations

import io
from contextlib import ExitStack
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import ion
from sdb.errors import UsageError
from sdb.packfile.inspect.validate import validate
from sdb.packfile.rewrite.rewrite import RowChanges, rewritten
from tests.amounts import usual

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["a", "b", "c", "", "$10", "t"]
TIME = ion.instant_from_us(1_700_000_000_123_456)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.just(TIME)
    | st.integers(0, 40).map(lambda minutes: ion.instant_from_us(minutes * 60_000_000)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
ROW = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5)
PATHS = [("a",), ("b", "c"), ("b", "x", "y"), ("new",)]
ABSENT = object()


class _Draft(io.BytesIO):
    def copy_range(self, source: Any, start: int, stop: int) -> None:
        self.write(source.read(start, stop))


def _set(row: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    """Set a value as SQL's UPDATE does; what is no struct can have no fields."""
    *above, name = path
    for step in above:
        if row.get(step) is None:
            if value is ABSENT:
                return
            row[step] = {}
        row = row[step]
        if not isinstance(row, dict):
            raise TypeError
    if value is ABSENT:
        row.pop(name, None)
    else:
        row[name] = value


@settings(max_examples=usual(60), deadline=None)
@given(
    rows=st.lists(ROW, min_size=1, max_size=60),
    algorithm=st.sampled_from(["zion+zstd", "zstd", "zion+iguana_v0"]),
    block_bytes=st.sampled_from([512, 2048, 1 << 20]),
    constants=st.sampled_from([{}, {"k": "v"}]),
    data=st.data(),
)
def test_as_on_a_list_of_rows(
    rows: list[dict[str, Any]],
    algorithm: str,
    block_bytes: int,
    constants: dict[str, object],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder: Path = tmp_path_factory.mktemp("rewriting")
    location = folder / "old.zion"
    sdb.pack(
        rows,
        location,
        algorithm=algorithm,
        align_bytes=1024,
        block_bytes=block_bytes,
        constants=constants or None,
        time_fields=[("t",)],
    )
    fates = data.draw(
        st.lists(st.sampled_from("kkkdu"), min_size=len(rows), max_size=len(rows)), "fates"
    )
    dropped = [number for number, fate in enumerate(fates) if fate == "d"]
    changed = [number for number, fate in enumerate(fates) if fate == "u"]
    paths = data.draw(
        st.lists(st.sampled_from(PATHS), unique=True, min_size=1, max_size=3), "paths"
    )
    values = {number: [data.draw(VALUES | st.just(ABSENT)) for _ in paths] for number in changed}
    stream = b"".join(
        ion.dumps(
            {"row": number}
            | {str(at): field for at, field in enumerate(values[number]) if field is not ABSENT}
        )
        for number in changed
    )
    wanted = deepcopy([dict(constants) | row for row in rows])
    changes = RowChanges(
        np.array(dropped, np.int64), np.array(changed, np.int64), stream, tuple(paths)
    )
    if not (dropped or changed):
        return
    with sdb.open(location) as pack, ExitStack() as stack:
        try:
            for number in changed:
                for path, value in zip(paths, values[number], strict=True):
                    _set(wanted[number], path, value)
        except TypeError:
            with pytest.raises(UsageError, match="no struct"):
                rewritten(pack, changes, stack)
            return
        actual = rewritten(pack, changes, stack)
        wanted = [row for row, fate in zip(wanted, fates, strict=True) if fate != "d"]
        assert (actual.rows_before, actual.rows_after) == (len(rows), len(wanted))
        if not wanted:
            assert actual.trailer is None
            return
        draft = _Draft()
        draft.write(pack.reader.read(0, actual.kept_bytes))
        actual.write(draft)  # type: ignore[arg-type]
    new = folder / "new.zion"
    new.write_bytes(draft.getvalue())
    report = validate(new)
    assert not report.findings, report.findings
    with sdb.open(new) as pack:
        assert [repr(_sorted(row)) for row in pack.rows()] == [repr(_sorted(row)) for row in wanted]
        assert pack.trailer == actual.trailer
        reported = pack.trailer.sparse.presence()
        assert reported is not None
        assert {path: field.rows for path, field in reported.fields.items() if len(path) == 1} == {
            (name,): count
            for name in {name for row in wanted for name in row}
            if (count := sum(name in row for row in wanted))
        }
        provenance = pack.trailer.sparse.provenance()
        assert provenance is not None
        assert sum(field.rows for field in provenance.origins) == len(wanted)


def _sorted(value: object) -> object:
    """Return a value with the fields of structs in the order of their names."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value
