"""The exceptions themselves."""

from __future__ import annotations

import copy
import pickle

import pytest

from sdb.errors import CorruptError, NotFoundError, SdbError
from sdb.table.commit.change import TransactionDoneError
from sdb.table.commit.coordinator import InTransactionError


def test_messages_are_one_line() -> None:
    error = CorruptError('unexpected field "a\r\n\u2028é"')
    assert str(error) == r'unexpected field "a\r\n\u2028é"'
    assert error.args == (error.message,)


@pytest.mark.parametrize("kind", SdbError.__subclasses__())
def test_every_class_has_its_exit_code(kind: type[SdbError]) -> None:
    assert kind.exit_code in range(2, 10)


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError("a", hint="b", path="c"),
        InTransactionError("key", "seen"),
        TransactionDoneError({"id": 3}),
    ],
)
def test_copies_are_alike(error: SdbError) -> None:
    for one in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - made here
        assert type(one) is type(error)
        assert (str(one), one.args, vars(one)) == (str(error), error.args, vars(error))
