"""The exceptions themselves."""

from __future__ import annotations

import copy
import pickle

import pytest

from sdb.errors import CorruptError, ExhaustedError, NotFoundError, SdbError
from sdb.table.commit.change import TransactionDoneError
from sdb.table.commit.coordinator import InTransactionError
from sdb.table.upkeep.budget import StoppedError


def test_messages_are_one_line() -> None:
    error = CorruptError('unexpected field "a\r\n\u2028é"')
    assert str(error) == r'unexpected field "a\r\n\u2028é"'
    assert error.args == (error.message,)


@pytest.mark.parametrize("kind", SdbError.__subclasses__())
def test_every_class_has_its_exit_code(kind: type[SdbError]) -> None:
    # Lack of memory or room, and being stopped, are no faults of the input.
    assert kind.exit_code in range(2, 10) or kind in {ExhaustedError, StoppedError}


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError("a", hint="b", path="c"),
        InTransactionError("key", "seen"),
        TransactionDoneError({"id": 3}),
    ],
)
def test_copies_are_alike(error: SdbError) -> None:
    for item in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - made here
        assert type(item) is type(error)
        assert (str(item), item.args, vars(item)) == (str(error), error.args, vars(error))
