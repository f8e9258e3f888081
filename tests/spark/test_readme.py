"""What the README shows of Spark, as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.usefixtures("java")
def test_readme(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    shim = f'sdb() {{ {sys.executable} -m sdb.cli.main "$@"; }}\n'
    found = BLOCK.findall((ROOT / "README.md").read_text())
    assert [language for language, _ in found] == ["sh", "py"]
    for language, text in found:
        run = ["bash", "-ec", shim + text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            run,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "|count|" in done.stdout.replace(" ", "")
