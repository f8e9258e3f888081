"""A slow reader of packfiles in plain Python: docs/format.md, zstandard and amazon.ion."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import zstandard
from amazon.ion import simpleion

from tests.interop import plain_iguana

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = (1 << 64) - 1
DIVISORS = {
    3: (12, 11, (3, 4)),
    4: (16, 15, (4, 5)),
    5: (24, 21, (5, 6, 7, 8, 9, 10, 11, 13)),
    6: (32, 31, (9, 13)),
}


def varuint(data: bytes, at: int) -> tuple[int, int]:
    """Read a VarUInt: its value, and where it ends (section 2)."""
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] & 0x80:
            return value, at


def put_varuint(value: int) -> bytes:
    """Encode a VarUInt."""
    groups = [value & 0x7F | 0x80]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes(reversed(groups))


def value_end(data: bytes, at: int) -> int:
    """Where the value at ``at`` ends."""
    low = data[at] & 15
    if data[at] == 0x11 or low == 15:
        return at + 1
    if low == 14:
        length, at = varuint(data, at + 1)
        return at + length
    return at + 1 + low


def header(kind: int, length: int) -> bytes:
    """Encode the type byte and length of a value."""
    if length < 14:
        return bytes([kind << 4 | length])
    return bytes([kind << 4 | 14]) + put_varuint(length)


def siphash(number: int) -> int:
    """Hash a symbol number (5.2)."""
    message = bytearray()
    while number > 0x7F:
        message.append(number & 0x7F | 0x80)
        number >>= 7
    message.append(number)
    v0, v1, v2, v3 = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> 64 - bits) & MASK

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0 = v0 + v1 & MASK
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = v2 + v3 & MASK
            v3 = rotate(v3, 16) ^ v2
            v0 = v0 + v3 & MASK
            v3 = rotate(v3, 21) ^ v0
            v2 = v2 + v1 & MASK
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)

    word = int.from_bytes(message, "little") | len(message) << 56
    v3 ^= word
    rounds(2)
    v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def small_vector(data: bytes) -> bytes:
    """Expand a vector of small integers (section 6)."""
    label, at = varuint(data, 0)
    out = bytearray()
    while at < len(data):
        size, at = varuint(data, at)
        body = bytearray()
        while len(body) < size:
            (item,) = struct.unpack_from("b", data, at)
            at += 1
            body += b"\x20" if item == 0 else bytes([0x21 if item > 0 else 0x31, abs(item)])
        assert len(body) == size
        out += put_varuint(label) + header(0xB, size) + body
    return bytes(out)


def number_vector(data: bytes) -> bytes:
    """Expand a vector of numbers (section 6)."""
    label, at = varuint(data, 0)
    out = bytearray()
    while at < len(data):
        count, at = varuint(data, at)
        size, at = varuint(data, at)
        body = bytearray()
        items = 0
        while items < count:
            produced, content, at = cluster(data, at)
            items += produced
            body += content
        assert (items, len(body)) == (count, size)
        out += put_varuint(label) + header(0xB, size) + body
    return bytes(out)


def cluster(data: bytes, at: int) -> tuple[int, bytes, int]:
    """Expand one cluster: number of items, their Ion, where the next one starts."""
    head, at = data[at], at + 1
    kind, count = head >> 5, (head & 31) + 1
    if kind == 0:
        return count, b"\x20" * count, at
    if kind == 1:
        size = (head & 7) + 1
        sign = 0x30 if head & 0x10 else 0x20
        return 1, bytes([sign | size]) + data[at : at + size][::-1], at + size
    if kind == 2:
        items = struct.unpack_from(f"{count}b", data, at)
        return count, b"".join(bytes([0x21 if i > 0 else 0x31, abs(i)]) for i in items), at + count
    if kind == 7:
        floats = struct.unpack_from(f"<{count}d", data, at)
        at += 8 * count
    else:
        bits, mantissa_bits, powers = DIVISORS[kind]
        count *= 2 if kind < 5 else 1
        packed = int.from_bytes(data[at : at + count * bits // 8], "little")
        floats = tuple(
            decimal(packed >> i * bits & (1 << bits) - 1, mantissa_bits, powers)
            for i in range(count)
        )
        at += count * bits // 8
    return count, b"".join(b"\x48" + struct.pack(">d", item) for item in floats), at


def decimal(word: int, mantissa_bits: int, powers: tuple[int, ...]) -> float:
    """Turn a packed decimal into its float."""
    mantissa = word & (1 << mantissa_bits) - 1
    if mantissa >> mantissa_bits - 1:
        mantissa -= 1 << mantissa_bits
    return mantissa / float(10 ** powers[word >> mantissa_bits])


def segment(data: bytes, algorithm: int) -> bytes:
    """Expand one segment (5.1)."""
    if not data:
        return b""
    if algorithm == 0:
        out = b""
        while data:
            inflater = zstandard.ZstdDecompressor().decompressobj()
            out += inflater.decompress(data)
            data = inflater.unused_data
        return out
    if algorithm == 1:
        return plain_iguana.decompress(data)
    return (plain_iguana.decompress, small_vector, number_vector)[data[0]](data[1:])


def zion(payload: bytes) -> bytes:
    """Expand a zion chunk to its table and rows (section 5)."""
    assert payload[:4] == b"\x83zip"
    word = int.from_bytes(payload[4:8], "little")
    selector, algorithm = word & 15, word >> 4
    at = 8
    segments = []
    for _ in range(17):
        size = int.from_bytes(payload[at : at + 3], "little")
        segments.append(segment(payload[at + 3 : at + 3 + size], algorithm))
        at += 3 + size
    assert at == len(payload)
    shape, *buckets = segments
    start = 0
    if shape[:1] == b"\xe0":
        start = value_end(shape, 4)
    elif shape[:1] and shape[0] >> 4 == 0xE:
        start = value_end(shape, 0)
    out = bytearray(shape[:start])
    places = [0] * 16
    for row in shapes(shape, start):
        body = bytearray()
        for bucket in row:
            data, begin = buckets[bucket], places[bucket]
            label, value = varuint(data, begin)
            assert siphash(label) >> 4 * selector & 15 == bucket, "a field is in the wrong bucket"
            places[bucket] = value_end(data, value)
            body += data[begin : places[bucket]]
        out += header(0xD, len(body)) + body
    assert places == [len(bucket) for bucket in buckets], "fields are left over"
    return bytes(out)


def shapes(shape: bytes, at: int) -> Iterator[list[int]]:
    """For each row, the buckets of its fields (5.3)."""
    row: list[int] = []
    while at < len(shape):
        count = shape[at] & 31
        nibbles = shape[at + 1 : at + 1 + (count + 1) // 2]
        at += 1 + len(nibbles)
        row += [byte >> shift & 15 for byte in nibbles for shift in (0, 4)][:count]
        if count < 16:
            yield row
            row = []
    assert row == []


def without_padding(chunk: bytes) -> bytes:
    """Cut off the padding at the end of a chunk; amazon.ion does not read padding of some sizes."""
    at = end = value_end(chunk, 4) if chunk[0] == 0xE0 else 0
    while at < len(chunk):
        pad = chunk[at] < 0x0F
        at = value_end(chunk, at)
        if not pad:
            end = at
    assert at == len(chunk)
    return chunk[:end]


def read(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Read a whole packfile: its trailer and its rows, through amazon.ion."""
    length = int.from_bytes(data[-4:], "little")
    trailer = simpleion.loads(data[-4 - length : -4])
    assert trailer["offset"] == len(data) - 4 - length
    align = 1 << trailer["blockshift"]
    rows = []
    offsets = [*(offset for offset, _ in blocks(trailer)), trailer["offset"]]
    for i, (offset, chunks) in enumerate(blocks(trailer)):
        at = offset
        stream = b""
        for _ in range(chunks):
            assert data[at] == 0xAE
            size, start = varuint(data, at + 1)
            assert start == at + 5
            payload = data[start : start + size]
            if trailer["algo"] == "zstd":
                chunk = zstandard.decompress(payload, max_output_size=align)
                assert len(chunk) == align
                chunk = without_padding(chunk)
            else:
                chunk = zion(payload)
                assert len(chunk) <= align
            stream += chunk
            at = start + size
        assert at == offsets[i + 1]
        rows += simpleion.loads(stream, single_value=False)
    return trailer, rows


def blocks(trailer: dict[str, Any]) -> list[tuple[int, int]]:
    """Offset and number of chunks of each block (section 8)."""
    at = step = chunks = 0
    out = []
    deltas = [int(delta) for delta in trailer["blocks-delta"]]
    for a, b in zip(deltas[::2], deltas[1::2], strict=True):
        step += a
        at += step
        chunks += b
        out.append((at, chunks))
    return out
