"""A reader of packfiles as docs/format.md described them at release 0.1.0, without code of `sdb`.

It stays as it is: what it cannot know in later files must have a new version or a new name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import zstandard
from amazon.ion import simpleion

from tests.interop import plain_zion

ALGORITHMS = {"zstd", "zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized"}
MANDATORY = {"offset", "algo", "blockshift"}
FIELDS = MANDATORY | {"version", "sparse", "blocks-delta"}
DIGEST_BYTES = 20
KINDS = range(1, 10)

Path = tuple[str, ...]


class Facts(NamedTuple):
    """What the extension says of the rows, where it says it."""

    rows: list[int] | None
    types: dict[Path, int] | None
    complete: bool
    digests: list[bytes] | None
    presence: dict[tuple[str | None, ...], int] | None
    """In how many rows fewer than its parent a field is."""
    inputs: list[tuple[str, int]] | None
    """Names and numbers of rows."""


class Read(NamedTuple):
    """A packfile."""

    rows: list[Any]
    constants: dict[str, Any]
    indexed: set[Path]
    facts: Facts | None


def read(data: bytes) -> Read:
    """Read a whole packfile; an assertion fails where it is not as the page says."""
    trailer, rows = plain_zion.read(data)
    assert trailer.keys() >= MANDATORY
    assert trailer.get("version", 1) == 1
    assert trailer.keys() <= FIELDS
    assert trailer["algo"] in ALGORITHMS
    sparse = trailer.get("sparse", {})
    blocks = plain_zion.blocks(trailer)
    assert sparse.get("blocks", 0) == len(blocks)
    indexed = set()
    for index in sparse.get("indices", []):
        ranges = index.get("ranges", {})
        if ranges.keys() >= {"max", "min"}:
            indexed.add(_path(index["path"]))
    facts = _facts(sparse["sdb"], len(blocks)) if "sdb" in sparse else None
    return Read(rows, dict(sparse.get("consts", {})), indexed, facts)


def _facts(sdb: dict[str, Any], blocks: int) -> Facts | None:
    """Read the extension (section 10); members that are not known are skipped."""
    if sdb["version"] != 1:
        return None
    steps = types = None
    complete = bool(sdb.get("complete", False))
    if "summary" in sdb:
        complete, steps, types = _summary(sdb["summary"])
    elif "rows" in sdb or "types" in sdb:
        steps = sdb["rows"]
        types = {_path(item["path"]): int(item["mask"]) for item in sdb["types"]}
    rows = None if steps is None else _sums(steps)
    assert rows is None or len(rows) == blocks
    digests = None
    if "digests" in sdb:
        digests = [
            sdb["digests"][at : at + DIGEST_BYTES]
            for at in range(0, len(sdb["digests"]), DIGEST_BYTES)
        ]
        assert list(map(len, digests)) == [DIGEST_BYTES] * blocks
    presence = inputs = None
    if types is not None and "presence" in sdb:
        presence = _presence(sdb["presence"], types)
    if types is not None and "provenance" in sdb:
        _, names, _, _, _, counts, _ = _loaded(sdb["provenance"])
        inputs = list(zip(map(str, names), map(int, counts), strict=True))
    if types is not None and "statistics" in sdb:
        _statistics(sdb["statistics"])
    return Facts(rows, types, complete, digests, presence, inputs)


def _summary(blob: bytes) -> tuple[bool, list[int], dict[Path, int]]:
    complete, rows, shared, more, names, masks = _loaded(blob)
    types: dict[Path, int] = {}
    rest, path = [_text(name) for name in names], ()
    for common, count, mask in zip(shared, more, masks, strict=True):
        path = (*path[:common], *rest[:count])
        rest = rest[count:]
        types[path] = int(mask)
    assert not rest
    return bool(complete), rows, types


def _presence(blob: bytes, types: dict[Path, int]) -> dict[tuple[str | None, ...], int]:
    _, depths, names, masks, fewer = _loaded(blob)
    known = list(dict.fromkeys(name for path in types for name in path))
    fields: dict[tuple[str | None, ...], int] = {}
    path: tuple[str | None, ...] = ()
    for depth, name, _mask, count in zip(depths, names, masks, fewer, strict=True):
        assert depth <= len(path) + 1
        is_number = isinstance(name, int)
        text = known[name] if is_number else None if _is_null(name) else _text(name)
        path = (*path[: depth - 1], text)
        fields[path] = int(count)
    return fields


def _statistics(blobs: dict[str, Any]) -> None:
    """Hold the head to what it says of the body; no row depends on either."""
    version, lengths, names, kinds, sizes, *slices = _loaded(blobs["head"])
    if version != 1:
        return
    assert len(lengths) == len(kinds) == len(sizes)
    assert sum(lengths) == len(names)
    assert set(kinds) <= set(KINDS)
    assert sum(sizes) + sum(map(sum, slices)) <= len(blobs["body"])


def _loaded(blob: bytes) -> list[Any]:
    return list(simpleion.loads(zstandard.ZstdDecompressor().decompressobj().decompress(blob)))


def _sums(steps: list[int]) -> list[int]:
    total, sums = 0, []
    for step in steps:
        total += step
        sums.append(int(total))
    return sums


def _is_null(value: Any) -> bool:
    return type(value).__name__ == "IonPyNull" or value is None


def _text(name: Any) -> str:
    return str(getattr(name, "text", name))


def _path(names: list[Any]) -> Path:
    return tuple(map(_text, names))
