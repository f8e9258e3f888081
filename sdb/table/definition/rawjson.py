"""JSON of definitions, member by member, with the text of each as it was written.

A definition is identified by its text without white space, in which hints keep whatever numbers and
escapes they were written with; and what is stored is that text, indented.
"""

from __future__ import annotations

from sdb.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = " \t\n\r"
_ESCAPED = {char: f"\\u{ord(char):04x}" for char in ("<", ">", "&", chr(0x2028), chr(0x2029))}
_ESCAPES = str.maketrans(_ESCAPED)


def first(text: str) -> tuple[object, str, str]:
    """Read the first JSON value of a text. Raises `InputError` if it is no JSON."""
    at = _skip(text, 0)
    value, end = _value(text, at)
    return value, text[at:end], text[end:].strip(_SPACE)


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of an object: name, and text of the value.

    * ``text``: The text of an object, which is known to be one.

    Yields: Name and text, in the order of the text; a name may occur twice.
    """
    at = _skip(text, 1)
    while text[at] != "}":
        name, at = _value(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _, end = _value(text, at)
        yield str(name), text[at:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def items(text: str) -> Iterator[str]:
    """Yield the texts of the elements of an array, which is known to be one."""
    at = _skip(text, 1)
    while text[at] != "]":
        _, end = _value(text, at)
        yield text[at:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def compact(text: str) -> str:
    r"""Remove the white space of JSON, and escape what HTML would misread.

    >>> compact('{ "a" : [1.0,  "<b >"] }')
    '{"a":[1.0,"\\u003cb \\u003e"]}'
    """
    return "".join(piece.translate(_ESCAPES) for piece in _tokens(text))


def quoted(text: str) -> str:
    """Return a text as JSON, with the escapes of :func:`compact`."""
    import json

    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def indented(text: str, unit: str) -> str:
    r"""Indent JSON without white space.

    * ``text``: What :func:`compact` gives.

    >>> indented('{"a":[1],"b":{}}', " ")
    '{\n "a": [\n  1\n ],\n "b": {}\n}'
    """
    out: list[str] = []
    depth = 0
    before = ""
    for piece in _tokens(text):
        if piece in {"]", "}"}:
            depth -= 1
            if before not in {"[", "{"}:
                out.append("\n" + unit * depth)
        elif before in {"[", "{", ","}:
            out.append("\n" + unit * depth)
        out.append(": " if piece == ":" else piece)
        depth += piece in {"[", "{"}
        before = piece
    return "".join(out)


def _tokens(text: str) -> Iterator[str]:
    """Cut JSON into strings, marks, and what is between them, without the white space."""
    at = start = 0
    while at < len(text):
        char = text[at]
        if char == '"':
            end = _string_end(text, at)
            yield text[at:end]
            at = start = end
            continue
        if char in "[]{},:" or char in _SPACE:
            if start < at:
                yield text[start:at]
            if char not in _SPACE:
                yield char
            start = at + 1
        at += 1
    if start < at:
        yield text[start:at]


def _string_end(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[object, int]:
    from json import JSONDecoder

    try:
        return JSONDecoder(parse_constant=_no_constant).raw_decode(text, at)
    except RecursionError:
        raise InputError("JSON that is nested too deeply") from None
    except ValueError as error:
        line = text.count("\n", 0, getattr(error, "pos", 0)) + 1
        reason = getattr(error, "msg", str(error))
        raise InputError(f"line {line}: no JSON: {reason}", line=line) from None


def _no_constant(name: str) -> object:
    raise ValueError(f"invalid number {name}")
