"""Functions that DuckDB lacks, for whole columns at a time."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

from sdb.instants import text as instant_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import duckdb


def register(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Register functions with a connection."""
    for name in sorted(names):
        function, arguments, result = _SIGNATURES[name]
        connection.create_function(
            name,
            _vectorised(function, result, len(arguments)),
            arguments,
            result,
            type="arrow",
            null_handling="special",
        )


def _vectorised(function: Callable[..., Any], result: str, count: int) -> Callable[..., Any]:
    import pyarrow as pa

    def work(*columns: Any) -> Any:
        lists = [column.to_pylist() for column in columns]
        out = [None if any(v is None for v in row) else function(*row) for row in zip(*lists)]
        return pa.array(out, type=kinds[result])

    text = pa.utf8()
    kinds = {
        "VARCHAR": text,
        "BOOLEAN": pa.bool_(),
        "DOUBLE": pa.float64(),
        "BIGINT": pa.int64(),
        "VARCHAR[]": pa.list_(text),
        "DOUBLE[]": pa.list_(pa.float64()),
        "STRUCT(n VARCHAR, k VARCHAR)[]": pa.list_(pa.struct([("n", text), ("k", text)])),
    }
    return {
        1: lambda a: work(a),
        2: lambda a, b: work(a, b),
        3: lambda a, b, c: work(a, b, c),
        5: lambda a, b, c, d, e: work(a, b, c, d, e),
    }[count]


def _fold(text: str) -> list[str]:
    out = []
    for c in text:
        low = c.lower()
        d = low if len(low) == 1 else c
        up = d.upper()
        d = up if len(up) == 1 else d
        low = d.lower()
        out.append(low if len(low) == 1 else d)
    return out


def ilike(text: str, pattern: str, escape: str) -> bool:
    import re

    rx = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if escape and c == escape and i + 1 < len(pattern):
            rx.append(re.escape("".join(_fold(pattern[i + 1]))))
            i += 2
            continue
        rx.append("(?s:.*)" if c == "%" else "(?s:.)" if c == "_" else re.escape("".join(_fold(c))))
        i += 1
    return re.fullmatch("".join(rx), "".join(_fold(text))) is not None


def upper(text: str) -> str:
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in text)


def lower(text: str) -> str:
    return "".join("i" if c == "İ" else c.lower() if len(c.lower()) == 1 else c for c in text)


def _distance(data: list[Any], lit: list[Any], k: int, contains: bool) -> bool:
    d = n = cost = 0
    while True:
        if cost > k:
            return False
        if n >= len(lit) and (contains or d >= len(data)):
            return True
        D = [data[d + i] if d + i < len(data) else ("d", d + i >= len(data), i) for i in range(3)]
        N = [lit[n + i] if n + i < len(lit) else ("n", i) for i in range(3)]
        eq = lambda a, b: D[a] == N[b]
        pairs = sum(eq(a, b) for a in range(3) for b in range(3))
        if eq(0, 0):
            d, n = d + 1, n + 1
        elif eq(0, 1) and eq(1, 0):
            cost, d, n = cost + 1, d + 2, n + 2
        elif eq(0, 1) and eq(1, 2):
            cost, d, n = cost + 1, d + 1, n + 2
        elif eq(0, 2) and pairs == 1:
            cost, d, n = cost + 2, d + 1, n + 3
        elif eq(1, 0) and eq(2, 1):
            cost, d, n = cost + 1, d + 2, n + 1
        elif eq(2, 0) and pairs == 1:
            cost, d, n = cost + 2, d + 3, n + 1
        elif eq(2, 0) and eq(0, 1) and pairs == 2:
            cost, d, n = cost + 2, d + 3, n + 2
        else:
            cost, d, n = cost + 1, d + 1, n + 1


def fuzzy(text: str, literal: str, k: int, contains: bool, points: bool) -> bool:
    def units(value: str) -> list[Any]:
        folded = "".join(c.lower() if c.isascii() else c for c in value)
        return list(folded) if points else list(folded.encode())

    data, lit = units(text), units(literal)
    if not contains:
        return _distance(data, lit, k, False)
    return any(_distance(data[start:], lit, k, True) for start in range(len(data) + 1))


