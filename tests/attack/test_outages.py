"""A server that fails at any request of a command: the object is the old or the new one."""

from __future__ import annotations

import gzip
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from sdb import open as open_packfile
from sdb import pack
from sdb.store.s3.address import HIDDEN
from tests.attack.harness import SAMPLE, Sdb, batches, dice
from tests.store.conftest import Direct, S3Backend, bucket, direct, endpoint, proxy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.harness import Findings
    from tests.store.proxy import Proxy, Request

__all__ = ["bucket", "direct", "endpoint", "proxy"]  # fixtures

pytestmark = [pytest.mark.s3, pytest.mark.timeout(600)]
VERBS = ("pack", "append", "concat", "unpack", "query", "describe")
FAULTS = ("reset", "403", "400", "500", "503", "lost", "truncated")
ALLOWED = {0, 1, 2, 3, 4, 5, 6, 7, 9}
ATTACKS = 40
FEW = 2


def words(verb: str, target: str, folder: Path) -> list[str]:
    """Return a command that talks to the server."""
    match verb:
        case "pack":
            return [
                "pack",
                "--force",
                "--block-size",
                "2MiB",
                "-o",
                target,
                str(folder / "more.json"),
            ]
        case "append":
            return ["append", "--block-size", "2MiB", target, str(folder / "more.json")]
        case "concat":
            return ["concat", "--force", "-o", target, target, str(folder / "a.zion")]
        case "unpack":
            return ["unpack", "--fmt", "json", target]
        case "query":
            return ["query", "--fmt", "json", f'SELECT id FROM "{target}"']
        case _:
            return ["describe-file", "--json", target]


class Fails:
    """Makes requests fail from a certain one on, for a while or for good."""

    def __init__(self, fault: str, first: int, count: int) -> None:
        self._fault = fault
        self._numbers = range(first, first + count)
        self._counter = itertools.count()

    def __call__(self, _: Request) -> str:
        return self._fault if next(self._counter) in self._numbers else ""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    text = gzip.decompress(SAMPLE.read_bytes())
    (tmp_path / "more.json").write_bytes(text * 2)
    pack([SAMPLE], tmp_path / "a.zion", block_bytes=2 << 20)
    return tmp_path


@dataclass(frozen=True, slots=True)
class Server:
    """An S3 server that fails on demand."""

    bucket: S3Backend
    proxy: Proxy
    direct: Direct


@pytest.fixture
def s3(bucket: S3Backend, proxy: Proxy, direct: Direct) -> Server:
    return Server(bucket, proxy, direct)


def attack(
    sdb: Sdb, s3: Server, files: Path, findings: Findings, count: int, *names: object
) -> None:
    """Run commands whose requests fail."""
    bucket, proxy, direct = s3.bucket, s3.proxy, s3.direct
    chance = dice("outages", *names)
    run = Sdb(sdb.folder, {"AWS_MAX_ATTEMPTS": "2"})
    old = (files / "a.zion").read_bytes()
    key = bucket.prefix + "x"
    known: dict[str, tuple[int, bytes, list[Any]]] = {}
    for _ in range(count):
        verb = chance.choice(VERBS)
        command = words(verb, bucket.at("x"), files)
        if verb not in known:
            known[verb] = _undisturbed(run, command, direct, proxy, key, old)
        requests, out, rows = known[verb]
        # A command that could not reach the server any more left its lock, which others wait for.
        direct.delete(f"{bucket.prefix}{HIDDEN}lock-x")
        fault, first = chance.choice(FAULTS), chance.randrange(requests)
        times = chance.choice([1, 2, 1000])
        direct.put(key, old)
        proxy.choose = Fails(fault, first, times)
        outcome = run(*command)
        proxy.choose = lambda _: ""
        complaints = outcome.complaints(ALLOWED)
        now = _rows(direct.get(key), files)
        before = _rows(old, files)
        if now not in (before, rows):
            complaints.append(f"neither old nor new: {outcome}")
        if outcome.code == 0 and (now != rows or outcome.out != out):
            complaints.append(f"exit code 0, but not done: {outcome}")
        if outcome.code not in {0, 9} and now != before:
            complaints.append(f"done, but an error: {outcome}")
        findings.attacks += 1
        findings.add(
            complaints, None, f"{verb}: {fault} at request {first} of {requests}, {times}x:"
        )
    findings.check()


@pytest.mark.parametrize("batch", batches(3))
def test_outages(sdb: Sdb, s3: Server, files: Path, findings: Findings, batch: int) -> None:
    attack(sdb, s3, files, findings, ATTACKS, batch)


def test_a_few_outages(sdb: Sdb, s3: Server, files: Path, findings: Findings) -> None:
    attack(sdb, s3, files, findings, FEW, "few")


def _undisturbed(
    run: Sdb, command: list[str], direct: Direct, proxy: Proxy, key: str, old: bytes
) -> tuple[int, bytes, list[Any]]:
    """Run a command that meets no fault: how many requests, what it prints, what becomes of it."""
    direct.put(key, old)
    proxy.log.clear()
    outcome = run(*command)
    assert outcome.code == 0, outcome
    return len(proxy.log), outcome.out, _rows(direct.get(key), run.folder)


def _rows(data: bytes, folder: Path) -> list[Any]:
    path = folder / "looked-at.zion"
    path.write_bytes(data)
    with open_packfile(path) as actual:
        return list(actual.rows(fields=["id"]))
