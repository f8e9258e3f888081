"""Packfiles that no packer writes, each under a name that says what is wrong with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tests.attack.craft import (
    FIRST,
    VERSION_MARKER,
    Raw,
    Symbol,
    array,
    closed,
    described,
    floating,
    frame,
    header,
    index,
    integer,
    members,
    nested,
    packed,
    packfile,
    padding,
    plain_chunk,
    put_varuint,
    raw_table,
    stream,
    string,
    symbol,
    table,
    value,
    zion_chunk,
    zion_segments,
    zion_stored,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

A, B, C = FIRST, FIRST + 1, FIRST + 2
NAMES = ("a", "b", "c")
NOW = 1_714_564_800_000_000
TIME = b"\x68\x80\x0f\xe8\x85\x81\x8c\x80\x80"
NUMBERS = (-1, 0, 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63))
ODD = (
    *NUMBERS,
    -(2**63) - 1,
    Raw(value(2, b"\x01" * 20)),
    math.nan,
    math.inf,
    -math.inf,
    0.5,
    None,
    True,
    "text",
    Symbol("text"),
    [],
    {},
    {"x": 1},
    [[]] * 3,
    Raw(TIME),
    Raw(b"\xaf"),
    Raw(b"\xa3abc"),
    Raw(nested(0xB, 1000)),
    Raw(nested(0xB, 100_000)),
    Raw(nested(0xD, 100_000, b"\x84")),
    Raw(b"\xe4\x81\x84\x21\x01"),
    Raw(b"\x52\xc1\x01"),
    Raw(b"\x92ab"),
    Raw(b"\xc2\x20\x20"),
    Raw(symbol(10**6)),
)


def rows_of(row: bytes, *names: str, shift: int = 20) -> bytes:
    """Build a packfile of one row, uncommon as it may be."""
    return packfile([[plain_chunk(table(*names) + row, shift)]], "zstd", blockshift=shift)


def of_zion(*fields: tuple[int, bytes], names: tuple[str, ...] = ("a", "b", "c")) -> bytes:
    """Build a packfile of one row in zion."""
    return packfile([[zion_chunk(table(*names), [list(fields)])]])


# -- Values


def values() -> Iterator[tuple[str, bytes]]:
    """Yield values of rows that are odd, forbidden or broken."""
    yield "unknown symbol", symbol(1000)
    yield "huge symbol", value(7, b"\xff" * 8)
    yield "symbol zero", symbol(0)
    yield "integer of nine bytes", value(2, b"\x01" * 9)
    yield "integer of a thousand bytes", value(2, b"\x01" * 1000)
    yield "integer with leading zeros", value(2, b"\x00\x01")
    yield "negative zero", b"\x30"
    yield "below the least integer", integer(-(2**63) - 1)
    yield "float of three bytes", b"\x43abc"
    yield "NaN", floating(math.nan)
    yield "infinity", floating(math.inf)
    yield "short float", b"\x44\x3f\x80\x00\x00"
    yield "empty float", b"\x40"
    yield "decimal", b"\x52\xc1\x01"
    yield "decimal of a huge exponent", value(5, b"\x3f\x7f\x7f\x7f\xff\x01")
    yield "text that is no UTF-8", string(b"\xff\xfe\xed\xa0\x80")
    yield "clob", b"\x92\xff\xfe"
    yield "blob", b"\xa2\xff\xfe"
    yield "s-expression", b"\xc2\x20\x20"
    yield "annotation", b"\xe4\x81\x84\x21\x01"
    yield "symbol table", table("x")
    yield "version marker", VERSION_MARKER
    yield "reserved type", b"\xf1\x00"
    yield "bool of another size", b"\x12"
    yield "length beyond the row", b"\xbe\x7f\x7f\x7f\xff"
    yield "length without end", b"\x8e" + b"\x7f" * 30
    yield "list that ends within an item", b"\xb2\x82a"
    yield "struct that ends within a name", b"\xd3\x84\x20\x00"
    yield "struct with padding", b"\xd5\x8a\x20\x8b\x01\x00"
    yield "struct of length one", b"\xd1\x8a"
    yield "sorted struct of Ion", b"\xd1\x82\x8a\x20"
    yield "struct in descending order", members((B, integer(1)), (A, integer(2)))
    yield "struct with a name twice", members((A, integer(1)), (A, integer(2)))
    yield "struct with an unknown name", members((10_000, integer(1)))
    yield "struct with a huge name", b"\xde\x8d" + b"\x7f" * 11 + b"\xff\x20"
    yield "typed null", b"\xbf"
    yield "list of padding", b"\xb4\x03\x00\x00\x00"


def times() -> Iterator[tuple[str, bytes]]:
    """Yield timestamps that are odd."""
    yield "year only", b"\x63\x80\x0f\xe8"
    yield "no content", b"\x60"
    yield "offset only", b"\x61\x80"
    yield "month 99", b"\x68\x80\x0f\xe8\xe3\x81\x8c\x80\x80"
    yield "day zero", b"\x68\x80\x0f\xe8\x85\x80\x8c\x80\x80"
    yield "huge year", value(6, b"\x80" + b"\x7f" * 8 + b"\xff\x81\x81\x80\x80\x80")
    yield "huge month", value(6, b"\x80\x0f\xe8" + b"\x7f" * 8 + b"\xff\x81\x80\x80\x80")
    yield "huge second", value(6, b"\x80\x0f\xe8\x81\x81\x80\x80" + b"\x7f" * 8 + b"\xff")
    yield "huge exponent", value(6, b"\x80\x0f\xe8\x81\x81\x80\x80\x80\x3f\x7f\x7f\x7f\xff\x01")
    yield "small exponent", value(6, b"\x80\x0f\xe8\x81\x81\x80\x80\x80\x7f\x7f\x7f\x7f\xff\x01")
    yield "huge fraction", value(6, b"\x80\x0f\xe8\x81\x81\x80\x80\x80\xc6" + b"\x7f" * 40)
    yield "unknown offset", b"\x68\xc0\x0f\xe8\x85\x81\x8c\x80\x80"
    yield "other offset", value(6, b"\x04\xb0\x0f\xe8\x85\x81\x8c\x80\x80")
    yield "year 0", b"\x67\x80\x80\x81\x81\x80\x80\x80"
    yield "year 16383", b"\x68\x80\x7f\xff\x8c\x9f\x97\xbb\xbb"


def of_values() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Put each odd value into a row, a list, a struct and a bucket."""
    for name, odd in [*values(), *times()]:
        yield f"row: {name}", lambda odd=odd: rows_of(odd, *NAMES)
        yield f"field: {name}", lambda odd=odd: rows_of(members((A, odd), (B, integer(1))), *NAMES)
        yield f"list: {name}", lambda odd=odd: rows_of(members((A, array(odd))), *NAMES)
        yield (
            f"struct: {name}",
            lambda odd=odd: rows_of(members((A, members((B, odd)))), *NAMES),
        )
        yield f"zion: {name}", lambda odd=odd: of_zion((A, odd), (B, integer(1)))
        yield f"zion list: {name}", lambda odd=odd: of_zion((A, array(odd, integer(1))))


