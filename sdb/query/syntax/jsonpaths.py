"""Paths into JSON: ``$.a.b[0]``, and what ``->`` and ``->>`` mean."""

from __future__ import annotations

import re
from json import JSONDecodeError, dumps, loads

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.ast import Constant, Expr, Span

# Compiled where a query first needs it: that takes 2 ms.
_STEP = (
    r"""\.([A-Za-z_@\x80-\U0010ffff][\w@$-]*)|\.("(?:[^"\\]|\\.)*")"""
    r"""|\[([0-9]{1,9})\]|\['([^']*)'\]"""
)


def step(sign: str, base: Expr, name: Constant, span: Span) -> Expr:
    """Return the member or element of a value, or its text.

    * ``sign``: ``->`` or ``->>``.
    * ``name``: The name of the member, or the index of the element.

    >>> step("->", ast.Name("x"), "a b", (0, 0)).args[1].value
    '$."a b"'
    >>> step("->>", ast.Name("x"), "$.a.b", (0, 0)).args[1].value
    '$.a.b'
    """
    path = f"[{name}]" if isinstance(name, int) else f".{dumps(name, ensure_ascii=False)}"
    if isinstance(name, str) and is_path(name):
        path = name[1:]
    args = (base, ast.Literal(f"${path}", span=span))
    if isinstance(base, ast.Call) and base.name == "JSON_EXTRACT":
        before = base.args[-1]
        if isinstance(before, ast.Literal) and isinstance(before.value, str):
            args = (base.args[0], ast.Literal(before.value + path, span=span))
    return ast.Call("JSON_EXTRACT" if sign == "->" else "JSON_EXTRACT_STRING", args, span=span)


def is_path(name: str) -> bool:
    """Return whether a name behind an arrow is a path, as DuckDB and SQLite have it.

    >>> is_path("$.a.b"), is_path("$[0]"), is_path("$ref"), is_path("a.b")
    (True, True, False, False)
    """
    return name == "$" or name.startswith(("$.", "$["))


def along(sign: str, base: Expr, path: str, span: Span) -> Expr:
    """Return what stands at a path of PostgreSQL, or its text.

    * ``sign``: ``#>`` or ``#>>``.

    >>> along("#>", ast.Name("x"), "{a,0}", (0, 0)).args[1].value
    '$."a"[0]'
    """
    words = [word.strip().strip('"') for word in path.strip("{} ").split(",")]
    for word in words[:-1] if path.strip("{} ") else ():
        base = step("->", base, int(word) if word.isdecimal() else word, span)
    last = words[-1]
    return step(sign.replace("#", "-"), base, int(last) if last.isdecimal() else last, span)


def steps(path: str) -> list[str | int] | None:
    """Return the steps of a path; None when it is malformed.

    >>> steps('$.a."b c"[0]'), steps("a"), steps("$.a["), steps("$")
    (['a', 'b c', 0], ['a'], None, [])
    """
    if not path.startswith(("$", "/")) and re.fullmatch(r"[\w@-]+", path):
        return [path]
    if not path.startswith("$"):
        return None
    parsed: list[str | int] = []
    at = 1
    while at < len(path):
        match = re.compile(_STEP).match(path, at)
        if match is None:
            return None
        name, quoted, index, other = match.groups()
        if quoted is not None:
            try:
                parsed.append(str(loads(quoted)))
            except JSONDecodeError:
                return None
        else:
            parsed.append(int(index) if index is not None else name if name is not None else other)
        at = match.end()
    return parsed
