"""`sdb sync` as a service runs it."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 30


class Service:
    """A sync that runs until it is stopped, and the events that it prints."""

    def __init__(self, folder: Path, *more: str, **variables: str) -> None:
        words = ["sync", "--interval", "200ms", "--json", "--root", "lake", "d", *more]
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(**variables),
        )
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(json.loads(line))

    @property
    def has_told(self) -> bool:
        return not self._events.empty()

    def event(self) -> dict[str, Any]:
        return self._events.get(timeout=SECONDS)

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