# -- Depth, size and number


def empty_rows(count: int, chunks: int, shift: int) -> bytes:
    """Build chunks of nothing but rows without fields."""
    chunk = zion_segments([table() + bytes(count), *[b""] * 16])
    return packfile([[chunk] * chunks], blockshift=shift)


def bombs() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield files that stand for far more than they are."""
    for depth in (64, 1000, 24_000, 100_000):
        yield f"{depth} lists", lambda d=depth: rows_of(members((A, nested(0xB, d))), "a")
        yield f"{depth} lists in zion", lambda d=depth: of_zion((A, nested(0xB, d)))
        yield f"{depth} structs", lambda d=depth: rows_of(nested(0xD, d, b"\x8a"), "a")
        yield f"{depth} structs in zion", lambda d=depth: of_zion((A, nested(0xD, d, b"\x8a")))
    yield "260000 lists", lambda: rows_of(members((A, nested(0xB, 260_000))), "a")
    yield "260000 lists at another size", lambda: rows_of(nested(0xB, 200_000), "a")
    yield "63 million empty rows", lambda: empty_rows(63_000_000, 1, 26)
    yield "50 chunks of 63 million empty rows", lambda: empty_rows(63_000_000, 50, 26)
    yield "50 chunks of a million empty rows", lambda: empty_rows(1_000_000, 50, 20)
    yield (
        "16 million empty rows in zstd",
        lambda: packfile(
            [[plain_chunk(table() + b"\xd0" * 16_000_000, 24)]], "zstd", blockshift=24
        ),
    )
    yield (
        "60 million empty symbols",
        lambda: packfile(
            [[zion_segments([raw_table(value(0xB, b"\x80" * 60_000_000)), *[b""] * 16])]],
            blockshift=26,
        ),
    )
    yield (
        "a symbol of 60 MB",
        lambda: packfile([[zion_chunk(table("x" * 60_000_000), [[(A, b"\x20")]])]], blockshift=26),
    )
    yield (
        "60 MB of symbols in zstd",
        lambda: rows_of(members((A, b"\x20")), *["x" * 100] * 600_000, shift=26),
    )
    long = "x" * (512 << 10)
    many = value(0xB, symbol(A) * 262_000)
    yield "a long symbol 262000 times", lambda: rows_of(members((A, many)), long)
    yield (
        "a long symbol 262000 times in zion",
        lambda: packfile([[zion_chunk(table(long, "b"), [[(B, many)]])]]),
    )
    yield (
        "a long symbol in 100000 rows",
        lambda: rows_of(members((B, symbol(A))) * 100_000, long, "b"),
    )
    yield "a long name in 100000 rows", lambda: rows_of(members((A, b"\x20")) * 100_000, long)
    yield (
        "a long name in 60000 structs",
        lambda: rows_of(members((B, array(*[members((A, b"\x20"))] * 60_000))), long, "b"),
    )
    # A row counts for each of its many names, however little it holds.
    wide = members(*((FIRST + n, b"\x20") for n in range(50_000)))
    yield "50000 fields in a row", lambda: rows_of(wide, *(f"{n:x}" for n in range(50_000)))
    yield "a name 50000 times", lambda: rows_of(members(*[(A, b"\x20")] * 50_000), "a")
    yield "60000 tables", lambda: rows_of(table("x", marker=False) * 60_000 + b"\xd0", "a")
    yield (
        "a table that is one list of lists",
        lambda: packfile(
            [[plain_chunk(raw_table(nested(0xB, 100_000)) + members((4, b"\x20")))]], "zstd"
        ),
    )
    yield (
        "1000 chunks in a block",
        lambda: packfile([[zion_chunk(table("a"), [[(A, b"\x20")]])] * 1000]),
    )
    yield (
        "2000 blocks",
        lambda: packfile([[zion_chunk(table("a"), [[(A, b"\x20")]])]] * 2000),
    )


# -- Chunks and frames


def chunks() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield files whose chunks are broken in ways that compression does not show."""
    head, rows = table("a", "b"), members((A, integer(1)), (B, string("x"))) * 3
    zion = zion_chunk(head, [[(A, integer(1)), (B, string("x"))]] * 3)
    yield "only padding", lambda: packfile([[plain_chunk(b"")]], "zstd")
    yield "only a table", lambda: packfile([[plain_chunk(head)]], "zstd")
    yield "no table", lambda: packfile([[plain_chunk(rows)]], "zstd")
    yield "no table in zion", lambda: packfile([[zion_chunk(b"", [[(A, integer(1))]])]])
    appending = table("a", marker=False)
    yield "appends to nothing", lambda: packfile([[plain_chunk(appending + rows)]], "zstd")
    yield "table in the middle", lambda: packfile([[plain_chunk(head + rows + head)]], "zstd")
    yield "two tables", lambda: packfile([[plain_chunk(head + appending + rows)]], "zstd")
    yield "second chunk appends", lambda: packfile([[zion, zion_chunk(appending, [[(C, TIME)]])]])
    yield "empty frame", lambda: packfile([[b""]])
    yield "empty zstd", lambda: packfile([[packed(b"")]], "zstd")
    yield "wrong algorithm", lambda: packfile([[zion]], "zstd")
    yield "zstd called zion", lambda: packfile([[plain_chunk(head + rows)]])
    yield "chunk too short", lambda: packfile([[packed(head + rows)]], "zstd")
    yield "chunk too long", lambda: packfile([[packed(head + rows + padding(2 << 20))]], "zstd")
    yield (
        "two zstd frames",
        lambda: packfile([[packed(head + rows) + packed(padding((1 << 20) - len(head + rows)))]]),
    )
    skipped = b"\x50\x2a\x4d\x18\xff\xff\xff\x7f"
    yield "skippable frame beyond the end", lambda: packfile([[skipped]], "zstd")
    yield "skippable frame", lambda: packfile([[b"\x50\x2a\x4d\x18" + bytes(4)]], "zstd")
    # Frame header: no checksum, window of 2^41 bytes; then one that announces 2^63 bytes.
    yield "huge window", lambda: packfile([[b"\x28\xb5\x2f\xfd\x00\xff" + bytes(9)]], "zstd")
    announced = b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + bytes(9)
    yield "huge content", lambda: packfile([[announced]], "zstd")
    yield (
        "huge content in a bucket",
        lambda: packfile(
            [[zion_stored([packed(head + b"\x01\x0e"), *[announced] * 16], head=bytes(4))]]
        ),
    )
    yield (
        "more frames than chunks",
        lambda: closed(frame(zion) * 2, stream(described(2 * len(frame(zion)), [(0, 1)]))),
    )
    yield (
        "fewer frames than chunks",
        lambda: closed(frame(zion), stream(described(len(frame(zion)), [(0, 2)]))),
    )
    yield (
        "frame of another type",
        lambda: closed(b"\x8e" + frame(zion)[1:], stream(described(len(frame(zion)), [(0, 1)]))),
    )


