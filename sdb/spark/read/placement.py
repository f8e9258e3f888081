"""Assign blocks to workers: rendezvous hashing, also called highest random weight.

Each pair of a worker and a block has a weight, and a block belongs to the worker with the highest
one. A worker that joins takes over what it has the highest weight for, about one block in n, and no
block moves between the others; one that leaves gives its blocks to all others in equal parts.
"""

from __future__ import annotations

from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WEIGHT_BYTES = 8
_NAME_BYTES = 16


def block_etag(etag: str, offset: int) -> str:
    """Return a name that identifies a block, of a version of its packfile.

    >>> block_etag('"9b2cf5"', 0) == block_etag('"9b2cf5"', 0)
    True
    """
    text = f"{offset}-{etag}".encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=_NAME_BYTES, person=b"sdb block").hexdigest()


def owner(block: str, workers: Iterable[str]) -> str:
    """Return the worker that a block belongs to.

    * ``block``: Its name, see :func:`block_etag`.
    * ``workers``: Names of the workers: their order does not matter, and what counts is that they
      stay.

    Raises `ValueError` if there is no worker.

    >>> owner("00ff", ["a", "b"]) == owner("00ff", ["b", "a"])
    True
    """
    return max(workers, key=lambda worker: (weight(worker, block), worker))


def weight(worker: str, block: str) -> int:
    """Return the weight of a pair, which is as good as random."""
    key = blake2b(worker.encode("utf-8", "surrogateescape"), digest_size=_NAME_BYTES).digest()
    digest = blake2b(block.encode(), digest_size=_WEIGHT_BYTES, key=key, person=b"sdb owner")
    return int.from_bytes(digest.digest(), "big")


def slots(count: int) -> Sequence[str]:
    """Name workers that have no names, such as the executors that Spark may start."""
    return [f"slot-{number}" for number in range(count)]
