"""Writes docs/api.md from the docstrings of the public API: `python -m tests.docs.api`."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

import sdb
from tests.examples import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = ROOT / "docs/api.md"
WIDTH = 100
# Public for other modules of the package.
INTERNAL = {
    "block_count",
    "blame",
    "handle",
    "known",
    "for_core",
    "texts",
    "of_whole_rows",
    "place_block",
    "pruned",
    "reader",
    "reasons",
    "select",
    "selected_rows",
    "verify",
}
# Other defaults are hooks, such as clocks and progress bars.
PLAIN = (str, int, float, tuple, type(None))
NOT_RUN = "# not run: needs a bucket"
# In the order in which the examples run, one after the other.
SECTIONS = {
    "Packfiles": ["pack", "Times", "open", "Packfile", "append", "concat", "unpack", "grep"],
    "Facts about packfiles": ["describe", "fields", "field_stats", "validate"],
    "Queries": ["sql", "Result", "register", "cached", "clear_cache"],
    "Pieces for other processes": ["splits", "Splits", "Split"],
    "Tables": ["connect", "execute", "Connection", "Table"],
    "Stores": ["diagnose"],
}
HEAD = """\
# The Python API

`python -m tests.docs.api` writes this page from the docstrings; a test compares the two.
The examples run in a folder with `testdata` of this repository, one after the other.
What commands do in detail is in [cli.md](cli.md), the language of queries in [sql.md](sql.md),
tables in [tables.md](tables.md), Spark in [spark.md](spark.md).

`import sdb` loads nothing else; each name loads its module when it is first used.
Paths may be `s3://bucket/key` everywhere.
Results such as `PackResult` are immutable records; `help(result)` lists their fields.
"""
ERRORS_HEAD = """\
## Errors

All errors are subclasses of `sdb.errors.SdbError`, with a message of one line, a `hint` what to do,
and the `path` (`offset`, `line`) at fault.
Each class has the `exit_code` of the command line, and is also the builtin exception that fits.
Warnings are `sdb.errors.SdbWarning`.

```python
>>> try:
...     sdb.open("missing.zion")
... except sdb.errors.NotFoundError as error:
...     print(error, error.exit_code)
opening missing.zion: no such file or directory 3
```

