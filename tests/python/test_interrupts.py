"""Ctrl-C in a separate program: each call ends within a second, and the tables are whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

CALLS = {
    "sql": 'list(db.sql("SELECT COUNT(*) AS n FROM web.t a JOIN web.t b ON a.k = b.k '
    'JOIN web.t c ON b.k = c.k"))',
    "len": 'len(db.sql("SELECT a.n FROM web.t a JOIN web.t b ON a.k = b.k JOIN web.t c '
    'ON b.k = c.k"))',
    "rows": "while True: list(db.table('web.t'))",
    "arrow": "while True: db.table('web.t').to_arrow()",
    "append rows": "db.append('web.t', ({'n': n, 'text': 'x' * 50} for n in itertools.count()))",
    "append table": "db.append('web.t', pa.RecordBatchReader.from_batches(schema, "
    "(pa.record_batch({'n': range(n, n + 9999)}, schema=schema) for n in itertools.count())))",
}
PROGRAM = """
import itertools, sys, sdb
import pyarrow as pa
schema = pa.schema([("n", pa.int64())])
db = sdb.connect(sys.argv[1])
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("name", CALLS)
def test_calls_end_within_a_second(tmp_path: Path, name: str) -> None:
    db = sdb.connect(tmp_path)
    db.create("web.t", "in/*.json")
    db.append("web.t", [{"k": 1, "n": number} for number in range(20_000)])
    program = PROGRAM.format(call=CALLS[name])
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.5)
        assert process.poll() is None
        began = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        took = time.monotonic() - began
        process.wait(10)
    assert took < 1
    assert len(db.table("web.t")) == 20_000