def shapes() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield zion chunks whose parts do not fit together."""
    head = table("a", "b")
    fields = [[(A, integer(1)), (B, string("x"))]]

    def shaped(shape: bytes) -> bytes:
        return packfile([[zion_chunk(head, fields, shape=shape)]])

    for name, shape in {
        "count 17": b"\x11" + bytes(9),
        "count 63": b"\x3f" + bytes(40),
        "ends within a row": b"\x02",
        "count 16 at the end": b"\x10" + b"\xee" * 8,
        "bucket without fields": b"\x01\x00",
        "too many fields": b"\x0e" + b"\xee" * 7,
        "class of another size": b"\xc2\xae",
        "no rows": b"",
        "a table again": head,
        "unused nibble": b"\x01\xae",
    }.items():
        yield f"shape: {name}", lambda shape=shape: shaped(shape)
    segments = [packed(head + b"\x01\x0e"), *[b""] * 14, packed(b"\x8a\x21\x01"), b""]
    for name, byte in {"compression 3": 0x30, "compression 15": 0xF0, "selector 15": 0x0F}.items():
        yield (
            name,
            lambda byte=byte: packfile([[zion_stored(segments, head=bytes([byte, 0, 0, 0]))]]),
        )
    yield "reserved bits", lambda: packfile([[zion_stored(segments, head=b"\x00\x01\x00\x00")]])
    yield (
        "segment beyond the chunk",
        lambda: packfile([[zion_stored(segments, head=bytes(4))[:8] + b"\xff\xff\xff"]]),
    )
    yield "too few segments", lambda: packfile([[zion_stored(segments[:5], head=bytes(4))]])
    yield (
        "bytes after the segments",
        lambda: packfile([[zion_stored(segments, head=bytes(4)) + b"x" * 100]]),
    )
    yield (
        "shape of 60 MB",
        lambda: packfile([[zion_stored([packed(bytes(60_000_000)), *[b""] * 16], head=bytes(4))]]),
    )
    yield (
        "bucket of 60 MB",
        lambda: packfile(
            [[zion_stored([segments[0], *[packed(bytes(60_000_000))] * 16], head=bytes(4))]]
        ),
    )


def control(number: int) -> bytes:
    """Encode a control number of Iguana as it stands in the file: backwards."""
    return put_varuint(number)[::-1]


def iguana() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield Iguana buffers that announce more than they hold, or nonsense."""
    head = table("a", "b")
    shape = head + b"\x01\x0e"
    stored = shape + control(len(shape)) + b"\x80" + control(len(shape))
    big = 2**60

    def bucket(buffer: bytes, kind: int = 1) -> bytes:
        first = (b"\x00" if kind == 2 else b"") + stored[: len(shape)] + stored[len(shape) :]
        segments = [first, *[b""] * 14, buffer, b""]
        name = "zion+iguana_v0" + "/specialized" * (kind == 2)
        return packfile([[zion_stored(segments, head=bytes([kind << 4, 0, 0, 0]))]], name)

    sizes = control(1) + control(40) * 5
    for name, buffer in {
        "huge result": b"abc" + control(3) + b"\x80" + control(big),
        "huge copy": b"abc" + control(big) + b"\x80" + control(3),
        "number without end": b"\x00" * 40,
        "no control": b"",
        "command 5": b"abc" + control(3) + b"\x85" + control(3),
        "command 127": b"abc" + control(3) + b"\xff" + control(3),
        "commands without end": b"\x00" * 100 + control(100),
        "huge ANS": b"abc" * 40 + control(3) + control(big) + b"\x82" + control(big),
        "ANS of nothing": control(0) + control(100) + b"\x83" + control(100),
        "nibbles of a damaged table": b"\xff" * 200
        + control(200)
        + control(1000)
        + b"\x84"
        + control(1000),
        "huge streams": b"x" * 60 + control(big) * 6 + control(0) + b"\x81" + control(100),
        "streams of 1 GiB": b"x" * 60 + control(1 << 30) * 6 + control(0) + b"\x81" + control(1000),
        "packed streams of 1 GiB": b"x" * 60
        + control(10) * 6
        + control(1 << 30) * 6
        + control(0x111111)
        + b"\x81"
        + control(1000),
        "mode 9": b"x" * 60 + sizes + control(0x999999) + b"\x81" + control(100),
        "distance beyond the start": b"\x20\xff\xff"
        + control(0) * 4
        + control(2)
        + control(1)
        + control(0)
        + b"\x81"
        + control(20),
        "result of 16 MB": b"a\x7d\x01\x00"
        + control(1) * 6
        + control(0)
        + b"\x81"
        + control(1 << 24),
    }.items():
        yield f"iguana: {name}", lambda buffer=buffer: bucket(buffer)
        yield f"vector 0: {name}", lambda buffer=buffer: bucket(b"\x00" + buffer, 2)
    for name, buffer in {
        "nothing": b"",
        "kind 1 without a name": b"\x01",
        "kind 1 of a huge list": b"\x01\x8a\x7f\x7f\x7f\xff",
        "kind 1 of empty lists": b"\x01\x8a" + b"\x80" * 100_000,
        "kind 1 that does not fit": b"\x01\x8a\x83\x01\x01",
        "kind 2 without a name": b"\x02",
        "kind 2 of a huge list": b"\x02\x8a" + b"\x7f" * 8 + b"\xff\x81\x00",
        "kind 2 of empty lists": b"\x02\x8a" + b"\x80\x80" * 100_000,
        "kind 2 of 2^28 zeros": b"\x02\x8a\x7f\x7f\x7f\xff\x7f\x7f\x7f\xff" + b"\x1f" * 1000,
        "kind 2 beyond the count": b"\x02\x8a\x81\x81\x1f",
        "kind 2 of NaN": b"\x02\x8a\x81\x89\xe0" + b"\xff" * 8,
        "kind 3": b"\x03\x8a\x81",
        "kind 255": b"\xff\x8a\x81",
    }.items():
        yield f"vector: {name}", lambda buffer=buffer: bucket(buffer, 2)


