"""Damaged packfiles: an error, or the rows of the undamaged one. Never other rows."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from sdb import open as open_packfile
from tests.attack.damage import damaged
from tests.attack.harness import ALGORITHMS, SAMPLE, Sdb, batches, dice, is_same, strays
from tests.conftest import VECTORS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.harness import Findings, Outcome

FILES, QUICK = 12, 2
"""How many damaged files a batch tries."""
COUNT = 'SELECT COUNT(*) FROM "x.zion"'
NAMED = 'SELECT id, n, at FROM "x.zion" WHERE n >= 3'
WHOLE = 'SELECT * FROM "x.zion"'
MORE = b'{"id":"new","n":7,"at":"2024-05-02T00:00:00Z"}\n'
NEW_ROW = b'{"id": "new", "n": 7, "at": "2024-05-02T00:00:00Z"}\n'
"""The same as it is printed."""
ROWS_OF_HEAD = 5
CORRUPT = 6
GOLDEN = [
    *("a08-append-multi", "s01-mono-zstd", "s03-mono-iguana", "s04-mono-iguana-specialized"),
    *("s07-several-fields", "s10-constants", "s17-symtab-too-large", "s18-align-64k"),
    *("d01-basic-iguana", "d17-repeated-strings-zstd", "s22-cloudtrail"),
]


def text() -> bytes:
    """Make rows of every type, real ones among them."""
    rows = gzip.decompress(SAMPLE.read_bytes()).splitlines()[:400]
    values = [None, True, 2**64 - 1, -(2**63), 0.1, 1e300, "x", [1, [2.5, None]], {"d": {"e": ""}}]
    for n in range(2000):
        at = f"2024-05-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.{n % 7}Z"
        row = {"id": f"{n:x}", "n": n % 11, "at": at, "v": values[n % len(values)]}
        row |= {"floats": [n / 100, n / 8], "ints": [n, -n, 0], "pad": f"{n * n:050}" * (n % 9)}
        rows.append(json.dumps(row).encode())
    return b"\n".join(rows) + b"\n"


@dataclass(frozen=True, slots=True)
class Victim:
    """A packfile, and the right answers."""

    data: bytes
    blocks: list[tuple[int, int]]
    answers: dict[str, bytes]
    algorithm: str

    def is_protected(self, step: str, data: bytes, note: str) -> bool:
        """Return whether damage can be seen: by digests of blocks, or by the checksums of zstd.

        Queries read parts of blocks, of which digests tell nothing, and believe the trailer, which
        nothing protects but that it must make sense. Checksums do not tell when whole frames
        stand elsewhere.
        """
        is_query = step.startswith(("query", "count"))
        end = self.blocks[-1][1] if self.blocks else 0
        if is_query and data[:end] == self.data[:end]:
            return False
        if b"digests" in self.data and not is_query:
            return True
        return "iguana" not in self.algorithm and "swapped" not in note


def victim(sdb: Sdb, data: bytes) -> Victim:
    """Ask an undamaged packfile for the right answers."""
    path = sdb.folder / "x.zion"
    path.write_bytes(data)
    with open_packfile(path) as pack:
        ends = [block.offset for block in pack.blocks] + [pack.trailer.offset]
        algorithm = pack.trailer.algorithm
    answers = {}
    for query in (COUNT, NAMED, WHOLE):
        answers[query] = sdb("query", "--fmt", "json", query).out
    rows = sdb("unpack", "--fmt", "json", "x.zion")
    assert rows.code == 0
    path.unlink()
    answers["unpack"] = rows.out
    return Victim(data, list(pairwise(ends)), answers, algorithm)


class Attack:
    """Everything that can be done to a damaged file."""

    def __init__(self, sdb: Sdb, victim: Victim, findings: Findings) -> None:
        self.sdb = sdb
        self.victim = victim
        self.findings = findings
        (sdb.folder / "more.json").write_bytes(MORE)
        (sdb.folder / "good.zion").write_bytes(victim.data)
        self.is_protected = True
        self.known = {"more.json", "good.zion", "x.zion"}

    def __call__(self, step: str, data: bytes, note: str) -> None:
        """Take a step with a damaged file."""
        path = self.sdb.folder / "x.zion"
        path.write_bytes(data)
        self.is_protected = self.victim.is_protected(step, data, note)
        complaints = getattr(self, step)(path)
        complaints += strays(self.sdb.folder, self.known)
        for stray in self.sdb.folder.iterdir():
            if stray.name not in self.known:
                stray.unlink()
        self.findings.add(complaints, data, f"{step}: {note}:")

    def _judged(self, outcome: Outcome, right: bytes, *, part: bool = False) -> list[str]:
        """Compare an answer; of one that ended with an error, a part may have been written."""
        actual = outcome.complaints()
        if outcome.code == 0 and outcome.out != right and self.is_protected:
            actual.append(f"other rows, and exit code 0: {outcome}")
        if outcome.code != 0 and outcome.out and self.is_protected:
            whole = part and right.startswith(outcome.out) and outcome.out.endswith(b"\n")
            if not whole:
                actual.append(f"other rows before the error: {outcome}")
        return actual

    def unpack(self, _: Path) -> list[str]:
        outcome = self.sdb("unpack", "--fmt", "json", "x.zion")
        return self._judged(outcome, self.victim.answers["unpack"], part=True)

    def unpack_to_file(self, folder: Path) -> list[str]:
        target = folder.with_name("out.json")
        outcome = self.sdb("unpack", "-o", target.name, "x.zion")
        if outcome.code:
            return outcome.complaints()
        outcome.out = target.read_bytes()
        target.unlink()
        return self._judged(outcome, self.victim.answers["unpack"])

    def head(self, _: Path) -> list[str]:
        outcome = self.sdb("head", "-n", ROWS_OF_HEAD, "x.zion")
        lines = self.victim.answers["unpack"].splitlines(keepends=True)
        return self._judged(outcome, b"".join(lines[:ROWS_OF_HEAD]), part=True)

    def count(self, _: Path) -> list[str]:
        return self._judged(self.sdb("query", "--fmt", "json", COUNT), self.victim.answers[COUNT])

    def query(self, _: Path) -> list[str]:
        outcome = self.sdb("query", "--fmt", "json", NAMED)
        return self._judged(outcome, self.victim.answers[NAMED], part=True)

    def query_whole(self, _: Path) -> list[str]:
        outcome = self.sdb("query", "--fmt", "json", WHOLE)
        return self._judged(outcome, self.victim.answers[WHOLE], part=True)

    def describe(self, _: Path) -> list[str]:
        return self.sdb("describe-file", "--blocks", "--timeline", "x.zion").complaints()

    def validate(self, path: Path) -> list[str]:
        outcome = self.sdb("validate-file", "x.zion")
        actual = outcome.complaints()
        if outcome.code == 0 and self.is_protected:
            actual += self.unpack(path)
            code = self.sdb("unpack", "--fmt", "json", "x.zion").code
            actual += [f"valid, and cannot be unpacked: exit code {code}"] * (code != 0)
        return actual

    def pack(self, path: Path) -> list[str]:
        outcome = self.sdb("pack", "-o", "out.zion", "x.zion")
        return self._packed(outcome, path.with_name("out.zion"), b"")

    def append(self, path: Path) -> list[str]:
        before = path.read_bytes()
        outcome = self.sdb("append", "x.zion", "more.json")
        actual = outcome.complaints()
        if outcome.code:
            return actual + ["changed after an error"] * (path.read_bytes() != before)
        return actual + self._grown(path, NEW_ROW)

    def append_elsewhere(self, path: Path) -> list[str]:
        outcome = self.sdb("append", "-o", "out.zion", "x.zion", "more.json")
        return self._packed(outcome, path.with_name("out.zion"), NEW_ROW)

    def concat(self, path: Path) -> list[str]:
        outcome = self.sdb("concat", "-o", "out.zion", "x.zion", "good.zion")
        return self._packed(outcome, path.with_name("out.zion"), self.victim.answers["unpack"])

    def _packed(self, outcome: Outcome, path: Path, more: bytes) -> list[str]:
        actual = outcome.complaints()
        if outcome.code:
            return actual
        shutil.move(path, path.with_name("x.zion"))
        return actual + self._grown(path.with_name("x.zion"), more)

    def _grown(self, path: Path, more: bytes) -> list[str]:
        """Compare what was made of a damaged file with what should have become of a good one.

        Blocks that stay are copied as they are, damage included, which is found as before.
        """
        rows = self.sdb("unpack", "--fmt", "json", path.name)
        actual = rows.complaints()
        if self.is_protected:
            right = self.victim.answers["unpack"] + more
            if rows.code == 0 and not is_same(rows.out, right):
                actual.append("other rows in what was made, and exit code 0")
            if rows.code not in {0, CORRUPT}:
                actual.append(f"cannot be read: {rows}")
        return actual


STEPS = [
    *("unpack", "unpack_to_file", "head", "count", "query", "query_whole", "describe"),
    *("validate", "pack", "append", "append_elsewhere", "concat"),
]


def attack(sdb: Sdb, victim: Victim, findings: Findings, *names: object, files: int) -> None:
    """Damage a file in many ways, and try each way on a few commands."""
    try_out = Attack(sdb, victim, findings)
    chance = dice(*names)
    for _ in range(files):
        data, note = damaged(victim.data, chance, victim.blocks)
        for step in chance.sample(STEPS, 4):
            try_out(step, data, note)
            findings.attacks += 1
    findings.check()


def packed(sdb: Sdb, algorithm: str) -> Victim:
    """Pack the rows into several blocks."""
    (sdb.folder / "in.json").write_bytes(text())
    packed = sdb("pack", "-c", algorithm, "--block-size", "1MiB", "-o", "in.zion", "in.json")
    assert packed.code == 0, packed
    data = (sdb.folder / "in.zion").read_bytes()
    for name in ("in.json", "in.zion"):
        (sdb.folder / name).unlink()
    return victim(sdb, data)


@pytest.mark.parametrize("batch", batches(5))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_flips(sdb: Sdb, findings: Findings, algorithm: str, batch: int) -> None:
    attack(sdb, packed(sdb, algorithm), findings, "flips", algorithm, batch, files=FILES)


@pytest.mark.parametrize("algorithm", ["zstd", "zion+iguana_v0"])
def test_a_few_flips(sdb: Sdb, findings: Findings, algorithm: str) -> None:
    attack(sdb, packed(sdb, algorithm), findings, "few", algorithm, files=QUICK)


@pytest.mark.parametrize("batch", batches(1))
@pytest.mark.parametrize("name", GOLDEN)
def test_flips_of_golden_packfiles(sdb: Sdb, findings: Findings, name: str, batch: int) -> None:
    (path,) = (VECTORS / "packfile" / "golden" / name).glob("pack.*")
    attack(sdb, victim(sdb, path.read_bytes()), findings, "golden", name, batch, files=FILES)
