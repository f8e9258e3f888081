"""Damage to files, as disks, networks and people do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_LENGTH_BYTES = 4
_ODD = (0x00, 0x0E, 0x0F, 0x11, 0x20, 0x28, 0x38, 0x7F, 0x80, 0x8E, 0xBE, 0xD1, 0xDE, 0xE0, 0xFF)


def damaged(data: bytes, dice: random.Random, blocks: list[tuple[int, int]]) -> tuple[bytes, str]:
    """Damage a packfile.

    Parameters
    ----------
    data : bytes
        The packfile.
    dice : Random
        Chooses what is done.
    blocks : list of (int, int)
        The ranges of its blocks.

    Returns
    -------
    tuple of bytes and str
        The damaged file, and what was done.
    """
    trailer = blocks[-1][1] if blocks else 0
    # A trailer is a small part of a file, and what it says weighs the most: it is hit as often.
    start, stop = (trailer, len(data)) if dice.random() < 0.4 else (0, len(data))
    at = dice.randrange(start, stop)
    kind = dice.choices(_KINDS, _WEIGHTS)[0]
    out = bytearray(data)
    match kind:
        case "bit":
            bit = dice.randrange(8)
            out[at] ^= 1 << bit
            return bytes(out), f"bit {bit} of byte {at} flipped"
        case "byte":
            out[at] = dice.choice([*_ODD, dice.randrange(256)])
            return bytes(out), f"byte {at} is {out[at]}"
        case "cut":
            return data[:at], f"cut at {at}"
        case "trailer moved":
            length = int.from_bytes(data[-_LENGTH_BYTES:], "little")
            gap = dice.randrange(0, max(1, len(data) - length))
            return data[:gap] + data[trailer:], f"data cut at {gap}"
        case "swap" if len(blocks) > 1:
            (a, b), (c, d) = sorted(dice.sample(blocks, 2))
            swapped = data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]
            return swapped, f"blocks at {a} and {c} swapped"
        case "double":
            size = min(dice.choice([1, 4, 100, 5000]), len(data) - at)
            return data[: at + size] + data[at:], f"{size} bytes doubled at {at}"
        case "drop":
            size = dice.choice([1, 4, 100, 5000])
            return data[:at] + data[at + size :], f"{size} bytes dropped at {at}"
        case _:
            size = min(dice.choice([1, 4, 100, 512, 4096]), len(data) - at)
            out[at : at + size] = bytes(size)
            return bytes(out), f"{size} bytes zeroed at {at}"


_KINDS = ("bit", "byte", "cut", "trailer moved", "swap", "double", "drop", "zero")
_WEIGHTS = (8, 4, 1, 1, 1, 1, 1, 2)


def mangled(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Damage bytes of any kind in a few places; also says what was done."""
    out = bytearray(data)
    done = []
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        if not out:
            break
        at = dice.randrange(len(out))
        size = min(dice.choice([1, 1, 2, 8, 60, 1000]), len(out) - at)
        match dice.randrange(6):
            case 0:
                out[at] ^= 1 << dice.randrange(8)
                done.append(f"bit flipped in {at}")
            case 1:
                out[at] = dice.choice([*_ODD, dice.randrange(256)])
                done.append(f"byte {at} is {out[at]}")
            case 2:
                del out[at : at + size]
                done.append(f"{size} dropped at {at}")
            case 3:
                out[at:at] = out[at : at + size]
                done.append(f"{size} doubled at {at}")
            case 4:
                to = dice.randrange(len(out))
                out[to:to] = out[at : at + size]
                done.append(f"{size} copied from {at} to {to}")
            case _:
                del out[at:]
                done.append(f"cut at {at}")
    return bytes(out), ", ".join(done)
