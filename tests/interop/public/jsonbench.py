"""Events like those of JSONBench, of Bluesky: nested commits, each kind with fields of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = Path(__file__).with_suffix(".sql")
ROW_BYTES = 410  # about
_FIRST_US = 1_732_206_349_000_000
_SUBJECT = '{"cid":"bafyrei%s","uri":"at://%s/app.bsky.feed.post/%s"}'
_RECORDS = {
    "app.bsky.feed.like": '{"$type":"app.bsky.feed.like","createdAt":"%s","subject":%s}',
    "app.bsky.graph.follow": '{"$type":"app.bsky.graph.follow","createdAt":"%s","subject":"%s"}',
    "app.bsky.feed.post": '{"$type":"app.bsky.feed.post","createdAt":"%s",'
    '"langs":["%s"],"text":"%s"}',
    "app.bsky.feed.repost": '{"$type":"app.bsky.feed.repost","createdAt":"%s","subject":%s}',
    "app.bsky.graph.block": '{"$type":"app.bsky.graph.block","createdAt":"%s","subject":"%s"}',
    "app.bsky.actor.profile": '{"$type":"app.bsky.actor.profile","displayName":"%s"}',
}
_SHARES = [0.47, 0.2, 0.18, 0.1, 0.04, 0.01]
_WORDS = "sun sky blue bird post today love cat dog art news game music rain coffee work".split()


def queries() -> list[str]:
    """Return the five queries."""
    return TEXTS.read_text().split(";\n")[:-1]


def lines(rows: int, seed: int = 1) -> Iterator[str]:
    """Yield that many events as JSON."""
    dice = np.random.default_rng(seed)
    times = _FIRST_US + np.cumsum(dice.integers(1, 400_000, rows))
    collections = list(_RECORDS)
    picks = dice.choice(len(collections), rows, p=_SHARES).tolist()
    skewed = (dice.random((rows, 2)) ** 3 * max(rows // 8, 20)).astype(int).tolist()
    chances = dice.random((rows, 3)).tolist()
    for at, pick, (user, other), (kind, deleted, text) in zip(
        times.tolist(), picks, skewed, chances, strict=True
    ):
        head = f'{{"did":"{_did(user)}","time_us":{at},"kind":'
        if kind < 0.02:
            name = "identity" if kind < 0.01 else "account"
            more = '"active":true' if kind >= 0.01 else f'"handle":"user{user}.bsky.social"'
            yield f'{head}"{name}","{name}":{{"did":"{_did(user)}",{more},"seq":{at % 10**9}}}}}'
            continue
        collection = collections[pick]
        revision = f"3l{at:x}"
        commit = f'"rev":"{revision}","collection":"{collection}","rkey":"{revision[::-1]}"'
        if deleted < 0.05:
            yield f'{head}"commit","commit":{{{commit},"operation":"delete"}}}}'
            continue
        record = _RECORDS[collection] % _values(pick, at, other, text)
        operation = "update" if pick == 5 else "create"
        yield (
            f'{head}"commit","commit":{{{commit},"operation":"{operation}",'
            f'"record":{record},"cid":"bafyrei{at * 7919:032x}"}}}}'
        )


def _values(pick: int, at: int, other: int, text: float) -> tuple[str, ...]:
    """Return what goes into the record of a collection."""
    created = f"{np.datetime64(at // 1000, 'ms')}Z"
    if pick in {0, 3}:
        return created, _SUBJECT % (f"{other * 104729:032x}", _did(other), f"3k{other:x}")
    if pick in {1, 4}:
        return created, _did(other)
    words = [_WORDS[int(text * 16**length) % 16] for length in range(1, 2 + int(text * 11))]
    if pick == 2:
        return created, "ja" if text > 0.7 else "en", " ".join(words)
    return (f"{words[0]} {other}",)


def _did(number: int) -> str:
    return f"did:plc:{number * 2654435761 % (1 << 60):024x}"
