"""Lines of logs: how fast they are packed, by their form, beside the same rows as JSON.

``python -m benchmarks.logs [lines]`` prints MB of text a second, the best of three runs.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import sdb

LINES = 500_000
RUNS = 3
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/115.0"
PATTERN = (
    r"regex:^(?P<host>\S+) \S+ \S+ \[(?P<time>[^]]+)\] \"(?P<request>[^\"]*)\" (?P<status>\d+)"
)


def written(folder: Path, lines: int) -> dict[str, Path]:
    """Write the same events in every form."""
    chance = random.Random(1)  # noqa: S311 - no secret
    files = {form: folder / form for form in ("combined", "logfmt", "syslog", "json")}
    with (
        files["combined"].open("w") as combined,
        files["logfmt"].open("w") as logfmt,
        files["syslog"].open("w") as syslog,
        files["json"].open("w") as rows,
    ):
        for number in range(lines):
            host = f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"
            path = f"/api/v1/item/{chance.randrange(100_000)}?q={chance.randrange(10**9)}"
            status, size = chance.choice([200, 200, 404, 500]), chance.randrange(100_000)
            agent, clock = AGENT.format(number % 100), f"13:{number // 60 % 60:02}:{number % 60:02}"
            combined.write(
                f'{host} - - [01/Oct/2026:{clock} +0200] "GET {path} HTTP/1.1" '
                f'{status} {size} "-" "{agent}"\n'
            )
            at = f"2026-10-01T{clock}Z"
            logfmt.write(
                f'time={at} host={host} path={path} status={status} size={size} agent="{agent}"\n'
            )
            syslog.write(f"<134>Oct  1 {clock} {host} app[{number}]: GET {path} {status} {size}\n")
            row = {"time": at, "host": host, "path": path, "status": status, "size": size}
            rows.write(json.dumps({**row, "agent": agent}) + "\n")
    return files


def main(lines: int) -> None:
    """Print how fast each form is packed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = written(folder, lines)
        forms = {form: (form, path) for form, path in files.items()}
        forms |= {"text": ("text", files["combined"]), "regex": (PATTERN, files["combined"])}
        for form, (named, path) in forms.items():
            best = float("inf")
            for _ in range(RUNS):
                began = time.perf_counter()
                result = sdb.pack(path, folder / "out.zion", format=named, overwrite=True)
                best = min(best, time.perf_counter() - began)
            rate = path.stat().st_size / 1e6 / best
            print(f"{form:10} {rate:6.0f} MB/s {result.rows / best / 1e3:8.0f} thousand rows/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else LINES)
