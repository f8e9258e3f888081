"""Makes the files of a release, which every later one must read.

`python -m tests.compat.made tests/compat/VERSION` runs once, at the release. Then the folder stays
as it is: what it holds is a promise.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
ALGORITHMS = ("zstd", "zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized")
COUNT = 400
KEPT = [n for n in range(COUNT) if n % 50 != 7]
"""Rows of `web.visits` that no statement has deleted."""


def row(n: int) -> dict[str, Any]:
    """Make row `n`, with a value of each type."""
    return {
        "n": n,
        "at": f"2026-03-{1 + n // 24:02}T{n % 24:02}:30:00.{n:06}Z",
        "page": f"/p/{n % 9}",
        "price": n / 8,
        "ok": n % 3 == 0,
        "none": None,
        "tags": [n, {"x": -n}, "t" * (n % 5)],
        "user": {"id": 2**40 + n, "name": f"user {n % 31} of net-{n % 7}"},
        **({"rare": "needle"} if n == 123 else {}),
    }


def lines(numbers: range) -> str:
    """Return rows as JSON."""
    return "".join(json.dumps(row(n)) + "\n" for n in numbers)


def file_of(algorithm: str) -> str:
    """Return the name of the packfile of an algorithm."""
    return algorithm.translate(str.maketrans("+/", "--")) + ".zion"


def _packfiles(sdb: Callable[..., None]) -> None:
    for algorithm in ALGORITHMS:
        sdb("pack", "--algorithm", algorithm, "-o", file_of(algorithm), "in/a.json", "in/b.json")
    sdb("pack", "--stats", "n,page,words:user.name,rare", "-o", "stats.zion", "in/a.json")
    sdb("pack", "--block-size", "64KiB", "-o", "grown.zion", "in/a.json")
    sdb("append", "grown.zion", "in/b.json")
    sdb("concat", "-o", "joined.zion", "grown.zion", "zion-zstd.zion")


def _table(sdb: Callable[..., None]) -> None:
    sdb("create", "web.visits", "--input", "in/*.json")
    sdb("sync", "web.visits")
    sdb("tag", "web.visits", "whole")
    sdb("exec", "DELETE FROM web.visits WHERE n % 50 = 7")
    sdb("branch", "web.visits", "trial")
    sdb("exec", "UPDATE web.visits@trial SET page = '/none' WHERE n < 10")
    sdb("exec", "CREATE VIEW web.dear AS SELECT n, price FROM web.visits WHERE price >= 49")
    sdb("exec", "CREATE TABLE web.people (id BIGINT, name TEXT)")
    sdb("exec", "INSERT INTO web.people VALUES (1, 'Ada'), (2, 'Bob')")
    sdb("exec", "ALTER TABLE web.people RENAME COLUMN name TO nick")
    sdb(
        "exec",
        "BEGIN; INSERT INTO web.people VALUES (3, 'Eve'); "
        "UPDATE web.visits SET price = 0 WHERE n = 0; COMMIT",
    )


def make(folder: Path) -> None:
    """Write packfiles and a root into a new folder."""
    (folder / "in").mkdir(parents=True)
    (folder / "in/a.json").write_text(lines(range(COUNT // 2)))
    (folder / "in/b.json").write_text(lines(range(COUNT // 2, COUNT)))
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SDB_")}

    def sdb(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "sdb.cli.main", *words],
            cwd=folder,
            env={**plain, "PYTHONPATH": str(ROOT), "SNELLER_BUCKET": str(folder.resolve())},
            check=True,
        )

    _packfiles(sdb)
    _table(sdb)
    shutil.rmtree(folder / "in")  # a clone has other times of files, by which inputs are known


if __name__ == "__main__":
    make(Path(sys.argv[1]))
