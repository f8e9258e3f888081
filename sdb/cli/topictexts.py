"""Texts of `sdb help TOPIC`: files in the folder `topics`, which a test runs the examples of."""
# ruff: noqa: PTH118, PTH120, PTH123 - plain strings, which the completion of the shell loads fast

from __future__ import annotations

import os

TOPICS = ("times", "versions", "references", "sql", "s3", "exit-codes", "config")
"""Their names, in the order of the list."""

_FOLDER = os.path.join(os.path.dirname(__file__), "topics")


def text(name: str) -> str:
    """Return the text of a topic."""
    with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
        return file.read()


def summary(name: str) -> str:
    """Return the first line of a topic."""
    return text(name).partition("\n")[0]
