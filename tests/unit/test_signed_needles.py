"""Needles with dots, dashes, slashes and signs: found, and by filters of words where these can."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.read.search import search

if TYPE_CHECKING:
    from pathlib import Path

NEEDLES = {
    "guid": "54849625-5478-4994-A5BA-3E3B0328C30D",
    "e-mail": "ada.lovelace@analytical-engine.example",
    "windows path": r"C:\Windows\System32\svchost.exe",
    "path": "/var/lib/postgresql/16/main",
    "url": "https://status.example.org/incidents?id=7",
    "ip": "203.0.113.77",
}


@pytest.fixture(scope="module")
def packfile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("needles") / "x.zion"
    rows = [
        {"text": f"user {number} did action {number % 7}", "pad": f"{number * 2654435761:040x}" * 3}
        for number in range(4000)
    ]
    for number, needle in enumerate(NEEDLES.values()):
        rows[number * 600 + 50]["text"] = f"x={needle};"
    packed = sdb.pack(rows, path, stats="auto,words:text", block_bytes=1 << 16, align_bytes=1 << 15)
    assert len(packed.trailer.blocks) >= 8
    return path


@pytest.mark.parametrize("name", NEEDLES)
def test_needles_are_found(packfile: Path, name: str) -> None:
    needle = NEEDLES[name]
    with sdb.open(packfile) as pack:
        for text in (needle, needle.lower(), needle.upper()):
            rows = list(pack.grep(text, fixed=True, ignore_case=True, fields=["text"]))
            assert [row["text"] for row in rows] == [f"x={needle};"]
            asked = search(text, fixed=True, ignore_case=True, fields=["text"])
            blocks = asked.selection(pack).blocks
            assert len(blocks) <= 2
