"""Notes and warnings for users of the program.

Notes say what was left out although it changes no answer; they are dropped by default. Warnings
say what may mislead or takes long: they are those of :mod:`warnings`, unless a hearer is set. What
developers and operators want to see is in :mod:`sdb.log`.
"""

from __future__ import annotations

from _contextvars import ContextVar  # contextvars is a module in Python, which takes longer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MOST_SEEN = 10_000
_MOST_NAMES = 8  # of inputs in one message
_OURS = frozenset({"sdb", "contextlib"})  # the latter calls what is ours behind a `with`
_listeners: list[tuple[Callable[[str], None], bool]] = []
_hearers: list[Callable[[str], None]] = []
_own: ContextVar[list[str] | None] = ContextVar("own", default=None)


def listen(listener: Callable[[str], None], *, details: bool = True) -> None:
    """Pass every further note to a function, once each.

    * ``details``: Whether it wants all notes, or those alone that tell of work nobody asked for by
      name.
    """
    _listeners.append((_once(listener), details))


def hear(hearer: Callable[[str], None]) -> None:
    """Pass every further warning to a function, once each, instead of to :mod:`warnings`.

    * ``hearer``: Takes a line of text. It takes the place of the one before.
    """
    _hearers[:] = [_once(hearer)]


def _once(function: Callable[[str], None]) -> Callable[[str], None]:
    seen: set[str] = set()

    def once(text: str) -> None:
        if len(seen) >= _MOST_SEEN:
            seen.clear()
        if text not in seen:
            seen.add(text)
            function(text)

    return once


def tell(text: str, *, is_detail: bool = True) -> None:
    """Pass a note to all who listen, or to those alone who want details."""
    for listener, details in _listeners:
        if details or not is_detail:
            listener(text)


def warn(text: str) -> None:
    """Warn the user of the program.

    Issues `SdbWarning` with it, unless a listener takes it, as the command line does.
    """
    own = _own.get()
    if own is not None:
        if text not in own and len(own) < _MOST_SEEN:
            own.append(text)
        return
    if _hearers:
        _hearers[0](text)
        return
    import warnings

    from sdb.errors import SdbWarning

    warnings.warn(text, SdbWarning, stacklevel=_outside())


class unheard:  # noqa: N801 - used as a function
    """Drop the warnings of a part of the work that says nothing of the whole."""

    # A class, since start-up does without `contextlib`.
    def __enter__(self) -> None:
        """Stop the warnings."""
        self._before = _hearers[:]
        _hearers[:] = [lambda _: None]

    def __exit__(self, *_: object) -> None:
        """Restore the receivers of warnings."""
        _hearers[:] = self._before


class heard:  # noqa: N801 - used as a function
    """Return the warnings of a part of the work to who does it, as a list."""

    def __enter__(self) -> list[str]:
        """Begin to collect them."""
        self._before = _hearers[:]
        messages: list[str] = []
        _hearers[:] = [_once(messages.append)]
        return messages

    def __exit__(self, *_: object) -> None:
        """Restore the receivers of warnings."""
        _hearers[:] = self._before


class collected:  # noqa: N801 - used as a function
    """Return the warnings of this thread's part of the work, as a list; others hear their own."""

    def __enter__(self) -> list[str]:
        """Begin to collect them."""
        messages: list[str] = []
        self._token = _own.set(messages)
        return messages

    def __exit__(self, *_: object) -> None:
        """Restore the receivers of warnings."""
        _own.reset(self._token)


def of_each(warnings: Iterable[tuple[str, str]]) -> list[str]:
    """Return warnings of inputs, each once for all inputs whose names stand before the same words.

    * ``warnings``: The name of an input, and what is said of it.

    >>> of_each([("a", "a: no rows"), ("b", "b: cut off"), ("c", "c: no rows"), ("d", "1 of d")])
    ['a, c: no rows', 'b: cut off', '1 of d']
    """
    names: dict[str, list[str]] = {}
    for name, text in warnings:
        words = text.removeprefix(name)
        names.setdefault(words, []).extend([name] if len(words) < len(text) else [])
    return [listed(of) + words for words, of in names.items()]


def listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _outside() -> int:
    """Count the frames from :func:`warn` to the first one that is not of this package."""
    import sys

    level = 1
    frame = sys._getframe(1)  # noqa: SLF001 - what `warnings` counts
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    return level
