"""A server as a separate process, on rows of GitHub."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
requests = pytest.importorskip("requests")

from pathlib import Path  # noqa: E402

import sdb  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "testdata/gh2015_1k.json.gz"
START_SECONDS = 60
COUNT = "SELECT COUNT(*) AS n FROM web.gha"
LONG = (
    "SELECT COUNT(*) AS n FROM web.gha a, web.gha b, web.gha c, web.gha d "
    "WHERE LENGTH(CONCAT(a.id, b.id, c.id, d.id)) > 3"
)


def rows(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.content.splitlines()]


class Server:
    """A running `sdb serve`."""

    def __init__(self, root: Path | str, *options: str) -> None:
        command = [sys.executable, "-m", "sdb.cli.main", "serve", "--root", str(root)]
        above = root.parent if isinstance(root, Path) else Path(tempfile.mkdtemp())
        self.log = above / f"serve{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--listen", "127.0.0.1:0", *options],
                stderr=log,
                cwd=ROOT,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
        self.url = self._ready()
        self.session = requests.Session()
        self.get("/readyz")  # it listens before all of it is loaded

    def _ready(self) -> str:
        stop = time.monotonic() + START_SECONDS
        while time.monotonic() < stop:
            match = re.search(r"at (http://\S+)", self.text())
            if match:
                return match[1]
            assert self.process.poll() is None, self.text()
            time.sleep(0.02)
        raise AssertionError(self.text())

    def text(self) -> str:
        return self.log.read_text()

    def get(self, path: str, **options: Any) -> Any:
        return self.session.get(self.url + path, timeout=60, **options)

    def post(self, path: str, **options: Any) -> Any:
        return self.session.post(self.url + path, timeout=60, **options)

    def query(self, sql: str, headers: dict[str, str] | None = None, **more: str) -> Any:
        return self.get("/v1/query", params={"sql": sql, **more}, headers=headers)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)

    def close(self) -> None:
        self.session.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def made(root: Path) -> Path:
    """Two tables: `web.gha` with GitHub's rows, and `logs.app`, which not everybody may read."""
    db = sdb.connect(root)
    db.create("web.gha", "in/*.json")
    db.append("web.gha", ROWS)
    db.create("logs.app", "in/*.json")
    db.append("logs.app", [{"n": number} for number in range(10)])
    return root


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The two tables of `made`."""
    return made(tmp_path / "lake")


@pytest.fixture
def serve(lake: Path) -> Iterator[Callable[..., Server]]:
    running: list[Server] = []

    def start(*options: str) -> Server:
        running.append(Server(lake, *options))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    """Run `sdb` in an empty folder."""

    def call(*words: str) -> Any:
        command = [sys.executable, "-m", "sdb.cli.main", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)

    return call
