"""What those who tag, branch and merge in the simulation were told."""

from __future__ import annotations


class Branching:
    """What those who tag, branch and merge were told."""

    def __init__(self) -> None:
        self.tags: dict[str, int | None] = {}
        self.intended: dict[str, str] = {}
        self.acknowledged: dict[str, str] = {}
        self.merged: set[str] = set()
