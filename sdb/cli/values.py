"""Meaning of the values of shared options: roots, times, constants, formats, texts of queries."""

from __future__ import annotations

import os
import sys

from sdb import notes
from sdb.errors import NotFoundError, UsageError, from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from sdb.cli.parameters import Context
    from sdb.table.catalog.root import TableRoot

_TYPED_NAME = r"(?s)(.+):(str|int|float|bool|time)"
_INTEGER = r"-?(0|[1-9]\d*)"
_FLOAT = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_TIME = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?"
_TRUTH = {"true": True, "false": False}
_INT64 = range(-(2**63), 2**64)
_MOST_DIGITS = 30
_MOST_READ = 4000


def table_root(context: Context) -> TableRoot:
    """Return the root of tables: what the command names, or what stands before it, or here."""
    from sdb.table.catalog import root as tableroot

    return tableroot.table_root(context.root, allow_inputs=context.allow_inputs)


def locate(context: Context, path: str) -> str:
    """Return the place of a packfile, which a root may be in front of.

    * ``context``: Where ``--root`` is.

    Returns: The path to open. URLs and absolute paths stand for themselves.
    """
    from sdb.store.url import under

    return str(under(context.root, path))


def content(path: str | None) -> bytes | None:
    """Read a file that an option names, if it does."""
    if path is None:
        return None
    from pathlib import Path

    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise from_os(error, "opening", path) from error


def given(inputs: list[str] | None) -> list[str]:
    """Return inputs of a command; without any, that which a pipe or file brings as its input."""
    if inputs:
        return inputs
    import stat

    try:
        mode = os.fstat(0).st_mode
    except OSError:
        mode = 0
    if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
        return ["-"]
    raise UsageError("no inputs", hint="name files or folders, or send rows through a pipe")


def beside(inputs: list[str]) -> str:
    """Return the packfile that a single input becomes: ``a.zion`` beside ``a.json.gz``.

    Raises `UsageError` if it is not one local file, so that the user has to say; `NotFoundError` if
    the file is not there.
    """
    from sdb import formats
    from sdb.store.url import is_pattern, store_of

    first = inputs[0]
    is_there = None if first == "-" else store_of(first).has(first)
    is_single = len(inputs) == 1 and is_there is not None and not is_pattern(first)
    if not is_single or store_of(first).is_folder(first):
        raise UsageError("no output given", hint="-o PACKFILE; one file needs none")
    if not is_there:
        raise NotFoundError(f"opening {first}: no such file or directory", path=first)
    return f"{formats.stem(first)}.zion"


def suffix(value: str | None) -> str | None:
    """Return a format as the library knows it, without a dot."""
    return value.removeprefix(".") if value else None


def paths(values: list[str] | None) -> list[tuple[str, ...]]:
    """Split paths into their names."""
    return [tuple(path.split(".")) for path in values or []]


def times(mode: str, timezone: str, time_field: list[str] | None) -> dict[str, Any]:
    """Return the arguments of packing that say how times are read."""
    from sdb.times import field, of_fields

    named = time_field or []
    reading = of_fields(mode, timezone, named)
    return {"time_fields": tuple(field(text)[0] for text in named), "times": reading}


