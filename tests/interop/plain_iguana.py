"""A slow iguana decoder in plain Python, written from docs/format.md section 7 and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

PLAIN, ANS32, ANS1, NIBBLE = range(4)


@dataclass(slots=True)
class Control:
    """Control bytes, read backwards; ``end`` is the first byte that was read already."""

    data: bytes
    end: int

    def byte(self) -> int:
        self.end -= 1
        assert self.end >= 0, "control bytes run off the front"
        return self.data[self.end]

    def number(self) -> int:
        value = 0
        while True:
            byte = self.byte()
            value = value * 128 + (byte & 0x7F)
            if byte & 0x80:
                return value


@dataclass(slots=True)
class Stream:
    """Bytes that are read forwards."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        assert len(piece) == count, "a stream is exhausted"
        self.at += count
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def extension(self) -> int:
        first = self.number(1)
        if first < 254:
            return first
        return sum(byte * 254**power for power, byte in enumerate(self.take(first - 252)))


def decompress(buffer: bytes) -> bytes:
    """Expand a buffer (7.1)."""
    control = Control(buffer, len(buffer))
    data = Stream(buffer)
    out = bytearray()
    total = control.number()
    last = total == 0
    while not last:
        command = control.byte()
        last = command >= 0x80
        command &= 0x7F
        if command == 0:
            out += data.take(control.number())
        elif command == 1:
            structural(control, data, out)
        else:
            size, packed = control.number(), control.number()
            mode = {2: ANS32, 3: ANS1, 4: NIBBLE}[command]
            out += unpack(mode, data.take(packed), size)
    assert len(out) == total
    assert total == 0 or data.at == control.end, "data and control bytes do not meet"
    return bytes(out)


def structural(control: Control, data: Stream, out: bytearray) -> None:
    """Tokens and matches (7.2)."""
    modes = control.number()
    assert modes < 1 << 24
    sizes = [control.number() for _ in range(6)]
    kinds = [modes >> 4 * i & 15 for i in range(6)]
    packed = [control.number() if kind else size for kind, size in zip(kinds, sizes, strict=True)]
    streams = [
        Stream(unpack(kind, data.take(length), size))
        for kind, length, size in zip(kinds, packed, sizes, strict=True)
    ]
    tokens, short, long, literal_sizes, match_sizes, literals = streams
    start = len(out)
    distance = 0
    for token in tokens.data:
        count = 0
        if token < 0x1F:
            match, distance = token + 16, long.number(3)
        elif token == 0x1F:
            match, distance = 47 + match_sizes.extension(), long.number(3)
        else:
            count = token & 7
            if count == 7:
                count += literal_sizes.extension()
            match = token >> 3 & 15
            if token < 0x80:
                distance = short.number(2)
            if match == 15:
                match += match_sizes.extension()
        out += literals.take(count)
        assert match == 0 or 1 <= distance <= len(out) - start
        for _ in range(match):
            out.append(out[-distance])
    out += literals.take(len(literals.data) - literals.at)
    assert all(stream.at == len(stream.data) for stream in streams[1:5]), "bytes are left over"


def unpack(mode: int, packed: bytes, size: int) -> bytes:
    """Expand one stream."""
    if mode == PLAIN:
        assert len(packed) == size
        return packed
    if mode == NIBBLE:
        nibbles = one_state(*dense_table(packed, 16), 2 * size)
        return bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
    assert packed[-1] == 0, "no writer uses the sparse form"
    coded, symbols = dense_table(packed[:-1], 256)
    return bytes((ans32 if mode == ANS32 else one_state)(coded, symbols, size))


def dense_table(packed: bytes, count: int) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Split off the frequencies; for each of 4096 slots: symbol, frequency, start (7.3)."""
    width = count * 3 // 8
    fields = int.from_bytes(packed[-width:], "little")
    at = 2 * (len(packed) - width)

    def nibble() -> int:
        nonlocal at
        at -= 1
        return packed[at // 2] >> (0 if at % 2 else 4) & 15

    slots: list[tuple[int, int, int]] = []
    for symbol in range(count):
        field = fields >> 3 * symbol & 7
        base = [0, 1, 2, 3, 4, 5, 21, 277][field]
        frequency = base + sum(nibble() << 4 * i for i in range(max(field - 4, 0)))
        slots += [(symbol, frequency, len(slots))] * frequency
    assert len(slots) in (4095, 4096)
    return packed[: at // 2], slots


def one_state(coded: bytes, slots: list[tuple[int, int, int]], size: int) -> list[int]:
    """ANS1 (7.4)."""
    at = len(coded) - 4
    state = int.from_bytes(coded[at:], "little")
    out = []
    for _ in range(size):
        symbol, frequency, start = slots[state & 4095]
        out.append(symbol)
        state = frequency * (state >> 12) + (state & 4095) - start
        if state < 1 << 16:
            at -= 2
            state = state << 16 | int.from_bytes(coded[at : at + 2], "little")
    assert (state, at) == (1 << 16, 0)
    return out


def ans32(coded: bytes, slots: list[tuple[int, int, int]], size: int) -> list[int]:
    """ANS32 (7.5)."""
    front, back = 64, len(coded) - 64
    places = [*range(0, 64, 4), *range(back, back + 64, 4)]
    states = [int.from_bytes(coded[path : path + 4], "little") for path in places]
    out: list[int] = []
    while len(out) < size:
        lanes = min(32, size - len(out))
        for lane in range(lanes):
            state = states[lane]
            symbol, frequency, start = slots[state & 4095]
            out.append(symbol)
            states[lane] = frequency * (state >> 12) + (state & 4095) - start
        for lane in range(32 if lanes == 32 else 0):
            if states[lane] < 1 << 16:
                if lane < 16:
                    word = coded[front : front + 2]
                    front += 2
                else:
                    back -= 2
                    word = coded[back : back + 2]
                assert front <= back
                states[lane] = states[lane] << 16 | int.from_bytes(word, "little")
    assert front == back
    return out
