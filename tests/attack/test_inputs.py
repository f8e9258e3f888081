"""Mutated inputs: an error, or a sound packfile that holds each row that is reported."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING

import pytest
import zstandard

from tests.attack.damage import mangled
from tests.attack.harness import SAMPLE, Sdb, batches, dice, is_same

if TYPE_CHECKING:
    import random

    from tests.attack.harness import Findings

INPUTS = 16
ALLOWED = (0, 2, 6, 8)
KINDS = ("json", "array", "deep", "csv", "tsv", "cloudtrail", "ion", "parquet", "gz", "zst")


def rows(count: int) -> list[dict[str, object]]:
    """Make rows of all types."""
    odd: list[object] = [None, True, "", "x", "é\u2028😀", 2**64 - 1, -(2**63), 0.1, 1e300, -0.0]
    odd += ["2024-05-01T00:00:00Z", "0000-01-01 00:00:00.123456789+01:00", "$0", "$ion", [], {}]
    made: list[dict[str, object]] = []
    for n in range(count):
        value = odd[n % len(odd)]
        row: dict[str, object] = {"id": n, "v": value, "l": [value, [value]], "s": {"": value}}
        row |= {
            f"field {n % 50}": n / 7,
            "at": f"2024-05-01T{n % 24:02}:00:00Z",
            "name": f"{n % 3}",
        }
        made.append(row)
    return made


def lines(made: list[dict[str, object]]) -> bytes:
    """Write rows as NDJSON."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in made)


def sound(kind: str, sdb: Sdb) -> tuple[str, bytes]:
    """Make a sound input: its format as `-f` names it, and its bytes."""
    made = rows(120)
    match kind:
        case "json":
            return "json", lines(made)
        case "array":
            return "json", json.dumps(made, indent=1).encode()
        case "deep":
            return "json", b'{"a":' * 60 + b"[1,2]" + b"}" * 60 + lines(made[:5])
        case "csv" | "tsv":
            out = io.StringIO()
            table = csv.writer(out, delimiter="," if kind == "csv" else "\t")
            table.writerow(["id", "text", "a b", "n,m"])
            odd = ["", "x", 'say "hi"', "two\nlines", "tab\tand,comma", "é", "2024-05-01T00:00:00Z"]
            table.writerows([n, odd[n % len(odd)], n / 8, "-" * n] for n in range(120))
            return kind, out.getvalue().encode()
        case "cloudtrail":
            return "cloudtrail.json", json.dumps({"Records": made}).encode()
        case "gz":
            return "json.gz", gzip.compress(lines(made), mtime=0)
        case "zst":
            compressor = zstandard.ZstdCompressor(write_checksum=True)
            return "json.zst", compressor.compress(lines(made))
    (sdb.folder / "sound.json").write_bytes(gzip.decompress(SAMPLE.read_bytes())[:60_000])
    cut = (sdb.folder / "sound.json").read_bytes()
    text = lines(made) if kind == "ion" else cut[: cut.rindex(b"\n") + 1]
    (sdb.folder / "sound.json").write_bytes(text)
    assert sdb("pack", "-o", "sound.zion", "sound.json").code == 0
    converted = sdb("unpack", "--fmt", kind, "-o", f"sound.{kind}", "sound.zion")
    assert converted.code == 0, converted
    return kind, (sdb.folder / f"sound.{kind}").read_bytes()


def attack(sdb: Sdb, findings: Findings, kind: str, chance: random.Random, count: int) -> None:
    """Pack mutated inputs of a kind."""
    suffix, good = sound(kind, sdb)
    for _ in range(count):
        data, note = mangled(good, chance)
        source = sdb.folder / f"in.{suffix}"
        source.write_bytes(data)
        options = chance.choice([[], [], ["--on-error", "skip"], ["-c", "zstd"], ["-j", "1"]])
        findings.attacks += 1
        findings.add(packed(sdb, source.name, options), data, f"{kind} {options}: {note}:")
        for path in sdb.folder.iterdir():
            path.unlink()
    findings.check()


def packed(sdb: Sdb, source: str, options: list[str]) -> list[str]:
    """Pack an input, and look at what becomes of it."""
    outcome = sdb("pack", "--json", *options, "-o", "out.zion", source)
    actual = outcome.complaints(ALLOWED)
    made = (sdb.folder / "out.zion").exists()
    if outcome.code:
        return actual + ["an output in spite of an error"] * made
    if not made:
        return [*actual, f"no output: {outcome}"]
    valid = sdb("validate-file", "out.zion")
    if valid.code:
        actual.append(f"packed, and not valid: {valid}")
    text = sdb("unpack", "--fmt", "json", "out.zion")
    ion = sdb("unpack", "--fmt", "ion", "-o", "out.ion", "out.zion")
    actual += text.complaints((0,)) + ion.complaints((0,))
    reported, there = json.loads(outcome.out)["rows"], text.out.count(b"\n")
    if reported != there:
        actual.append(f"{reported} rows are reported and {there} are there")
    again = sdb("pack", "-f", "ion", "-o", "again.zion", "out.ion")
    actual += again.complaints((0,))
    if again.code == 0 and not is_same(sdb("unpack", "--fmt", "json", "again.zion").out, text.out):
        actual.append("other rows when they are packed again")
    return actual


@pytest.mark.parametrize("batch", batches(3))
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_inputs(sdb: Sdb, findings: Findings, kind: str, batch: int) -> None:
    attack(sdb, findings, kind, dice("inputs", kind, batch), INPUTS)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_mutated_input(sdb: Sdb, findings: Findings, kind: str) -> None:
    attack(sdb, findings, kind, dice("few inputs", kind), 2)
