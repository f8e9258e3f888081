"""Patterns of keys, for stores without folders, which match whole keys.

``*`` and ``?`` match anything but ``/``, ``**`` matches that too, ``[abc]`` one of these
characters. Of local files :mod:`sdb.store.local.globbing` knows more.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"\*\*/|\*+|\?|\[(!?)([^\]]+)\]|.", re.DOTALL)


def has_magic(key: str) -> bool:
    """Return whether a key has characters of patterns."""
    return _MAGIC.search(key) is not None


def literal_start(key: str) -> str:
    """Return what each key begins with that a pattern matches."""
    magic = _MAGIC.search(key)
    return key[: magic.start()] if magic else key


def matcher(start: str, pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a pattern matches a URL."""
    expression = re.compile(re.escape(start) + _expression(pattern), re.DOTALL)
    return lambda url: expression.fullmatch(url) is not None


def _expression(pattern: str) -> str:
    parts = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "**/":
            parts.append("(?:.*/)?")
        elif text.startswith("*"):
            parts.append("[^/]*" if text == "*" else ".*")
        elif text == "?":
            parts.append("[^/]")
        elif token[2]:
            characters = re.escape(token[2]).replace(r"\-", "-")
            parts.append(f"[{'^' if token[1] else ''}{characters}]")
        else:
            parts.append(re.escape(text))
    return "".join(parts)
