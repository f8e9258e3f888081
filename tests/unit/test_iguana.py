from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import _core
from sdb.errors import CorruptError


@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(1, 20))
def test_buffers_round_trip(pieces: list[bytes], times: int) -> None:
    data = b"".join(pieces) * times
    packed = _core.iguana_compress(data)
    assert _core.iguana_decompress(packed, len(data)) == data


def test_limit_and_damage_are_errors_and_the_next_buffer_is_fine() -> None:
    data = b"one two three " * 1000
    packed = _core.iguana_compress(data)
    with pytest.raises(CorruptError, match="allowed"):
        _core.iguana_decompress(packed, len(data) - 1)
    with pytest.raises(CorruptError):
        _core.iguana_decompress(packed[1:], len(data))
    assert _core.iguana_decompress(packed, len(data)) == data
