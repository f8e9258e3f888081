"""Lays out rows for reading."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\],:"]+|[,:]')
_INDENT = "  "
_DEEPEST = 64
_RESET = "\x1b[0m"
_KEY, _TEXT, _NUMBER, _WORD = "\x1b[34m", "\x1b[32m", "\x1b[36m", "\x1b[2m"
_CLOSING = {"{": "}", "[": "]"}


class _Node:
    """A value, or a container with the items inside of it."""

    __slots__ = ("deepest", "items", "key", "size", "text")

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        self.text = text
        self.items: list[_Node] | None = None
        self.size = len(key) + len(text)
        self.deepest = 0


def layout(row: str, *, columns: int, color: bool = False) -> str:
    """Break a row of JSON into lines; what fits into one line stays in one.

    * ``row``: The row as `unpack` writes it, NaN and infinities included.
    * ``columns``: Width that lines shall stay within; a long text may exceed it.
    * ``color``: Whether to color keys and values with ANSI sequences.

    >>> print(layout('{"a": 1, "b": [1, 2]}', columns=13))
    {
      "a": 1,
      "b": [1, 2]
    }
    """
    root = _parse(_TOKEN.findall(row))
    if root.deepest > _DEEPEST:
        return row
    return "".join(_render(root, columns, 0, 0, color=color))


def _parse(tokens: list[str]) -> _Node:
    root = _Node("", "")
    stack: list[_Node] = []
    key = ""
    for at, token in enumerate(tokens):
        if token in {",", ":"}:
            continue
        if token in {"}", "]"}:
            node = stack.pop()
        elif token[0] == '"' and tokens[at + 1 : at + 2] == [":"]:
            key = f"{token}: "
            continue
        else:
            node = _Node(key, token)
            key = ""
            if token in _CLOSING:
                node.items = []
                node.size += 1
                stack.append(node)
                continue
        if not stack:
            root = node
        else:
            parent = stack[-1]
            assert parent.items is not None  # noqa: S101
            parent.items.append(node)
            parent.size += node.size + (2 if len(parent.items) > 1 else 0)
            parent.deepest = max(parent.deepest, node.deepest + 1)
    return root


def _render(node: _Node, columns: int, depth: int, after: int, *, color: bool) -> Iterator[str]:
    yield _paint(node.key[:-2], _KEY, color=color) + ": " if node.key else ""
    if node.items is None:
        yield _paint(node.text, _style(node.text), color=color)
        return
    yield node.text
    broken = bool(node.items) and len(_INDENT) * depth + node.size + after > columns
    for at, item in enumerate(node.items):
        last = at + 1 == len(node.items)
        if broken:
            yield "\n" + _INDENT * (depth + 1)
        yield from _render(item, columns if broken else 1 << 62, depth + 1, not last, color=color)
        if not last:
            yield "," if broken else ", "
    if broken:
        yield "\n" + _INDENT * depth
    yield _CLOSING[node.text]


def _style(text: str) -> str:
    if text[0] == '"':
        return _TEXT
    return _WORD if text in {"null", "true", "false"} else _NUMBER


def _paint(text: str, style: str, *, color: bool) -> str:
    return f"{style}{text}{_RESET}" if color else text
