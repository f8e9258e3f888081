"""The exceptions themselves."""

from __future__ import annotations

import pytest

from sdb.errors import CorruptError, SdbError


def test_messages_are_one_line() -> None:
    error = CorruptError('unexpected field "a\r\n\u2028é"')
    assert str(error) == r'unexpected field "a\r\n\u2028é"'
    assert error.args == (error.message,)


@pytest.mark.parametrize("kind", SdbError.__subclasses__())
def test_every_class_has_its_exit_code(kind: type[SdbError]) -> None:
    assert kind.exit_code in range(2, 10)
