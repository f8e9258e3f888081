"""Hints of errors in what Spark shows of them: the traceback, with its notes."""

from __future__ import annotations

from functools import wraps

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    _Parameters = ParamSpec("_Parameters")
    _Value = TypeVar("_Value")


def hinted(function: Callable[_Parameters, _Value]) -> Callable[_Parameters, _Value]:
    """Show the hints of errors of a function that Spark calls."""

    @wraps(function)
    def calling(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Value:
        try:
            return function(*args, **kwargs)
        except SdbError as error:
            if error.hint:
                error.add_note(f"hint: {error.hint}")
            raise

    return calling