| class | exit code | also | meaning |
|---|---|---|---|
"""
_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([\w.]+)`")
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[^a-z])")


def text_of(text: str) -> str:
    """Return text of a docstring as Markdown."""
    text = _ROLE.sub(lambda match: f"`{match[1]}`", text)
    return text.replace("``", "`")


def lines_of(text: str, indent: str = "") -> Iterator[str]:
    """Iterate over the lines of a paragraph: one sentence on each, or several of a long one."""
    for sentence in _SENTENCE.split(" ".join(text_of(text).split())):
        yield from textwrap.wrap(
            sentence,
            WIDTH - len(indent),
            break_long_words=False,
            break_on_hyphens=False,
        )


def paragraphs_of(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield from lines_of(paragraph)
        yield ""


def sections_of(docstring: str) -> tuple[str, dict[str, str]]:
    """Split a docstring in its head and its NumPy sections."""
    head, *rest = _HEADING.split(docstring)
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def items_of(text: str) -> Iterator[tuple[str, str]]:
    """Iterate over the entries of a section: what stands at the margin, and the text below it."""
    for block in re.split(r"\n(?=\S)", text.strip()):
        name, _, content = block.partition("\n")
        yield name, textwrap.dedent(content)


def list_of(section: str, text: str) -> Iterator[str]:
    yield f"{section}:"
    yield ""
    for name, content in items_of(text):
        names, _, kind = name.partition(" : ")
        shown = ", ".join(f"`{part}`" for part in names.split(", "))
        lead = f"{shown} ({text_of(kind)})" if kind else shown
        first, *more = lines_of(f"{lead}: {content}" if content else lead, "  ")
        yield f"* {first}"
        yield from (f"  {line}" for line in more)
    yield ""


def default_of(value: object) -> str:
    return value.__name__ if callable(value) else repr(value)


def signature_of(name: str, function: Callable[..., Any], *, is_method: bool) -> str:
    """Return a call as it is written, without types, which the list of parameters has."""
    parts, has_star = [], False
    for parameter in list(inspect.signature(function).parameters.values())[is_method:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            parts.append("*")
            has_star = True
        text = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        if parameter.default is not parameter.empty:
            text += f"={default_of(parameter.default)}"
        parts.append(text)
    returned = inspect.signature(function).return_annotation
    end = f") -> {returned}"
    line = f"{name}({', '.join(parts)}{end}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(parts) + f",\n{end}"


def options_of(function: Callable[..., Any], docstring: str) -> Iterator[str]:
    """Iterate over lines that list the options of a method that passes them on."""
    taken = inspect.signature(function).parameters
    role = re.search(r":func:`(sdb\.table[\w.]+)`", docstring)
    if role is None or not any(option.kind is option.VAR_KEYWORD for option in taken.values()):
        return
    module, _, name = role[1].rpartition(".")
    target = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    options = [
        f"`{option.name}={default_of(option.default)}`"
        for option in target.values()
        if isinstance(option.default, PLAIN) and option.name not in taken
    ]
    if options:
        yield from lines_of(f"Options: {', '.join(options)}.")
        yield ""


def example_of(text: str) -> Iterator[str]:
    yield "```python"
    yield from text.strip().replace("# doctest: +SKIP", NOT_RUN).splitlines()
    yield "```"
    yield ""


def body_of(docstring: str) -> Iterator[str]:
    head, sections = sections_of(docstring)
    yield from paragraphs_of(head)
    for name in ("Parameters", "Attributes", "Returns", "Yields", "Raises"):
        if name in sections:
            yield from list_of(name, sections[name])
    if "Examples" in sections:
        yield from example_of(sections["Examples"])


def function_of(name: str, function: Callable[..., Any], *, is_method: bool = False) -> list[str]:
    docstring = inspect.getdoc(function) or ""
    lines = ["```text", signature_of(name, function, is_method=is_method), "```", ""]
    lines += list(body_of(docstring))
    return lines + list(options_of(function, docstring))


def class_of(name: str, kind: type) -> Iterator[str]:
    yield from body_of(inspect.getdoc(kind) or "")
    kinds = [base for base in kind.__mro__ if base.__module__.startswith("sdb.")]
    members = {key: value for base in reversed(kinds) for key, value in vars(base).items()}
    for key in [key for key in members if key.startswith("_") or key in INTERNAL]:
        del members[key]
    properties = {key: value for key, value in members.items() if isinstance(value, property)}
    if properties:
        yield "Attributes:"
        yield ""
        for key, value in properties.items():
            head, sections = sections_of(inspect.getdoc(value) or "")
            first, *more = lines_of(f"`{key}`: {head}", "  ")
            yield f"* {first}"
            yield from (f"  {line}" for line in more)
            if "Examples" in sections:
                yield ""
                yield from example_of(sections["Examples"])
        yield ""
    for key, value in members.items():
        if callable(value):
            yield f"#### {name}.{key}"
            yield ""
            yield from function_of(f"{name.lower()}.{key}", value, is_method=True)


def errors_of() -> Iterator[str]:
    kinds = [kind for kind in vars(sdb.errors).values() if inspect.isclass(kind)]
    for kind in kinds:
        if issubclass(kind, sdb.errors.SdbError):
            also = next(
                (b.__name__ for b in kind.__mro__[1:-3] if hasattr(builtins, b.__name__)), ""
            )
            meaning = text_of((inspect.getdoc(kind) or "").partition("\n")[0])
            shown = f"`{also}`" if also else ""
            yield f"| `{kind.__name__}` | {kind.exit_code} | {shown} | {meaning} |"


def page() -> str:
    """Return the page."""
    lines = [HEAD]
    for section, names in SECTIONS.items():
        links = ", ".join(f"[`sdb.{name}`](#sdb{name.lower()})" for name in names)
        lines.append(f"* {section}: {links}")
    lines += ["* [Errors](#errors)", ""]
    for section, names in SECTIONS.items():
        lines += [f"## {section}", ""]
        for name in names:
            value = getattr(sdb, name)
            lines += [f"### sdb.{name}", ""]
            is_class = inspect.isclass(value)
            lines += class_of(name, value) if is_class else function_of(f"sdb.{name}", value)
    return "\n".join(lines) + "\n" + ERRORS_HEAD + "\n".join(errors_of()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
