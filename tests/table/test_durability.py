"""The order in which a commit flushes: what the index leads to outlives a crash if it does."""
# ruff: noqa: PTH115, PTH116 - calls of the system are watched

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def _opened(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


class Disk:
    """Knows the names that a crash of the machine would take away."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: set[tuple[str, str]] = set()
        self.contents: set[int] = set()
        self.indexes = 0
        for name in ("link", "rename", "fsync", "mkdir"):
            patch.setattr(os, name, getattr(self, name)(getattr(os, name)))

    def _put(self, folder: str, source: str, name: str) -> None:
        if name == "index":
            ahead = self.names - {(folder, source)}
            assert not ahead, f"the index is there before {ahead}"
            self.indexes += 1

    def link(self, good: Any) -> Any:
        def link(source: str, name: str, *, dst_dir_fd: int, **options: Any) -> None:
            folder = _opened(dst_dir_fd)
            assert os.stat(source).st_ino in self.contents, f"{name} is there before its content"
            self._put(folder, source, name)
            good(source, name, dst_dir_fd=dst_dir_fd, **options)
            self.names.add((folder, name))

        return link

    def rename(self, good: Any) -> Any:
        def rename(source: str, name: str, *, dst_dir_fd: int, **options: Any) -> None:
            folder = _opened(dst_dir_fd)
            self._put(folder, source, name)
            good(source, name, dst_dir_fd=dst_dir_fd, **options)
            self.names.discard((folder, source))
            self.names.add((folder, name))

        return rename

    def mkdir(self, good: Any) -> Any:
        def mkdir(path: str, *rest: Any, **options: Any) -> None:
            good(path, *rest, **options)
            above, name = os.path.split(path)
            self.names.add((above, name))

        return mkdir

    def fsync(self, good: Any) -> Any:
        def fsync(fd: int) -> None:
            good(fd)
            self.contents.add(os.fstat(fd).st_ino)
            folder = _opened(fd)
            self.names = {name for name in self.names if name[0] != folder}

        return fsync


def test_nothing_is_ahead_of_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text('{"a": 1}\n')
    db = sdb.connect(tmp_path)
    db.create("d.t", "in/*.json")
    disk = Disk(monkeypatch)
    for number in range(3):
        db.append("d.t", [{"a": number}])
        assert not disk.names, "an answer before all is flushed"
    db.sync("d.t")
    assert not disk.names
    assert disk.indexes == 4
    assert len(db.sql("SELECT * FROM d.t").to_arrow()) == 4