def subnet(text: str, low: int, high: int) -> bool:
    parts = text.split(".")
    if len(parts) != 4 or not all(p.isascii() and p.isdigit() and int(p) < 256 for p in parts):
        return False
    a, b, c, d = map(int, parts)
    return low <= (a << 24 | b << 16 | c << 8 | d) <= high


def geo_hash(lat: float, lon: float, n: int) -> str:
    n = min(max(n, 1), 12)
    bits = 30
    y = math.floor((lat + 90) / 180 * 2**bits) & (2**bits - 1)
    x = math.floor((lon + 180) / 360 * 2**bits) & (2**bits - 1)
    code = 0
    for i in range(bits - 1, -1, -1):
        code = code << 2 | (x >> i & 1) << 1 | (y >> i & 1)
    alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"
    return "".join(alphabet[code >> (60 - 5 * (i + 1)) & 31] for i in range(n))


def shift(x: int, n: int, op: str) -> int:
    mask = 2**64 - 1
    n &= mask
    if op == ">>":
        return x >> min(n, 63)
    value = 0 if n > 63 else (x << n) & mask if op == "<<" else (x & mask) >> n
    return value - 2**64 if value >= 2**63 else value


def neumaier(values: list[float | None]) -> float | None:
    total = extra = 0.0
    seen = False
    for x in values:
        if x is None:
            continue
        seen = True
        t = total + x
        extra += (total - t) + x if abs(total) >= abs(x) else (x - t) + total
        total = t
    return (total if math.isinf(total) else total + extra) if seen else None


def key_n(x: float) -> str:
    if not math.isinf(x) and x == math.floor(x) and -(2**63) <= x < 2**63:
        return f"n{int(x)}"
    return "f" + struct.pack(">d", x).hex()


def json_n(x: float) -> str:
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "+Inf" if x > 0 else "-Inf"
    if x == math.floor(x) and -(2**63) <= x < 2**63:
        return str(int(x))
    return repr(x)


def json_s(s: str) -> str:
    return json.dumps(s, ensure_ascii=False)


