"""Marks by which a writer recognises its own work.

Each object carries the numbers of the last writes that made it, the newest first, as metadata
``sdb-writes``. Whoever does not get an answer to the request that publishes an object looks for its
own number there, and finds it even when others have appended meanwhile.
"""

from __future__ import annotations

import os
from typing import Any

NAME = "sdb-writes"
_MOST = 32


def new_id() -> str:
    """Give the number of a new write."""
    return os.urandom(8).hex()


def ids_of(answer: dict[str, Any]) -> tuple[str, ...]:
    """Give the numbers that the answer to a GET or HEAD has."""
    return tuple(answer.get("Metadata", {}).get(NAME, "").split())


def metadata(write_id: str, before: tuple[str, ...] = ()) -> dict[str, str]:
    """Give the metadata of an object.

    Parameters
    ----------
    write_id : str
        The write that makes it.
    before : tuple of str
        The writes that made the object that it grew from.
    """
    return {NAME: " ".join((write_id, *before)[:_MOST])}
