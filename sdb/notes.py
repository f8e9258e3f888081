"""Says what was left out although it changes no answer, to whoever listens: nobody by default."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_listeners: list[Callable[[str], None]] = []


def listen(listener: Callable[[str], None]) -> None:
    """Pass every further note to a function, once each.

    Parameters
    ----------
    listener : callable
        Takes a line of text.
    """
    seen: set[str] = set()

    def once(text: str) -> None:
        if text not in seen:
            seen.add(text)
            listener(text)

    _listeners.append(once)


def tell(text: str) -> None:
    """Pass a note to all who listen."""
    for listener in _listeners:
        listener(text)
