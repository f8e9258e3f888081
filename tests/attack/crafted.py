"""Packfiles that no packer writes, put together byte by byte after docs/format.md.

They are what strangers may send: canonical in their outer form, so that a reader gets as far as
the part that a test is about. Everything is made from its arguments, so nothing has to be stored.
"""

from __future__ import annotations

import zstandard

from sdb import ion
from sdb.packfile.sparseindex import SparseIndex
from sdb.packfile.trailer import Block, Trailer

MARKER = b"\xe0\x01\x00\xea"
EMPTY, LIST, STRUCT, STRING, SYMBOL = b"\x0f", 0xB, 0xD, 0x8, 0x7


def varuint(number: int) -> bytes:
    """Encode a VarUInt."""
    groups = [number & 0x7F | 0x80]
    while number := number >> 7:
        groups.append(number & 0x7F)
    return bytes(reversed(groups))


def value(kind: int, content: bytes) -> bytes:
    """Encode a value of a type with its content."""
    if len(content) < 14:
        return bytes([kind << 4 | len(content)]) + content
    return bytes([kind << 4 | 14]) + varuint(len(content)) + content


def number(magnitude: int, kind: int = 2) -> bytes:
    """Encode an integer, or what is encoded like one."""
    return value(kind, magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big"))


def row(*fields: tuple[int, bytes]) -> bytes:
    """Encode a struct of (symbol, value)."""
    return value(STRUCT, b"".join(varuint(name) + content for name, content in fields))


def nested(depth: int, *, name: int | None = None, inner: bytes = EMPTY) -> bytes:
    """Encode a value inside of ``depth`` lists, or structs of one field."""
    heads = []
    length = len(inner)
    label = b"" if name is None else varuint(name)
    kind = LIST if name is None else STRUCT
    for _ in range(depth):
        length += len(label)
        small = length < 14
        head = bytes([kind << 4 | length]) if small else bytes([kind << 4 | 14]) + varuint(length)
        heads.append(head + label)
        length += len(head)
    return b"".join(reversed(heads)) + inner


def table(*names: bytes, adds: bool = False) -> bytes:
    """Encode a symbol table, a full one unless it ``adds`` to the one before."""
    listed = b"\x87" + value(LIST, b"".join(value(STRING, name) for name in names))
    content = value(STRUCT, (b"\x86\x71\x03" if adds else b"") + listed)
    return (b"" if adds else MARKER) + value(0xE, b"\x81\x83" + content)


def plain(content: bytes, align: int) -> bytes:
    """Compress a chunk as ``zstd`` has it: one frame, filled up with padding."""
    missing = align - len(content)
    padding = b""
    while missing:
        rest = missing - 1
        if rest <= 13:
            padding += bytes([rest]) + bytes(rest)
            break
        length = rest - len(varuint(rest))
        if len(varuint(length)) != len(varuint(rest)):
            length = rest - len(varuint(rest)) - 1
        piece = b"\x0e" + varuint(length) + bytes(length)
        padding += piece
        missing -= len(piece)
    return zstandard.compress(content + padding)


def zion(shape: bytes, buckets: dict[int, bytes], selector: int = 0) -> bytes:
    """Compress a chunk as ``zion+zstd`` has it, from its shape and its buckets."""
    parts = [b"\x83zip", bytes([selector, 0, 0, 0])]
    for content in (shape, *(buckets.get(at, b"") for at in range(16))):
        segment = zstandard.compress(content) if content else b""
        parts += (len(segment).to_bytes(3, "little"), segment)
    return b"".join(parts)


def frame(payload: bytes) -> bytes:
    """Put the header of a frame before a chunk."""
    length = len(payload)
    groups = [length >> shift & 0x7F for shift in (21, 14, 7)]
    return bytes([0xAE, *groups, length & 0x7F | 0x80]) + payload


def packfile(
    *blocks: list[bytes],
    algorithm: str = "zion+zstd",
    block_shift: int = 20,
    chunks: tuple[int, ...] | None = None,
    sparse: SparseIndex | None = None,
) -> bytes:
    """Put a file together from the compressed chunks of its blocks.

    ``chunks`` are the numbers that the trailer tells, and ``sparse`` its indexes.
    """
    data = b""
    listed = []
    for at, payloads in enumerate(blocks):
        listed.append(Block(len(data), chunks[at] if chunks else len(payloads)))
        data += b"".join(map(frame, payloads))
    sparse = sparse or SparseIndex(len(listed))
    return data + Trailer(1, len(data), algorithm, block_shift, tuple(listed), sparse).encode()


def trailer_of(struct: dict[str, object]) -> bytes:
    """Encode a trailer of any fields, and its length."""
    data = ion.dumps(struct)
    return data + len(data).to_bytes(4, "little")
