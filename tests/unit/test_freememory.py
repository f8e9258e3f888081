"""The memory that a program may take, as the machine, its container and its limits say."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from sdb.query.exec import freememory
from sdb.serve import settings
from sdb.serve.settings import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 9 GB, of which 2 GB are free."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 2000000 kB\n")
    (tmp_path / "statm").write_text("100 10 5 1 0 50 0\n")
    for name, path in {"_MEMINFO": "meminfo", "_OWN_GROUPS": "own", "_OWN_SIZES": "statm"}.items():
        monkeypatch.setattr(freememory, name, str(tmp_path / path))
    monkeypatch.setattr(freememory, "_CGROUPS", str(tmp_path))
    settings._memory_bytes.cache_clear()
    return tmp_path


def grouped(folder: Path, most: str, used: int, *, version: int = 2, stat: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("max", "current") if version > 1 else ("limit_in_bytes", "usage_in_bytes")
    for name, text in zip(names, (most, str(used)), strict=True):
        (folder / f"memory.{name}").write_text(f"{text}\n")
    (folder / "memory.stat").write_text(stat)


def test_a_machine_has_what_is_free(system: Path) -> None:
    assert freememory.default_bytes() == 2_000_000 * 1024 * 4 // 5
    assert freememory.limit_bytes() == 9_000_000 * 1024
    (system / "meminfo").unlink()
    assert freememory.default_bytes() is None
    assert freememory.limit_bytes() is None


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("inside", ["/", "/system.slice/sdb.service", "/of/another/machine"])
def test_the_least_container_counts(system: Path, version: int, inside: str) -> None:
    kinds = "" if version > 1 else "cpu,memory"
    (system / "own").write_text(f"12:devices:/x\n3:{kinds}:{inside}\n")
    root = system if version > 1 else system / "memory"
    grouped(root, str(1 << 30), 512 * MIB, version=version)
    assert freememory.limit_bytes() == 1 << 30
    assert freememory.default_bytes() == 512 * MIB * 4 // 5
    if "slice" in inside:
        stat = f"anon 5\ninactive_file {100 * MIB}\n"
        grouped(root / inside[1:], str(512 * MIB), 200 * MIB, version=version, stat=stat)
        assert freememory.limit_bytes() == 512 * MIB
        # Files that can be read again make room.
        assert freememory.default_bytes() == 412 * MIB * 4 // 5
    grouped(root, "max", 5, version=version)
    grouped(root / "system.slice/sdb.service", "max", 5, version=version)
    assert freememory.limit_bytes() == 9_000_000 * 1024


@pytest.mark.usefixtures("system")
def test_limits_of_the_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_DATA: 700 * MIB}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (limits[kind], -1) if kind in limits else unlimited
    )
    assert freememory.limit_bytes() == 700 * MIB
    pages = 50 * resource.getpagesize()
    assert freememory.default_bytes() == (700 * MIB - pages) * 4 // 5


@pytest.mark.parametrize("limit", [256 * MIB, 512 * MIB, 1 << 30, 8 << 30])
def test_a_server_plans_with_what_its_container_has(system: Path, limit: int) -> None:
    (system / "own").write_text("0::/\n")
    grouped(system, str(limit), 100 * MIB)
    planned = ServerSettings("lake")
    assert planned.query_memory_bytes >= 32 * MIB
    queries = planned.query_memory_bytes * planned.running
    assert queries + planned.kept_bytes + planned.body_bytes <= limit * 4 // 5
    settings._memory_bytes.cache_clear()
