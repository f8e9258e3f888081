"""Delta tables that tests write: by deltalake, and by hand what it cannot write."""

from __future__ import annotations

import json
import struct
import uuid
import warnings
import zlib
from collections import Counter
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import sdb
from tests.lake.bothways import ask_both_ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def canonical(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Return rows without nulls as texts, so that they can be compared in any order."""
    return Counter(json.dumps(_plain(row), sort_keys=True, default=str) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal | int | float) and not isinstance(value, bool):
        return float(value)
    return value


def oracle(path: Path, version: int | None = None) -> Counter[str]:
    """Return the rows that deltalake reads, with the types that a packfile has for them."""
    table = DeltaTable(str(path), version=version)
    read = pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t"))
    return packed(read)


def packed(table: pa.Table) -> Counter[str]:
    """Return the rows of a table of Arrow, with the types that a packfile has for them."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "times of .* have no time zone")
        sdb.pack(table, f"{folder}/oracle.zion")
        return stored(f"'{folder}/oracle.zion'")


def stored(source: str, root: Path | None = None) -> Counter[str]:
    """Return the rows of a table or a packfile; those of a lake answer other questions, too."""
    if source.startswith(("'delta", "'iceberg")):
        ask_both_ways(source, root)
    more: dict[str, Any] = {} if root is None else {"root": str(root)}
    with sdb.sql(f"SELECT * FROM {source}", **more) as result:
        return canonical(dict(row) for row in result)


def write(path: Path, rows: Any, **options: Any) -> None:
    """Write rows with deltalake."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    options.setdefault("mode", "append")
    write_deltalake(str(path), table, **options)


def commit(path: Path, version: int, actions: Sequence[dict[str, Any]]) -> None:
    """Write a commit by hand."""
    lines = "".join(f"{json.dumps(action)}\n" for action in actions)
    (path / "_delta_log" / f"{version:020}.json").write_text(lines)


def actions(path: Path, version: int) -> list[dict[str, Any]]:
    """Return the actions of a commit."""
    text = (path / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def z85(data: bytes) -> str:
    """Encode bytes, padded to a multiple of four, as ZeroMQ's RFC 32 says."""
    data += bytes(-len(data) % 4)
    text = ""
    for (value,) in struct.iter_unpack(">I", data):
        text += "".join(_Z85[value // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def bitmap(positions: Iterable[int], *, runs: bool = False) -> bytes:
    """Serialize positions as the Delta protocol and the format of Roaring bitmaps say."""
    buckets: dict[int, dict[int, list[int]]] = {}
    for position in sorted(set(positions)):
        bucket = buckets.setdefault(position >> 32, {})
        bucket.setdefault(position >> 16 & 0xFFFF, []).append(position & 0xFFFF)
    data = struct.pack("<iq", 1681511377, len(buckets))
    for key, containers in buckets.items():
        data += struct.pack("<I", key) + _roaring(containers, runs=runs)
    return data


def _roaring(containers: dict[int, list[int]], *, runs: bool) -> bytes:
    count = len(containers)
    heads = b"".join(struct.pack("<HH", key, len(low) - 1) for key, low in containers.items())
    bodies = [_runs(low) if runs else _container(low) for low in containers.values()]
    if runs:
        flags = bytearray((count + 7) // 8)
        for number in range(count):
            flags[number // 8] |= 1 << number % 8
        start = struct.pack("<I", 12347 | (count - 1) << 16) + bytes(flags)
    else:
        start = struct.pack("<II", 12346, count)
    offsets = b""
    if not runs or count >= 4:
        at = len(start) + len(heads) + 4 * count
        for body in bodies:
            offsets += struct.pack("<I", at)
            at += len(body)
    return start + heads + offsets + b"".join(bodies)


def _container(low: list[int]) -> bytes:
    if len(low) <= 4096:
        return struct.pack(f"<{len(low)}H", *low)
    bits = bytearray(8192)
    for value in low:
        bits[value // 8] |= 1 << value % 8
    return bytes(bits)


def _runs(low: list[int]) -> bytes:
    spans: list[list[int]] = []
    for value in low:
        if spans and value == spans[-1][0] + spans[-1][1] + 1:
            spans[-1][1] += 1
        else:
            spans.append([value, 0])
    return struct.pack("<H", len(spans)) + b"".join(struct.pack("<HH", *span) for span in spans)


def vector(
    path: Path, positions: Sequence[int], storage: str, *, runs: bool = False
) -> dict[str, Any]:
    """Return the descriptor of a deletion vector, whose file is written if it has one."""
    data = bitmap(positions, runs=runs)
    described = {"storageType": storage, "sizeInBytes": len(data), "cardinality": len(positions)}
    if storage == "i":
        return described | {"pathOrInlineDv": z85(data)}
    name = uuid.uuid4()
    other = bitmap([5])  # of another data file, in front of it
    parts = [
        struct.pack(">i", len(part)) + part + struct.pack(">I", zlib.crc32(part))
        for part in (other, data)
    ]
    prefix = "ab/" if storage == "u" else ""
    file = path / f"{prefix}deletion_vector_{name}.bin"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"\1" + b"".join(parts))
    offset = {"offset": 1 + len(parts[0])}
    if storage == "p":
        return described | offset | {"pathOrInlineDv": file.absolute().as_uri()}
    return described | offset | {"pathOrInlineDv": f"ab{z85(name.bytes)}"}


def delete_by_vector(
    path: Path, version: int, storage: str, positions: Sequence[int], *, runs: bool = False
) -> str:
    """Commit a deletion vector for the largest file of the newest version; gives its path."""
    current: dict[str, dict[str, Any]] = {}
    for number in range(version):
        for action in actions(path, number):
            if "remove" in action:
                current.pop(action["remove"]["path"], None)
            if "add" in action:
                current[action["add"]["path"]] = action["add"]
    add = max(current.values(), key=lambda add: json.loads(add["stats"])["numRecords"])
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    remove |= {
        "extendedFileMetadata": True,
        "size": add["size"],
        "partitionValues": add["partitionValues"],
    }
    if add.get("deletionVector"):
        remove["deletionVector"] = add["deletionVector"]
    stats = json.loads(add["stats"]) | {"tightBounds": False}
    new = add | {
        "deletionVector": vector(path, positions, storage, runs=runs),
        "stats": json.dumps(stats),
    }
    info = {"commitInfo": {"timestamp": 1, "operation": "DELETE"}}
    commit(path, version, [info, {"remove": remove}, {"add": new}])
    return str(add["path"])