# -- Trailers


def replaced(tree: Any, path: tuple[str | int, ...], item: Any) -> Any:
    """Copy a tree with another value at a path."""
    if not path:
        return item
    first, *rest = path
    copy = list(tree) if isinstance(tree, list) else dict(tree)
    copy[first] = replaced(copy[first], tuple(rest), item)  # type: ignore[index]
    return copy


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """List the paths of all values of a tree."""
    yield path
    if isinstance(tree, dict | list):
        for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(item, (*path, key))


def sound() -> tuple[bytes, dict[str, Any]]:
    """Return the frames and the description of a sound file of two blocks and a time index."""
    chunk = zion_chunk(table("at", "n"), [[(A, TIME), (B, integer(n))] for n in range(9)])
    data = frame(chunk) * 2
    sparse = {
        "blocks": 2,
        "consts": {"region": "eu", "k": 1},
        "indices": [index("at", [NOW, 1, NOW + 1, 2], [NOW, 0])],
        "sdb": {
            "version": 1,
            "rows": [9, 0],
            "types": [
                {"path": [Symbol("at")], "mask": 64},
                {"path": [Symbol("n")], "mask": 4},
            ],
            "complete": True,
        },
    }
    blocks = [(0, 1), (len(frame(chunk)), 1)]
    return data, described(len(data), blocks, sparse=sparse)