def json_u(value: Any) -> str:
    import datetime as dt

    us = (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return f'"{instant_text(us)}"'


def _prefixed(k: str, place: int) -> tuple[str, int]:
    raw = k.encode()
    colon = raw.index(b":", place)
    size = int(raw[place:colon])
    return raw[colon + 1 : colon + 1 + size].decode(), colon + 1 + size


def _elements(k: str) -> list[str]:
    out, place, size = [], 1, len(k.encode())
    while place < size:
        item, place = _prefixed(k, place)
        out.append(item)
    return out


def _members(k: str) -> dict[str, str]:
    parts = _elements(k)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def key_number(k: str) -> float | None:
    if k[0] == "n":
        return float(int(k[1:]))
    return struct.unpack(">d", bytes.fromhex(k[1:]))[0] if k[0] == "f" else None


def key_json(k: str) -> str:
    tag = k[0]
    if tag == "z":
        return "null"
    if tag == "b":
        return "true" if k == "b1" else "false"
    if tag == "n":
        return k[1:]
    if tag == "f":
        return json_n(key_number(k) or 0.0)
    if tag == "t":
        return f'"{instant_text(int(k[1:]))}"'
    if tag == "s":
        return json_s(k[1:])
    if tag == "[":
        return "[" + ", ".join(key_json(e) for e in _elements(k)) + "]"
    return "{" + ", ".join(f"{json_s(n)}: {key_json(e)}" for n, e in _members(k).items()) + "}"


def key_field(k: str, name: str) -> str | None:
    return _members(k).get(name) if k[0] == "{" else None


def key_item(k: str, i: int) -> str | None:
    items = _elements(k) if k[0] == "[" else []
    return items[i] if 0 <= i < len(items) else None


def key_size(k: str) -> int | None:
    return len(_elements(k)) if k[0] == "[" else len(_members(k)) if k[0] == "{" else None


def key_items(k: str) -> list[str] | None:
    return _elements(k) if k[0] == "[" else None


def key_numbers(k: str) -> list[float] | None:
    if k[0] != "[":
        return None
    out = [key_number(e) for e in _elements(k)]
    return None if any(x is None for x in out) else out


def key_members(k: str) -> list[dict[str, str]] | None:
    return [{"n": n, "k": v} for n, v in _members(k).items()] if k[0] == "{" else None


def datashape(rows: list[str]) -> str:
    fields: dict[str, dict[str, Any]] = {}

    def visit(path: str, k: str) -> None:
        f = fields.setdefault(path, {})
        tag = {
            "z": "null",
            "b": "bool",
            "n": "int",
            "f": "float",
            "t": "timestamp",
            "s": "string",
            "[": "list",
            "{": "struct",
        }[k[0]]
        f[tag] = f.get(tag, 0) + 1
        if tag in ("int", "float"):
            v = int(k[1:]) if tag == "int" else key_number(k)
            f[f"{tag}-min-value"] = min(f.get(f"{tag}-min-value", v), v)
            f[f"{tag}-max-value"] = max(f.get(f"{tag}-max-value", v), v)
        if tag == "string":
            v = len(k.encode()) - 1
            f["string-min-length"] = min(f.get("string-min-length", v), v)
            f["string-max-length"] = max(f.get("string-max-length", v), v)
        if tag == "list":
            for e in _elements(k):
                visit(path + ".$items", e)
        if tag == "struct":
            for n, e in _members(k).items():
                visit(f"{path}.{n}", e)

    for row in rows:
        for n, e in _members(row).items():
            visit(n, e)

    def enc(v: Any) -> str:
        if isinstance(v, dict):
            parts = sorted((n.encode(), enc(e)) for n, e in v.items())
            return "{" + "".join(f"{len(n)}:{n.decode()}{len(e.encode())}:{e}" for n, e in parts)
        return key_n(v) if isinstance(v, float) else f"n{v}"

    return enc({"total": len(rows), "fields": fields})


_S, _B, _D, _I = "VARCHAR", "BOOLEAN", "DOUBLE", "BIGINT"
_SIGNATURES: dict[str, tuple[Callable[..., Any], list[str], str]] = {
    "sdb_ilike": (ilike, [_S, _S, _S], _B),
    "sdb_upper": (upper, [_S], _S),
    "sdb_lower": (lower, [_S], _S),
    "sdb_fuzzy": (fuzzy, [_S, _S, _I, _B, _B], _B),
    "sdb_subnet": (subnet, [_S, _I, _I], _B),
    "sdb_geo_hash": (geo_hash, [_D, _D, _I], _S),
    "sdb_ln1p": (
        lambda x: math.log1p(x) if x > -1 else -math.inf if x == -1 else math.nan,
        [_D],
        _D,
    ),
    "sdb_expm1": (lambda x: math.expm1(x) if x < 709 else math.inf, [_D], _D),
    "sdb_shift": (shift, [_I, _I, _S], _I),
    "sdb_sum": (neumaier, ["DOUBLE[]"], _D),
    "sdb_key_n": (key_n, [_D], _S),
    "sdb_json_n": (json_n, [_D], _S),
    "sdb_json_s": (json_s, [_S], _S),
    "sdb_json_u": (json_u, ["TIMESTAMP"], _S),
    "sdb_key_number": (key_number, [_S], _D),
    "sdb_key_json": (key_json, [_S], _S),
    "sdb_key_field": (key_field, [_S, _S], _S),
    "sdb_key_item": (key_item, [_S, _I], _S),
    "sdb_key_size": (key_size, [_S], _I),
    "sdb_key_items": (key_items, [_S], "VARCHAR[]"),
    "sdb_key_numbers": (key_numbers, [_S], "DOUBLE[]"),
    "sdb_key_members": (key_members, [_S], "STRUCT(n VARCHAR, k VARCHAR)[]"),
    "sdb_datashape": (datashape, ["VARCHAR[]"], _S),
}
