"""Regular expressions: the faults that can be seen without the engine that runs them."""

from __future__ import annotations

import re

from sdb.query.syntax import ast
from sdb.query.syntax.visitor import nodes

CALLS = frozenset({"REGEXP_LIKE", "REGEXP_EXTRACT", "REGEXP_REPLACE"})
"""Functions whose second argument is a regular expression."""

_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_MOST_GROUPS = 9
_ESCAPES = r"(?s)\\(?:[1-7][0-7]|[0afnrtvdDsSwWbBAzCpPQx]|[^A-Za-z0-9\x80-\U0010ffff])"


def fault(pattern: str, *, is_similar: bool = False) -> str | None:
    """Look for a group or a set that is not closed, and for what RE2 does not have.

    * ``pattern``: A regular expression, or the pattern of SIMILAR TO.
    * ``is_similar``: Whether it is the latter, where any character may be escaped.

    >>> fault("(a|b"), fault("a(?=b)"), fault("(a|[)])+")
    ('missing closing ): `(a|b`', 'invalid or unsupported Perl syntax: `(?=`', None)
    """
    depth = at = 0
    while at < len(pattern):
        word = pattern[at]
        if problem := _fault_at(pattern, at, is_similar=is_similar):
            return problem
        if word == "\\":
            at = _escape_end(pattern, at)
        elif word == "[":
            end = _set_end(pattern, at)
            if end is None:
                return f"missing closing ]: `{pattern[at:]}`"
            at = end
        else:
            depth += (word == "(") - (word == ")")
            if depth < 0:
                return f"unexpected ): `{pattern}`"
        at += 1
    return f"missing closing ): `{pattern}`" if depth else None


def groups(pattern: str) -> int:
    r"""Count the groups of a regular expression that `fault` finds nothing wrong with.

    >>> groups("(a)(?:b)(?P<c>[(])"), groups(r"\(a")
    (2, 0)
    """
    count = at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at = _escape_end(pattern, at)
        elif pattern[at] == "[":
            at = _set_end(pattern, at) or at
        elif pattern[at] == "(":
            count += not pattern.startswith("(?", at) or pattern.startswith(("(?P<", "(?<"), at)
        at += 1
    return count


def call_fault(node: ast.Call) -> str | None:
    """Look for what is wrong with the constants of a function of regular expressions.

    * ``node``: A call of one of :data:`CALLS`, with as many arguments as it takes. What is computed
      from constants alone is looked at when it is folded.
    """
    if node.name not in CALLS:
        return None
    pattern = _constant(node.args[1])
    if not isinstance(pattern, str):
        is_computed = pattern is None and not any(
            isinstance(part, ast.Name | ast.Select) for part in nodes(node.args[1])
        )
        if is_computed and not isinstance(node.args[1], ast.Literal):
            return None
        return f"{node.name} takes a constant regular expression"
    if problem := fault(pattern):
        return f"error parsing regexp: {problem}"
    if node.name == "REGEXP_REPLACE":
        return _replacement_fault(node.args, groups(pattern))
    return _group_fault(node.args, groups(pattern))


def _constant(node: ast.Expr) -> ast.Constant:
    return node.value if isinstance(node, ast.Literal) else None


def _group_fault(args: tuple[ast.Expr, ...], count: int) -> str | None:
    group = 0 if len(args) < 3 else _constant(args[2])  # noqa: PLR2004 - with a group
    if type(group) is not int or group < 0:
        return "REGEXP_EXTRACT takes the number of a group, a constant"
    if group > min(count, _MOST_GROUPS):
        return f"REGEXP_EXTRACT: there is no group {group}, of {min(count, _MOST_GROUPS)}"
    return None


def _replacement_fault(args: tuple[ast.Expr, ...], count: int) -> str | None:
    text = _constant(args[2])
    if len(args) > 3 and _constant(args[3]) != "g":  # noqa: PLR2004 - with a flag
        return "REGEXP_REPLACE takes 'g', for all matches, as its last argument"
    if not isinstance(text, str):
        return "REGEXP_REPLACE takes a constant replacement"
    for escape in re.finditer(r"(?s)\\(.?)", text):
        word = escape[1]
        if word != "\\" and not word.isdecimal():
            return "REGEXP_REPLACE: a backslash stands before the number of a group, or another one"
        if word.isdecimal() and int(word) > count:
            return f"REGEXP_REPLACE: there is no group {word}, of {count}"
    return None


def _fault_at(pattern: str, at: int, *, is_similar: bool) -> str | None:
    """Look at one character that is not in a set."""
    word = pattern[at]
    if word == "\\" and at + 1 == len(pattern):
        return "trailing backslash at end of expression: ``"
    if word == "\\" and not (is_similar or re.compile(_ESCAPES).match(pattern, at)):
        return f"invalid escape sequence: `{pattern[at : at + 2]}`"
    if look := next((mark for mark in _LOOK_AROUND if pattern.startswith(mark, at)), None):
        return f"invalid or unsupported Perl syntax: `{look}`"
    before = pattern[at - 1] if at else "|"
    if word in "*+?" and before in "(|" and before + word != "(?":
        return f"missing argument to repetition operator: `{word}`"
    return None


def _escape_end(pattern: str, start: int) -> int:
    """Find the last character of an escape, or of a quotation that starts there."""
    if not pattern.startswith("\\Q", start):
        return start + 1
    end = pattern.find("\\E", start)
    return len(pattern) if end < 0 else end + 1


def _set_end(pattern: str, start: int) -> int | None:
    """Find the bracket that closes a set; one right after the opening stands for itself."""
    at = start + 1 + pattern.startswith("^", start + 1)
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        named = pattern.find(":]", at) if pattern.startswith("[:", at) else -1
        at = named + 1 if named > 0 else at
        at += 2 if pattern[at] == "\\" else 1
    return at if at < len(pattern) else None


def similar(pattern: str) -> str:
    r"""Turn a pattern of SIMILAR TO into a regular expression.

    >>> similar("a.(b|c)%")
    'a\\.(b|c)(?s:.*)'
    """
    out = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        elif char == "[":
            end = pattern.find("]", at + 1)
            if pattern.startswith("^]", at):
                end = pattern.find("]", at + 2)
            end = len(pattern) if end < 0 else end + 1
            out.append(char + pattern[at:end])
            at = end
        else:
            out.append({"%": "(?s:.*)", "_": "(?s:.)"}.get(char) or _escaped(char))
    return "".join(out)


def _escaped(char: str) -> str:
    return char if char in "|*+?{},()" else re.escape(char)
