"""Builds packfiles byte by byte, sound ones and others, after docs/format.md alone."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import zstandard

from tests.interop.plain_zion import header, put_varuint, siphash

SYSTEM = (
    *("$0", "$ion", "$ion_1_0", "$ion_symbol_table", "name", "version", "imports", "symbols"),
    *("max_id", "$ion_shared_symbol_table"),
)
VERSION_MARKER = b"\xe0\x01\x00\xea"
FIRST = len(SYSTEM)
"""The first number that a symbol table gives."""
NULL = b"\x0f"
STRING, LIST, STRUCT = 0x8, 0xB, 0xD
"""Types of values."""


class Raw(bytes):
    """Bytes that stand for a value as they are."""

    __slots__ = ()


# -- Ion (section 2)


def value(kind: int, content: bytes) -> bytes:
    """Encode a value of a type."""
    return header(kind, len(content)) + content


def integer(number: int) -> bytes:
    """Encode an integer of any size."""
    magnitude = abs(number).to_bytes((abs(number).bit_length() + 7) // 8, "big")
    return value(3 if number < 0 else 2, magnitude)


def string(text: str | bytes) -> bytes:
    """Encode a string, of bytes that may be no UTF-8."""
    return value(STRING, text.encode() if isinstance(text, str) else text)


def symbol(number: int) -> bytes:
    """Encode a symbol."""
    return value(7, number.to_bytes((number.bit_length() + 7) // 8, "big"))


def floating(number: float) -> bytes:
    """Encode a float of eight bytes."""
    return b"\x48" + struct.pack(">d", number)


def array(*items: bytes) -> bytes:
    """Encode a list."""
    return value(LIST, b"".join(items))


def members(*fields: tuple[int, bytes]) -> bytes:
    """Encode a struct of numbered fields, in the order given."""
    return value(STRUCT, b"".join(put_varuint(name) + inner for name, inner in fields))


def nested(kind: int, depth: int, name: bytes = b"", inner: bytes = b"") -> bytes:
    """Encode lists in lists, or structs in structs whose fields have a name, around a value."""
    heads = [name + inner] if inner else []
    size = sum(map(len, heads))
    for _ in range(depth):
        head = header(kind, size)
        heads.append(name + head)
        size += len(name + head)
    return b"".join(reversed(heads))[len(name) :]


def padding(count: int) -> bytes:
    """Encode padding of this many bytes."""
    assert count >= 0, "the content is longer than the chunk"
    out = b""
    while count:
        rest = count - 1
        if rest <= 13:
            return out + bytes([rest]) + bytes(rest)
        width = len(put_varuint(rest))
        size = rest - width
        if len(put_varuint(size)) != width:
            size -= 1
        out += b"\x0e" + put_varuint(size) + bytes(size)
        count -= 1 + len(put_varuint(size)) + size
    return out


# -- Symbol tables (section 3), chunks and frames (section 4)


def table(*names: str | bytes, marker: bool = True) -> bytes:
    """Encode a symbol table: a full one, or one that appends."""
    return raw_table(array(*map(string, names)), marker=marker)


def raw_table(symbols: bytes, *, marker: bool = True) -> bytes:
    """Encode a symbol table of any value."""
    fields = [(7, symbols)] if marker else [(6, symbol(3)), (7, symbols)]
    body = b"\x81\x83" + members(*fields)
    return (VERSION_MARKER if marker else b"") + value(0xE, body)


def packed(data: bytes, **options: Any) -> bytes:
    """Compress with zstd and a checksum."""
    return zstandard.ZstdCompressor(write_checksum=True, **options).compress(data)


def plain_chunk(content: bytes, shift: int = 20) -> bytes:
    """Make a chunk of the algorithm `zstd`, filled up to its size."""
    return packed(content + padding((1 << shift) - len(content)))


def zion_chunk(
    symbols: bytes, rows: list[list[tuple[int, bytes]]], *, shape: bytes | None = None
) -> bytes:
    """Make a chunk of the algorithm `zion+zstd` (section 5) with selector 0.

    Parameters
    ----------
    symbols : bytes
        Its symbol table.
    rows : list of lists of (int, bytes)
        The fields of each row.
    shape : bytes, optional
        What stands for the rows instead of their true shape.
    """
    buckets = [bytearray() for _ in range(16)]
    entries = bytearray()
    for row in rows:
        places = []
        for name, inner in row:
            places.append(siphash(name) & 15)
            buckets[places[-1]] += put_varuint(name) + inner
        entries += entry(places)
    return zion_segments([symbols + (bytes(entries) if shape is None else shape), *buckets])


def zion_rows(shape: bytes, buckets: dict[int, bytes]) -> bytes:
    """Make a chunk of the algorithm `zion+zstd` from its shape, with the symbols, and buckets."""
    return zion_segments([shape, *(buckets.get(at, b"") for at in range(16))])


def entry(places: list[int]) -> bytes:
    """Encode the shape of a row from the buckets of its fields."""
    out = b""
    while True:
        part, places = places[:16], places[16:]
        nibbles = [*part, 0]
        pairs = (nibbles[i] | nibbles[i + 1] << 4 for i in range(0, len(part), 2))
        out += bytes([len(part)]) + bytes(pairs)
        if len(part) < 16:
            return out


def zion_segments(segments: list[bytes], *, head: bytes = b"\x00\x00\x00\x00") -> bytes:
    """Put the segments of a zion chunk together."""
    return zion_stored([packed(segment) if segment else b"" for segment in segments], head=head)


def zion_stored(segments: list[bytes], *, head: bytes) -> bytes:
    """Put segments together that are compressed already."""
    stored = (len(segment).to_bytes(3, "little") + segment for segment in segments)
    return b"\x83zip" + head + b"".join(stored)


def frame(payload: bytes) -> bytes:
    """Wrap a payload."""
    size = len(payload)
    groups = [size >> 21 & 0x7F, size >> 14 & 0x7F, size >> 7 & 0x7F, size & 0x7F | 0x80]
    return b"\xae" + bytes(groups) + payload


# -- The trailer (section 8)


def encoded(item: Any, numbers: dict[str, int]) -> bytes:
    """Encode a Python value; names get numbers as they come. Texts in paths are `Symbol`."""
    match item:
        case Raw():
            return bytes(item)
        case None:
            return b"\x0f"
        case bool():
            return b"\x11" if item else b"\x10"
        case int():
            return integer(item)
        case float():
            return floating(item)
        case Symbol():
            return symbol(numbers.setdefault(item.text, FIRST + len(numbers) - len(SYSTEM)))
        case str():
            return string(item)
        case list():
            return array(*(encoded(inner, numbers) for inner in item))
    named = [
        (numbers.setdefault(name, FIRST + len(numbers) - len(SYSTEM)), inner)
        for name, inner in item.items()
    ]
    return members(*sorted((number, encoded(inner, numbers)) for number, inner in named))


@dataclass(frozen=True)
class Symbol:
    """A text that is written as a symbol."""

    text: str


def stream(item: Any) -> bytes:
    """Encode a value as a separate stream."""
    numbers = {name: number for number, name in enumerate(SYSTEM)}
    body = encoded(item, numbers)
    return table(*list(numbers)[FIRST:]) + body


def steps(numbers: list[int]) -> list[int]:
    """Encode pairs, both as second differences."""
    out = []
    for column in (numbers[0::2], numbers[1::2]):
        at = step = 0
        differences = []
        for number in column:
            differences.append(number - at - step)
            step, at = number - at, number
        out.append(differences)
    return [number for pair in zip(*out, strict=True) for number in pair]


def index(path: str, high: list[int], low: list[int]) -> dict[str, Any]:
    """Describe a time index; both lists are (time, block) pairs, one after the other."""
    names = [Symbol(name) for name in path.split(".")]
    return {"path": names, "ranges": {"max": steps(high), "min": steps(low)}}


def described(
    offset: int, blocks: list[tuple[int, int]], algorithm: str = "zion+zstd", **changes: Any
) -> dict[str, Any]:
    """Describe a packfile as its trailer does."""
    delta = []
    at = step = count = 0
    for start, chunks in blocks:
        delta += [start - at - step, chunks - count]
        step, at, count = start - at, start, chunks
    trailer = {
        "version": 1,
        "offset": offset,
        "algo": algorithm,
        "blockshift": 20,
        "sparse": {"blocks": len(blocks), "indices": []},
        "blocks-delta": delta,
    }
    return trailer | changes


def closed(data: bytes, trailer: bytes) -> bytes:
    """Put a trailer behind the frames."""
    return data + trailer + len(trailer).to_bytes(4, "little")


def packfile(blocks: list[list[bytes]], algorithm: str = "zion+zstd", **changes: Any) -> bytes:
    """Build a packfile.

    Parameters
    ----------
    blocks : list of lists of bytes
        The payloads of the chunks of each block.
    algorithm : str
        Name of the compression.
    **changes
        Fields of the trailer that shall differ.
    """
    data = b""
    placed = []
    for payloads in blocks:
        placed.append((len(data), len(payloads)))
        data += b"".join(map(frame, payloads))
    return closed(data, stream(described(len(data), placed, algorithm, **changes)))
