"""Packfiles made to break readers: an error in time, within memory, or rows on which all agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attack import catalogue
from tests.attack.harness import BROKEN_PIPE, MOST_OUTPUT_BYTES, Sdb, batches, dice

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from tests.attack.harness import Findings, Outcome

Case = tuple[str, "Callable[[], bytes]"]
MORE = b'{"a":1,"at":"2024-05-02T00:00:00Z"}\n'
_TRAILERS = 120
_GROUPS = 24


def cases() -> list[Case]:
    """List all crafted files, in a fixed order."""
    groups = (
        catalogue.of_values(),
        catalogue.bombs(),
        catalogue.chunks(),
        catalogue.shapes(),
        catalogue.iguana(),
        catalogue.indexes(),
    )
    return [case for group in groups for case in group]


class Attack:
    """Every command that reads a packfile."""

    def __init__(self, sdb: Sdb, findings: Findings) -> None:
        self.sdb = sdb
        self.findings = findings
        (sdb.folder / "more.json").write_bytes(MORE)

    def __call__(self, name: str, data: bytes, steps: list[str]) -> None:
        path = self.sdb.folder / "x.zion"
        path.write_bytes(data)
        outcomes = {}
        for step in steps:
            outcomes[step] = outcome = self.sdb(*STEPS[step])
            allowed = {*range(10), BROKEN_PIPE} if _is_cut(outcome) else range(10)
            complaints = outcome.complaints(allowed)
            if outcome.code == 0:
                (self.sdb.folder / "out.zion").unlink(missing_ok=True)
            if step == "append":
                changed = path.read_bytes() != data
                complaints += ["changed after an error"] * (changed and outcome.code != 0)
                path.write_bytes(data)
            self.findings.attacks += 1
            self.findings.add(complaints, data, f"{name}: {step}:")
        self.findings.add(_disagreements(outcomes), data, f"{name}:")
        for left in self.sdb.folder.iterdir():
            if left.name not in {"x.zion", "more.json"}:
                self.findings.add([f"left behind: {left.name}"], data, f"{name}:")
                left.unlink()


STEPS = {
    "describe": ["describe-file", "--blocks", "--timeline", "x.zion"],
    "json": ["describe-file", "--json", "x.zion"],
    "validate": ["validate-file", "x.zion"],
    "unpack": ["unpack", "--fmt", "json", "x.zion"],
    "ion": ["unpack", "--fmt", "ion", "x.zion"],
    "since": ["unpack", "--fmt", "json", "--since", "2024-05-01", "x.zion"],
    "arrow": ["unpack", "--fmt", "arrow", "x.zion"],
    "fields": ["unpack", "--fmt", "json", "--fields", "a,b", "x.zion"],
    "head": ["head", "x.zion"],
    "count": ["query", "--fmt", "json", 'SELECT COUNT(*) FROM "x.zion"'],
    "query": ["query", "--fmt", "json", 'SELECT a, b FROM "x.zion" WHERE a > 0'],
    "group": ["query", "--fmt", "json", 'SELECT a, COUNT(*) FROM "x.zion" GROUP BY a'],
    "whole": ["query", "--fmt", "json", 'SELECT * FROM "x.zion"'],
    "append": ["append", "x.zion", "more.json"],
    "concat": ["concat", "-o", "out.zion", "x.zion", "x.zion"],
}


def _is_cut(outcome: Outcome) -> bool:
    return len(outcome.out) == MOST_OUTPUT_BYTES


def _disagreements(outcomes: dict[str, Outcome]) -> Iterator[str]:
    """Compare what the commands say of one file."""
    done = {step: outcome for step, outcome in outcomes.items() if outcome.code == 0}
    if "validate" in done:
        for step in ("unpack", "count"):
            # A row may be sound, and its text far more than any program should print.
            if step in outcomes and step not in done.keys() | _unprintable(outcomes):
                yield f"valid, but {outcomes[step]}"
    if {"unpack", "whole"} <= done.keys() and done["unpack"].out != done["whole"].out:
        yield "unpack and SELECT * differ"
    if {"unpack", "count"} <= done.keys():
        rows = done["unpack"].out.count(b"\n")
        if f": {rows}}}".encode() not in done["count"].out and "validate" in done:
            yield f"{rows} rows, but {done['count'].out!r}"


def _unprintable(outcomes: dict[str, Outcome]) -> set[str]:
    """Return commands that print more text than they may, or than anyone reads."""
    return {
        step
        for step, outcome in outcomes.items()
        if _is_cut(outcome) or "bytes of text, from fewer bytes of symbols" in outcome.err
    }


@pytest.mark.parametrize("group", range(_GROUPS))
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_crafted(sdb: Sdb, findings: Findings, group: int) -> None:
    """Every file, whatever the seed: odd values against some commands, all else against all."""
    attack = Attack(sdb, findings)
    chance = dice("crafted", group)
    odd = {name for name, _ in catalogue.of_values()}
    for name, build in cases()[group::_GROUPS]:
        steps = ["validate", "unpack", *_some(chance)] if name in odd else list(STEPS)
        attack(name, build(), steps)
    findings.check()


@pytest.mark.parametrize("batch", batches(4))
def test_trailers(sdb: Sdb, findings: Findings, batch: int) -> None:
    attack = Attack(sdb, findings)
    chance = dice("trailers", batch)
    for name, build in catalogue.trailers(chance, _TRAILERS // 4):
        attack(name, build(), _some(chance))
    findings.check()


def test_some_crafted(sdb: Sdb, findings: Findings) -> None:
    """A few in the default run."""
    attack = Attack(sdb, findings)
    chance = dice("some")
    small = [case for case in cases() if "0 chunks" not in case[0] and "million" not in case[0]]
    chosen = [*chance.sample(small, 3), *catalogue.trailers(chance, 3)]
    for name, build in chosen:
        attack(name, build(), chance.sample(list(STEPS), 2))
    findings.check()


def test_builders_are_right(sdb: Sdb) -> None:
    """A file that is sound in every part is valid, else the attacks would show nothing."""
    data, trailer = catalogue.sound()
    path = sdb.folder / "x.zion"
    path.write_bytes(catalogue.closed(data, catalogue.stream(trailer)))
    outcome = sdb("validate-file", "x.zion")
    assert outcome.code == 1, "the constants are not in the rows"
    assert "region" in outcome.err
    trailer["sparse"]["consts"] = {}
    path.write_bytes(catalogue.closed(data, catalogue.stream(trailer)))
    outcome = sdb("validate-file", "x.zion")
    assert (outcome.code, outcome.err) == (0, ""), outcome


def _some(chance: random.Random) -> list[str]:
    return chance.sample(list(STEPS), 5)
