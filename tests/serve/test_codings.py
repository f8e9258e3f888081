"""Content codings of answers: gzip and zstd, as clients weigh them."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING

import pytest
import zstandard
from starlette.requests import Request

import sdb
from sdb.serve.answers import coding_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.serve.conftest import Server

OPEN = {
    "gzip": gzip.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(),
}


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", ""),
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("gzip;q=0.2, zstd; q = 0.5", "zstd"),
        ("GZIP;q=0", ""),
        ("gzip;q=0.000, zstd;q=0", ""),
        ("*", "zstd"),
        ("*;q=0.1, zstd;q=0", "gzip"),
        ("identity, gzip;q=0.5", ""),
        ("identity;q=0.5, gzip", "gzip"),
        ("br, deflate", ""),
        ("gzip;q=nan, zstd;q=inf", ""),
        ("gzip;q=-1", ""),
        ("," * 10_000, ""),
    ],
)
def test_the_coding_that_a_client_wants_most(header: str, coding: str) -> None:
    scope = {"type": "http", "headers": [(b"accept-encoding", header.encode())]}
    assert coding_of(Request(scope)) == coding


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_answers_are_compressed(serve: Callable[..., Server], lake: Path, coding: str) -> None:
    many = lake.parent / "many.json"
    many.write_text("".join(f'{{"k": {n}, "s": "{n:0300}"}}\n' for n in range(20_000)))
    sdb.connect(lake).append("logs.app", many)
    server = serve("--quiet")
    for sql in ("SELECT k, s FROM logs.app ORDER BY k", "SELECT COUNT(*) AS n FROM logs.app"):
        plain = server.query(sql, headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        for _ in range(3):  # made, kept, and at hand
            answer = server.get(
                "/v1/query",
                params={"sql": sql},
                headers={"accept-encoding": coding},
                stream=True,
            )
            assert answer.headers["content-encoding"] == coding
            assert "accept-encoding" in answer.headers["vary"]
            packed = answer.raw.read(decode_content=False)
            assert OPEN[coding](packed) == plain.content
            assert answer.headers["etag"] == plain.headers["etag"]
