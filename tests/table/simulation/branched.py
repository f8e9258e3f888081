"""What actors of the simulation were told: those who branch, those with many tables, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter


class Branching:
    """What those who tag, branch and merge were told."""

    def __init__(self) -> None:
        self.tags: dict[str, int | None] = {}
        self.intended: dict[str, str] = {}
        self.acknowledged: dict[str, str] = {}
        self.merged: set[str] = set()
        self.deletions = 0


class Lines:
    """What those who work with several branches were told."""

    def __init__(self) -> None:
        self.is_chosen = False
        self.has_races = False
        self.partial: set[str] = set()
        self.acknowledged: set[str] = set()
        self.begun: set[str] = set()
        self.merged = 0
        self.bases_gone = 0


class Joint:
    """What those who carry out transactions over several tables were told, and what was read."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        self.pairs: set[str] = set()
        self.reads: list[dict[str, Counter[str]]] = []


class Made:
    """What those who make a table, or drop it, were told."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.refused: set[str] = set()
        self.passed_over: set[str] = set()
        self.unknown: set[str] = set()


class Appended:
    """What threads that append together were told, by their rows."""

    def __init__(self) -> None:
        self.versions: dict[str, set[int]] = {}
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
