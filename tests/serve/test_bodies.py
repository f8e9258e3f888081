"""Bodies of requests that come slowly, or many at the same time."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sdb.serve import bodies
from sdb.serve.bodies import Bodies, bounded
from sdb.serve.problems import HttpError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pytest

    from tests.serve.conftest import Server


def request(held: Bodies, pieces: list[bytes], pause: float = 0.0, **headers: str) -> Request:
    """Make a request whose body comes in pieces, with a pause before each."""
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    app = SimpleNamespace(state=SimpleNamespace(service=SimpleNamespace(bodies=held)))
    listed = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "headers": listed, "app": app}, receive)


async def status(reading: Coroutine[Any, Any, bytes]) -> int:
    try:
        await reading
    except HttpError as error:
        return error.status
    return 200


def test_a_body_has_a_least_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_FIRST_SECONDS", 0.2)

    async def read(pieces: list[bytes], pause: float) -> tuple[int, int]:
        held = Bodies(1 << 20)
        asked = request(held, pieces, pause)
        answer = await status(bounded(asked, 1 << 20))
        await held.release(asked)
        return answer, held.held_bytes

    assert asyncio.run(read([b"x"] * 100, 0.05)) == (408, 0)
    assert asyncio.run(read([b"x" * 10_000] * 8, 0.05)) == (200, 0)


def test_all_bodies_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(bodies, "_SMALL_BYTES", 0)

    async def read() -> list[int]:
        held = Bodies(1000)
        first, second, third = (request(held, [b"x" * 300] * 2) for _ in range(3))
        answers = [await status(bounded(first, 5000)), await status(bounded(second, 5000))]
        assert held.held_bytes == 900
        await held.release(second)
        # One that waits goes on as soon as another was answered.
        waiting = asyncio.ensure_future(status(bounded(third, 5000)))
        await asyncio.sleep(0.05)
        await held.release(first)
        answers.append(await waiting)
        answers.append(await status(bounded(request(held, [b"x" * 1001]), 5000)))
        answers.append(await status(bounded(request(held, [b"x"], content_length="6000"), 5000)))
        return answers

    assert asyncio.run(read()) == [200, 429, 200, 413, 413]


def test_bodies_hold_nothing_once_they_are_answered(serve: Callable[..., Server]) -> None:
    server = serve("--write", "--max-pending", "16MiB")
    body = json.dumps({"sql": f"{' ' * (3 << 20)}x"})
    # Together they have more than all bodies may hold at the same time.
    for _ in range(8):
        answer = server.post("/v1/exec", data=body, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (413, "statement_too_long")


def test_texts_of_statements_are_bounded_before_they_are_parsed(
    serve: Callable[..., Server],
) -> None:
    server = serve("--write", "--max-sql", "2KiB")
    sizes = {1: (400, 400), 2500: (413, 413), 5 << 20: (413, 413)}
    for size, wanted in sizes.items():
        body, headers = json.dumps({"sql": "x" * size}), {"content-type": "application/json"}
        posted = [
            server.post(f"/v1/{path}", data=body, headers=headers) for path in ("exec", "query")
        ]
        assert tuple(answer.status_code for answer in posted) == wanted, size
