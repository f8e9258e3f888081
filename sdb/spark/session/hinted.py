"""Errors in what Spark shows of them: the message and the hint, without the way through sdb."""

from __future__ import annotations

import os
from functools import wraps

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ParamSpec, TypeVar

    _Parameters = ParamSpec("_Parameters")
    _Value = TypeVar("_Value")


def hinted(function: Callable[_Parameters, _Value]) -> Callable[_Parameters, _Value]:
    """Show the hints of errors of a function that Spark calls, and no traceback behind them."""

    @wraps(function)
    def calling(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Value:
        try:
            return function(*args, **kwargs)
        except SdbError as error:
            raise _shown(error) from None

    return calling


def hinted_each(
    function: Callable[_Parameters, Iterator[_Value]],
) -> Callable[_Parameters, Iterator[_Value]]:
    """Show them of errors between what a function yields."""

    @wraps(function)
    def yielding(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Iterator[_Value]:
        try:
            yield from function(*args, **kwargs)
        except SdbError as error:
            raise _shown(error) from None

    return yielding


def _shown(error: SdbError) -> SdbError:
    if error.hint:
        error.add_note(f"hint: {error.hint}")
    return error if os.environ.get("SDB_DEBUG") == "1" else error.with_traceback(None)
