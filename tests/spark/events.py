"""Made-up events, the same whenever they are made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sdb
from sdb import instants

if TYPE_CHECKING:
    from pathlib import Path

START_US = instants.parse("2026-01-01T00:00:00Z")
STEP_US = 60_000_000
TYPES = ("PushEvent", "WatchEvent", "IssuesEvent", "ForkEvent", "CreateEvent")


def event(number: int) -> dict[str, Any]:
    """Make an event; its time grows with its number."""
    kind = TYPES[number * 7 % len(TYPES)]
    row: dict[str, Any] = {
        "id": number,
        "type": kind,
        "public": number % 3 != 0,
        "created_at": instants.text(START_US + number * STEP_US),
        "actor": {"id": number * 31 % 97, "login": f"user{number * 31 % 97}"},
        "repo": {"name": f"org/repo{number % 50}"},
        "payload": {"pad": f"{number * 2654435761 % 2**32:08x}" * 8},
    }
    if kind == "PushEvent":
        row["payload"]["size"] = number % 11
        row["payload"]["commits"] = [{"sha": f"{at:04x}"} for at in range(number % 3)]
    if number % 4 == 0:
        row["score"] = number / 8
    if number % 5 == 0:
        row["note"] = number if number % 2 else f"n{number}"
    if number % 9 == 0:
        row["org"] = None
    return row


def make(path: Path, start: int, stop: int, **options: Any) -> Path:
    """Pack some events in small blocks."""
    text = path.with_suffix(".json")
    text.write_text("".join(json.dumps(event(number)) + "\n" for number in range(start, stop)))
    options = {"block_bytes": 1 << 15, "align_bytes": 1 << 13, "overwrite": True} | options
    sdb.pack([text], path, **options)
    return path


def append(path: Path, start: int, stop: int) -> None:
    """Append some events."""
    text = path.with_suffix(".json")
    text.write_text("".join(json.dumps(event(number)) + "\n" for number in range(start, stop)))
    sdb.append(path, [text])
