"""Cuts text into statements at semicolons."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|(?:--|\#)[^\n]*|/\*.*?\*/|/\*|;|[^'"`;\-\#/]+|.""",
    re.DOTALL,
)
_OPENS = {"'", '"', "`", "/*"}


def split(text: str) -> tuple[list[str], str]:
    r"""Cut text at semicolons that are not in quotes or comments.

    Returns: What follows on the last one; the text in quotes that are not closed is of it.

    Examples
    --------
    >>> split("SELECT ';' AS a; SELECT 2 -- two; \n")
    (["SELECT ';' AS a"], 'SELECT 2 -- two;')
    """
    statements = []
    start = 0
    for piece in _PIECE.finditer(text):
        if piece.group() in _OPENS:
            break
        if piece.group() == ";":
            statements.append(text[start : piece.start()].strip())
            start = piece.end()
    return [statement for statement in statements if statement], text[start:].strip()


def is_whole(text: str) -> bool:
    r"""Check whether text that is being typed is to be run: it ends with a semicolon or empty line.

    Examples
    --------
    >>> is_whole("SELECT 1;"), is_whole("SELECT 1"), is_whole("SELECT ';"), is_whole("\\d x")
    (True, False, False, True)
    """
    if text.startswith("\\") or not text.strip():
        return True
    statements, rest = split(text)
    return (bool(statements) and not rest) or text.endswith("\n")
