"""Provenance: which inputs the rows of a packfile came from.

It is a member of the extension of the trailer, compressed, and read only by who asks for it. See
the section on the extension in docs/format.md.
"""

from __future__ import annotations

from itertools import accumulate, chain

from sdb import ion
from sdb.errors import CorruptError
from sdb.packfile.trailer.timeindex import integers, malformed
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

DIGEST_BYTES = 16
MAX_INPUTS = 1 << 16
MAX_NAMES_BYTES = 4 << 20
_MAX_CONTENT_BYTES = 16 << 20
_UNKNOWN = bytes(DIGEST_BYTES)
_MEMBERS = [bool, list, list, bytes, list, list, list]


@record
class Origin:
    """An input that rows came from."""

    name: str  # its name as it was given
    size_bytes: int  # its size as it was stored, in bytes
    digest: bytes  # the digest of these bytes; empty where it is not known
    first: int  # number of its first row in the packfile, counted from 0
    rows: int  # number of its rows, which follow each other
    text_bytes: int = 0  # size of its text, decompressed; 0 where it is not known


@record
class Provenance:
    """The inputs of a packfile."""

    origins: tuple[Origin, ...]  # the inputs, in the order of their rows
    complete: bool  # whether every row came from one of them

    def encode(self) -> bytes:
        """Return the bytes that are stored: those of the last inputs when not all of them fit."""
        sizes = accumulate(len(origin.name.encode()) for origin in reversed(self.origins))
        fit = sum(size <= MAX_NAMES_BYTES for size in sizes)
        origins = self.origins[max(0, len(self.origins) - min(fit, MAX_INPUTS)) :]
        ends = chain((0,), (origin.first + origin.rows for origin in origins))
        value = [
            self.complete and len(origins) == len(self.origins),
            [origin.name for origin in origins],
            [origin.size_bytes for origin in origins],
            b"".join(origin.digest or _UNKNOWN for origin in origins),
            [origin.first - end for origin, end in zip(origins, ends, strict=False)],
            [origin.rows for origin in origins],
            [origin.text_bytes for origin in origins],
        ]
        from sdb import _core

        return _core.zstd_compress(ion.dumps(value))

    @classmethod
    def decode(cls, data: bytes, total: int) -> Self:
        """Read the bytes that are stored.

        * ``total``: Number of rows of the packfile.

        Returns: What they say.
        Raises `CorruptError` if they are malformed.
        """
        from sdb import _core

        value = ion.loads(_core.zstd_decompress(data, _MAX_CONTENT_BYTES))
        if not isinstance(value, list) or [*map(type, value)] != _MEMBERS:
            raise malformed("provenance", "a truth value, 5 lists and a blob", value)
        complete, names, sizes, digests, gaps, rows, texts = value
        for numbers in (sizes, gaps, rows, texts):
            integers(numbers, "the provenance")
        if (
            not {str, ion.IonSymbol}.issuperset(map(type, names))
            or not len(names) == len(sizes) == len(gaps) == len(rows) == len(texts)
            or len(digests) != DIGEST_BYTES * len(names)
        ):
            raise CorruptError(
                "invalid provenance: its lists differ in length, or a name is no text"
            )
        if len(names) > MAX_INPUTS:
            raise CorruptError(f"{len(names):,} inputs, the limit is {MAX_INPUTS:,}")
        origins: list[Origin] = []
        end = 0
        for number, (name, size, gap, count, text) in enumerate(
            zip(names, sizes, gaps, rows, texts, strict=True)
        ):
            digest = digests[DIGEST_BYTES * number : DIGEST_BYTES * (number + 1)]
            known_digest = b"" if digest == _UNKNOWN else digest
            origins.append(Origin(str(name), size, known_digest, end + gap, count, text))
            end += gap + count
            if min(size, gap, count, text) < 0 or end > total:
                raise CorruptError(
                    f"invalid provenance: the rows of the input {name} are not in the packfile"
                )
        if complete and (end != total or any(gaps)):
            raise CorruptError("invalid provenance: its inputs do not have all of the rows")
        return cls(tuple(origins), complete)


def follow(parts: Iterable[tuple[Provenance | None, int]]) -> Provenance:
    """Join the provenance of parts of a packfile that follow each other.

    * ``parts``: For each part what is known of it, with rows counted from its start, and its number
      of rows.
    """
    origins: list[Origin] = []
    complete = True
    before = 0
    for part, rows in parts:
        if part is not None:
            origins += (replace(origin, first=before + origin.first) for origin in part.origins)
        complete = complete and (part.complete if part is not None else not rows)
        before += rows
    return Provenance(tuple(origins), complete)
