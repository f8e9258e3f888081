"""Our packfiles read by a slow reader that shares no code with us (plain_zion.py)."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from amazon.ion.core import IonType
from amazon.ion.simple_types import IonPyNull

import sdb
from tests.interop import plain_zion

ROOT = Path(__file__).parents[2]
ALGORITHMS = ["zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd"]
TIME = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"(?:Z|\s?([+-])(\d\d):(\d\d))?\s*"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> datetime | str:
    """What the packer makes of a string: a time, or the string."""
    match = TIME.fullmatch(text)
    if not match:
        return text
    *parts, fraction, sign, hours, minutes = match.groups()
    at = datetime(*map(int, parts), tzinfo=UTC)  # type: ignore[misc,arg-type]
    at += timedelta(microseconds=int(((fraction or "") + "000000")[:6]))
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return at + offset if sign == "-" else at - offset


def from_json(value: Any) -> Any:
    """The row that a JSON value must become."""
    match value:
        case dict():
            return {name: from_json(item) for name, item in value.items()}
        case list():
            return [from_json(item) for item in value]
        case str():
            return instant(value)
        case float() if value.is_integer() and -(2**63) <= value < 2**63:
            return int(value)
    return value


def from_ion(value: Any) -> Any:
    """A value of amazon.ion as plain Python; checks that the type is the canonical one."""
    kind = value.ion_type
    if isinstance(value, IonPyNull):
        return None
    if kind is IonType.STRUCT:
        return {name: from_ion(item) for name, item in value.items()}
    if kind is IonType.LIST:
        return [from_ion(item) for item in value]
    if kind is IonType.SYMBOL:
        return value.text
    if kind is IonType.TIMESTAMP:
        return EPOCH + (value - EPOCH)
    if kind is IonType.BOOL:
        return bool(value)
    return {IonType.STRING: str, IonType.INT: int, IonType.FLOAT: float}[kind](value)


def typed(value: Any) -> Any:
    """Make 1, 1.0 and True differ."""
    match value:
        case dict():
            return {name: typed(item) for name, item in value.items()}
        case list():
            return [typed(item) for item in value]
    return type(value).__name__, value


def numbers(count: int) -> str:
    """Rows with lists of numbers, for the bucket vectors."""
    rows = [
        {
            "at": f"2024-05-01T00:{i // 60 % 60:02}:{i % 60:02}Z",
            "small": [(i * j) % 255 - 127 for j in range(70)],
            "decimals": [round((i + j) * 0.001, 3) for j in range(40)],
            "coordinates": [i / 7, -i / 1e4, i + 0.5, i * 1000, -i, 0, i / 1e13],
            "mixed": [1, "two", None] if i % 5 else [],
        }
        for i in range(count)
    ]
    return "\n".join(map(json.dumps, rows))


def logs(count: int) -> str:
    """Rows with strings that come again and again, which become symbols."""
    rows = [
        {
            "level": ("info", "warning", "error")[i % 7 % 3],
            "host": f"host-{i * i % 11:02}",
            "tags": ["a", "production", f"unique {i}"],
            "agent": {"name": "Mozilla/5.0 (X11; Linux x86_64) \u00e9" if i % 3 else None},
        }
        for i in range(count)
    ]
    return "\n".join(map(json.dumps, rows))


def sample(name: str, limit: int) -> str:
    with gzip.open(ROOT / "testdata" / name, "rt", encoding="utf-8") as lines:
        return "".join(line for line, _ in zip(lines, range(limit), strict=False))


INPUTS = {
    "github": lambda: sample("gh2015_1k.json.gz", 300),
    "cloudtrail": lambda: sample("cloudtrail_sneller.json.gz", 1000),
    "parking": lambda: sample("parking2.json.gz", 2000),
    "numbers": lambda: numbers(300),
    "logs": lambda: logs(3000),
    "wide": lambda: json.dumps({f"field {i}": i * i for i in range(300)}) + '{"":1}{}',
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", INPUTS)
def test_rows_come_back(tmp_path: Path, name: str, algorithm: str) -> None:
    text = INPUTS[name]()
    source = tmp_path / "input.json"
    source.write_text(text)
    packed = tmp_path / "packed.zion"
    sdb.pack([source], packed, algorithm=algorithm)
    trailer, rows = plain_zion.read(packed.read_bytes())
    assert trailer["algo"] == algorithm
    decoder = json.JSONDecoder()
    expected = []
    while text := text.lstrip():
        row, end = decoder.raw_decode(text)
        expected.append(typed(from_json(row)))
        text = text[end:]
    assert [typed(from_ion(row)) for row in rows] == expected


@pytest.mark.parametrize("suffix", ["json", "ion", "csv", "parquet"])
def test_frequent_strings_are_symbols(tmp_path: Path, suffix: str) -> None:
    source, packed = tmp_path / f"logs.{suffix}", tmp_path / "packed.zion"
    expected = [json.loads(line) for line in logs(5000).splitlines()]
    match suffix:
        case "json":
            source.write_text(logs(5000))
        case "csv":
            expected = [{"n": n, "host": row["host"]} for n, row in enumerate(expected * 3)]
            source.write_text(
                "n,host\n" + "".join(f"{row['n']},{row['host']}\n" for row in expected)
            )
        case _:
            (tmp_path / "logs.json").write_text(logs(5000))
            sdb.pack([tmp_path / "logs.json"], packed)
            with source.open("wb") as file:
                sdb.unpack([packed], file, fmt=suffix)
    sdb.pack([source], packed, overwrite=True)
    _, rows = plain_zion.read(packed.read_bytes())
    assert [from_ion(row) for row in rows] == expected
    assert rows[-1]["host"].ion_type is IonType.SYMBOL
    if suffix != "csv":
        assert rows[-1]["tags"][1].ion_type is IonType.SYMBOL
        assert rows[-1]["tags"][2].ion_type is IonType.STRING
        assert rows[-1]["agent"]["name"].ion_type is IonType.SYMBOL


def test_several_blocks_and_chunks(tmp_path: Path) -> None:
    """Appending tables, chunk ends and block ends: 12 MB of rows in blocks of 2 MiB."""
    line = '{"id": %d, "at": "2024-01-01T00:00:%02dZ", "k%d": "%01000d"}\n'
    source = tmp_path / "input.json"
    source.write_text("".join(line % (i, i % 60, i // 500, i) for i in range(12_000)))
    packed = tmp_path / "packed.zion"
    sdb.pack([source], packed, block_bytes=2 << 20)
    trailer, rows = plain_zion.read(packed.read_bytes())
    assert [row["id"] for row in rows] == list(range(12_000))
    assert sum(chunks for _, chunks in plain_zion.blocks(trailer)) >= 12


def test_constants(tmp_path: Path) -> None:
    source = tmp_path / "input.json"
    source.write_text('{"a": 1, "region": "lost"}\n{"a": 2}\n')
    packed = tmp_path / "packed.zion"
    sdb.pack([source], packed, constants={"region": "eu"})
    trailer, rows = plain_zion.read(packed.read_bytes())
    assert trailer["sparse"]["consts"] == {"region": "eu"}
    assert [from_ion(row) for row in rows] == [{"region": "eu", "a": 1}, {"region": "eu", "a": 2}]
