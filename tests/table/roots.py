"""The recorded roots: what the original left behind, step by step."""

from __future__ import annotations

import json
import tarfile
from functools import cache
from typing import TYPE_CHECKING, Any

from sdb.table.format.signature import Keyring
from tests.conftest import VECTORS

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = VECTORS / "table"
LOCAL = Keyring.of_root(is_remote=False)


def vectors(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return facts


@cache
def objects(root: str) -> dict[str, bytes]:
    """Return the objects of a root by key."""
    with tarfile.open(FOLDER / "roots" / f"{root}.tar.gz") as archive:
        return {
            member.name.removeprefix("root/"): file.read()
            for member in archive
            if (file := archive.extractfile(member))
        }


def unpacked(root: str, folder: Path) -> Path:
    """Write the objects of a root into a folder."""
    for key, data in objects(root).items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def recorded() -> list[tuple[str, str]]:
    """Return all roots with their indexes, by name of the root and of the index."""
    names = sorted(path.name for path in (FOLDER / "roots").glob("*.index.json"))
    return [(name.split(".")[0], name) for name in names]
