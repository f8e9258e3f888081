"""Arguments by which methods of packfiles choose rows, for type checkers and editors alone.

This module is never loaded by a running program.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict


class RowChoice(TypedDict, total=False):
    """Arguments of `Packfile.rows`."""

    fields: Sequence[str] | None
    since: str | datetime | None
    until: str | datetime | None
    time_field: str | Sequence[str] | None
    blocks: str | Sequence[int] | None
    limit: int | None


class SearchChoice(TypedDict, total=False):
    """Arguments of `sdb.grep` without the packfiles."""

    fields: Sequence[str] | None
    fixed: bool
    ignore_case: bool
    invert: bool
    since: str | datetime | None
    until: str | datetime | None
    time_field: str | Sequence[str] | None
    limit: int | None
    strict: bool
