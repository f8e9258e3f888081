"""A server that speaks the protocol of SQS: moto, in a separate process on the loopback.

It is no SQS: it is only one program, delivers in order, and never twice by itself.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.store.server import KEY, SECRET, die_with_parent, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START_SECONDS = 60


def is_there() -> bool:
    """Return whether it is installed."""
    return all(find_spec(name) is not None for name in ("moto", "flask", "flask_cors"))


def environment(endpoint: str) -> dict[str, str]:
    """Return the settings with which boto3 talks to the server; `endpoint` is for other clients."""
    return {
        "AWS_ENDPOINT_URL_SQS": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Run a server; gives its URL."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    url = f"http://127.0.0.1:{port}"
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=log,
            env=os.environ | environment(url),
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread holds a lock yet
        ) as process,
    ):
        try:
            _wait(process, url, folder / "log")
            yield url
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    stop = time.monotonic() + _START_SECONDS
    while time.monotonic() < stop and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/moto-api/", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"no queue server: {log.read_text(errors='replace')[-2000:]}")
