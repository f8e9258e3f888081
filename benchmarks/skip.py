"""Compare packing malformed lines, passed over, with packing good ones: ``benchmarks/skip.py``.

Each line of the table is the time and the peak memory of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = {
    "good": '{"number":17,"text":"some words of a log"}',
    "good, short": '{"a":1}',
    "value missing": '{"number":17,"text":}',
    "string not closed": '{"number":17,"text":"open}',
    "no record": "x is the start of a line that is no record",
    "one byte": "x",
}

PACK = """
import json, resource, sys, time
import sdb
from sdb.cli.render.pack import Rejects
with Rejects("skip", overwrite=False, verbose=False) as rejects:
    began = time.perf_counter()
    result = sdb.pack(
        [sys.argv[1]], sys.argv[2], overwrite=True, threads=1, on_errors=rejects.take_batch
    )
    seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([seconds, peak, result.rows, result.rejected]))
"""


def main() -> None:
    """Measure each kind of line, the best of several runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=16)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{'lines':20} {'ratio':>6} {'seconds':>8} {'peak MiB':>9} {'rows':>10} {'skipped':>10}")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "lines.json"), Path(folder, "x.zion")
        usual = None
        for kind, line in KINDS.items():
            source.write_text(f"{line}\n" * ((options.mebibytes << 20) // (len(line) + 1)))
            seconds, peak, rows, skipped = min(
                json.loads(
                    subprocess.run(
                        [sys.executable, "-c", PACK, source, target],
                        check=True,
                        capture_output=True,
                    ).stdout
                )
                for _ in range(options.runs)
            )
            usual = usual or seconds
            ratio = seconds / usual
            print(f"{kind:20} {ratio:6.2f} {seconds:8.3f} {peak:9,.0f} {rows:10,} {skipped:10,}")


if __name__ == "__main__":
    main()
