"""Reads the text of queries and statements: from the command line, a file or a pipe."""

from __future__ import annotations

import sys

from sdb.errors import UsageError


def statement_text(sql: str | None, file: str | None, what: str) -> str:
    """Return the text of a query or statement.

    * ``file``: The file that has it; ``-`` is standard input, which is read without either, too.

    Raises
    ------
    UsageError
        None is given, or two, or it is not UTF-8.
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