def period(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """Return the times that are meant, the same for all that is read, and note what they are."""
    from sdb import instants

    bounds: list[Any] = []
    for what, value in (("since", since), ("until", until)):
        bounds.append(instants.fixed(value))
        if value is not None:
            notes.tell(f"--{what} {value}: {instants.text(instants.parse(bounds[-1]))}")
    return bounds[0], bounds[1]


def names(value: str | None) -> list[str] | None:
    """Split a list of names at its commas."""
    return None if value is None else [name for name in value.split(",") if name]


def constants(assignments: list[str], what: str = "constant") -> dict[str, object]:
    """Read constants.

    * ``assignments``: Each ``NAME=VALUE``, whose type is that of a literal, or ``NAME:TYPE=VALUE``
      with one of the types ``str``, ``int``, ``float``, ``bool`` and ``time``.

    Raises `UsageError` for text of another form, or a name that comes twice.

    >>> constants(["day=3", "ratio=0.5", "id:str=007", "eu=true"])
    {'day': 3, 'ratio': 0.5, 'id': '007', 'eu': True}
    """
    values: dict[str, object] = {}
    if not assignments:
        return values
    import re

    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise UsageError(
                f"{assignment!r} is not a {what}",
                hint=f"{what}s look like region=eu or id:str=7",
            )
        typed = re.fullmatch(_TYPED_NAME, name)
        name, kind = typed.groups() if typed else (name, _infer(text))
        if name in values:
            raise UsageError(f"the {what} {name!r} is given twice")
        values[name] = _convert(f"{what} {name!r}", kind, text)
    return values


def sql_params(assignments: list[str] | None) -> dict[str, object]:
    """Read parameters of SQL: constants, and lists and structures that are written as JSON.

    Raises `UsageError` as `constants` does, or if a value is said to be JSON and is not.

    >>> sql_params(["n=3", "ids=[1, 2]", "name:json=null"])
    {'ids': [1, 2], 'name': None, 'n': 3}
    """
    import json

    values: dict[str, object] = {}
    others = []
    for assignment in assignments or []:
        name, _, text = assignment.partition("=")
        is_json = name.endswith(":json")
        try:
            value = json.loads(text) if is_json or text[:1] in {"[", "{"} else None
        except ValueError:
            if is_json:
                raise UsageError(f"the parameter {name[:-5]!r}: {text!r} is not JSON") from None
            value = None
        if not is_json and (value is None or ":" in name):
            others.append(assignment)
            continue
        name = name.removesuffix(":json")
        if name in values:
            raise UsageError(f"the parameter {name!r} is given twice")
        values[name] = value
    plain = constants(others, "parameter")
    if twice := values.keys() & plain.keys():
        raise UsageError(f"the parameter {min(twice)!r} is given twice")
    return values | plain


def malformed(on_error: str) -> tuple[str, str | None]:
    """Return what becomes of malformed records, and the file that they go to.

    Raises `UsageError` if it is no such choice.

    >>> malformed("keep"), malformed("quarantine:bad.log")
    (('keep', None), ('skip', 'bad.log'))
    """
    action, colon, file = on_error.partition(":")
    if action == "quarantine" and file:
        return "skip", file
    from sdb.packfile.inputs.rawreading import ACTIONS

    if colon or action not in ACTIONS:
        choices = ", ".join(ACTIONS)
        hint = f"it is {choices} or quarantine:FILE"
        raise UsageError(f"unknown choice {on_error!r} for --on-error", hint=hint)
    return action, None


def _infer(text: str) -> str:
    if text in _TRUTH:
        return "bool"
    import re

    if re.fullmatch(_INTEGER, text):
        return "int" if int(text[:_MOST_DIGITS]) in _INT64 else "str"
    if re.fullmatch(_FLOAT, text):
        return "float"
    return "time" if re.fullmatch(_TIME, text) else "str"


def _number(text: str) -> float:
    """Read a float; it is infinite only when it says so."""
    number = float(text)
    if abs(number) == float("inf") and any(letter.isdigit() for letter in text):
        raise OverflowError
    return number


def _convert(what: str, kind: str, text: str) -> object:
    try:
        match kind:
            case "bool":
                return _TRUTH[text]
            case "int":
                return _integer(text)
            case "float":
                return _number(text)
            case "time":
                return _moment(text)
            case _:
                return text
    except _BeyondError:
        raise UsageError(f"the {what}: {text[:_MOST_DIGITS]} is outside -2^63 to 2^64-1") from None
    except OverflowError:
        raise UsageError(f"the {what}: {text!r} is beyond what {kind} can hold") from None
    except (ValueError, KeyError):
        raise UsageError(f"the {what}: {text!r} is not of type {kind}") from None


class _BeyondError(Exception):
    """An integer that packfiles cannot hold."""


def _integer(text: str) -> int:
    # Python refuses to read thousands of digits.
    if len(text) > _MOST_READ or (number := int(text)) not in _INT64:
        raise _BeyondError
    return number


def _moment(text: str) -> datetime:
    from sdb import instants

    return instants.from_us(instants.parse(text))


def statement_text(sql: str | None, file: str | None, what: str) -> str:
    """Return the text of a query or statement.

    * ``file``: The file that has it; ``-`` is standard input, which is read without either, too.

    Raises `UsageError` if none is given, or two, or it is not UTF-8.
    """
    if sql is not None and file is not None:
        raise UsageError(f"give a {what}, or --file with a file that holds one, and not both")
    if sql is not None:
        return sql
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(f"give a {what}", hint="sdb shell takes one after the other")
    name = file or "standard input"
    from pathlib import Path

    from sdb.packfile.inputs.streams import standard_input

    data = standard_input().read() if file in {None, "-"} else Path(file or "").read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 at byte {error.start:,}", path=name) from None


def seconds_of(interval: str, flag: str = "--interval", least: float = 0.1) -> float:
    """Read a time like ``5s``, ``500ms`` or ``2m``; a number alone counts seconds.

    Raises `UsageError` if it is no duration, or not between the least, a tenth of a second as a
    rule, and a day.
    """
    from sdb import durations

    try:
        seconds = durations.seconds(interval, bare=True)
    except UsageError:
        seconds = -1.0
    if not least <= seconds <= 86_400:  # noqa: PLR2004 - as the docstring says
        raise UsageError(f"{flag} {interval!r}", expected="a time like 5s, 500ms or 2m")
    return seconds
