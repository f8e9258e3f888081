"""Writes the table of ready forms of logs in docs/inputs.md: `python -m tests.docs.log_forms`."""

from __future__ import annotations

import re

from sdb import _core, formats
from tests.examples import ROOT

PAGE = ROOT / "docs/inputs.md"
FIRST = "| `text` | anything | `line`: the line as it is, always a text |\n"
LAST = "| `regex:PATTERN` | anything |"
OWN = {"logfmt": "those of the line; a key alone is `true`, a value in quotes a text or a time"}


def rows() -> str:
    """Return the rows of the table, without the first and the last one."""
    lines = []
    for name, goes_on, fields in _core.log_forms():
        listed = OWN.get(name) or ", ".join(f"`{field}`" for field in fields)
        mark = " +" if goes_on else ""
        lines.append(f"| `{name}`{mark} | {formats.get(name).title} | {listed} |\n")
    return "".join(lines)


def written(page: str) -> str:
    """Return the page with the table as it should be."""
    pattern = re.compile(f"({re.escape(FIRST)}).*?({re.escape(LAST)})", re.DOTALL)
    return pattern.sub(lambda match: match[1] + rows() + match[2], page, count=1)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