def trailers(chance: random.Random, count: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield trailers in which a value is another one."""
    data, trailer = sound()
    pairs = [(path, odd) for path in places(trailer) for odd in ODD]
    for path, odd in chance.sample(pairs, min(count, len(pairs))):
        name = ".".join(map(str, path)) or "all"
        text = f"{type(odd).__name__} {odd!r:.40}"
        yield (
            f"trailer: {name} is {text}",
            lambda path=path, odd=odd: closed(data, stream(replaced(trailer, path, odd))),
        )


def zeros(count: int, start: bytes = b"") -> Raw:
    """Encode a list of this many zeros behind other items."""
    return Raw(value(0xB, start + b"\x20" * count))


def indexes() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield trailers with indexes and lists that do not fit, or are far too long."""
    data, trailer = sound()
    sparse = trailer["sparse"]

    def indexed(*indices: Any) -> Callable[[], bytes]:
        changed = trailer | {"sparse": sparse | {"indices": list(indices)}}
        return lambda: closed(data, stream(changed))

    yield "index of one block", indexed(index("at", [NOW, 1], [NOW, 0]))
    yield "index of three blocks", indexed(index("at", [NOW, 1, NOW + 1, 3], [NOW, 0]))
    yield "index of 2^62 blocks", indexed(index("at", [NOW, 2**62], [NOW, 0]))
    yield "index of no entries", indexed(index("at", [], []))
    yield "index with only min", indexed(index("at", [], [NOW, 0]))
    yield "index with falling times", indexed(index("at", [NOW, 1, NOW - 1, 2], [NOW, 0]))
    yield "index with falling blocks", indexed(index("at", [NOW, 2, NOW + 1, 1], [NOW, 1, NOW, 0]))
    yield "index with negative blocks", indexed(index("at", [NOW, -2], [NOW, -1]))
    extreme = [2**63 - 1, 1, -(2**63), 2]
    yield "index of extreme times", indexed(index("at", extreme, extreme))
    twice = index("at", [NOW, 2], [NOW, 0])
    yield "index twice", indexed(twice, twice)
    yield "index of a field that is not there", indexed(index("nowhere.at.all", [NOW, 2], [NOW, 0]))
    names = ".".join("x" for _ in range(100_000))
    yield "index of a path of 100000 names", indexed(index(names, [NOW, 2], [NOW, 0]))
    for name, start in {"equal": b"", "rising": b"\x21\x01\x20"}.items():
        yield (
            f"7.8 MB of {name} index entries",
            lambda start=start: indexed(
                {
                    "path": [Symbol("at")],
                    "ranges": {
                        "max": [NOW, 2],
                        "min": zeros(7_800_000, integer(NOW) + b"\x20" + start),
                    },
                }
            )(),
        )
    many = [index(f"f{n}", [NOW, 2], [NOW, 0]) for n in range(20_000)]
    yield "20000 indexes", indexed(*many)
    types = [{"path": [Symbol(f"f{n}")], "mask": 1} for n in range(20_000)]
    extension = sparse["sdb"] | {"types": types}
    changed = trailer | {"sparse": sparse | {"sdb": extension}}
    yield "20000 types", lambda: closed(data, stream(changed))
    constants = {f"f{n}": n for n in range(20_000)}
    other = trailer | {"sparse": sparse | {"consts": constants}}
    yield "20000 constants", lambda: closed(data, stream(other))
    for name in ("blocks-delta", "offset", "more"):
        yield (
            f"8 MB in {name}",
            lambda name=name: closed(data, stream(trailer | {name: zeros(8_000_000)})),
        )
    yield (
        "8 million indexes",
        lambda: closed(
            data,
            stream(
                trailer | {"sparse": sparse | {"indices": Raw(value(0xB, b"\xd0" * 8_000_000))}}
            ),
        ),
    )
    body = stream(trailer)
    yield (
        "trailer with a table of 8 MB",
        lambda: closed(data, raw_table(value(0xB, b"\x80" * 8_000_000)) + body),
    )
    yield "trailer of tables", lambda: closed(data, table("x", marker=False) * 200_000 + body)
    yield (
        "trailer of one annotation",
        lambda: closed(data, header(0xE, 5) + b"\x81\x83\xd2\x87\xb0"),
    )
    yield "trailer twice", lambda: closed(data, body + body)
    yield "trailer of padding", lambda: closed(data, padding(10_000))
    older = {name: item for name, item in trailer.items() if name != "blocks-delta"}
    for chunks_ in (0, -1, 2**62):
        blocks = [{"offset": 0, "chunks": chunks_}, {"offset": len(data) // 2}]
        yield (
            f"older blocks of {chunks_} chunks",
            lambda blocks=blocks: closed(data, stream(older | {"blocks": blocks})),
        )
    for chunks_ in (2**31, 2**32, 2**62, 2**63 - 1):
        yield (
            f"{chunks_} chunks in a block",
            lambda n=chunks_: closed(data, stream(trailer | {"blocks-delta": [0, n]})),
        )
