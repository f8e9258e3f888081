"""The environment that executors need: one file with `sdb` and what it depends on.

`sdb` has a part in machine code, which Python cannot import from the archives that ``--py-files``
takes. A PEX file can hold it: it unpacks itself where it runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import sdb
from sdb.errors import ExistsError, NotFoundError, SdbError, UsageError
from sdb.version import DISTRIBUTION

ARCHIVE = "sdb.pex"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KEPT = ("*.py", "*.pyi", "py.typed", "*.so")
_LAST_LINES = 3


def build(output: str, *, overwrite: bool = False) -> int:
    """Build the archive, for this system and this version of Python.

    What `sdb` depends on comes from the virtual environment that it runs in, and without one from
    the package index, in the versions that are installed. pyspark is not in it: Spark brings it.
    Raises `NotFoundError` if `pex` is not installed, or `sdb` itself is not; `ExistsError` if there
    is such a file, and `overwrite` is off; `SdbError` if `pex` failed.
    """
    target = Path(output)
    if target.is_dir():
        raise UsageError(f"writing {output}: is a folder", path=output)
    if target.exists() and not overwrite:
        raise ExistsError(f"{output} exists already", path=output, hint="--force replaces it")
    requirements = _requirements()
    with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".sdb-pex-") as folder:
        sources, built = Path(folder, "sources"), Path(folder, ARCHIVE)
        _copy(sources / "sdb")
        _run_pex([*requirements, f"--sources-directory={sources}", f"--output-file={built}"])
        os.replace(built, target)  # noqa: PTH105 - says that it replaces
    return target.stat().st_size


def _package() -> Path:
    assert sdb.__file__ is not None  # noqa: S101 - no namespace package
    return Path(sdb.__file__).parent


def _requirements() -> list[str]:
    """Return what `sdb` depends on, and where to take it from, as arguments of pex."""
    try:
        wanted = [line for line in metadata.requires(DISTRIBUTION) or () if "extra ==" not in line]
    except metadata.PackageNotFoundError as error:
        raise NotFoundError(
            "sdb is not installed in this Python, so what it needs is not known",
            hint=f"pip install {DISTRIBUTION}, or make in a checkout",
        ) from error
    names = [match[0] for line in wanted if (match := _NAME.match(line))]
    if sys.prefix != sys.base_prefix:
        return [*names, f"--venv-repository={sys.prefix}"]
    return [f"{name}=={metadata.version(name)}" for name in names]


def _copy(target: Path) -> None:
    """Copy the package as it is installed, and nothing else that stands there."""
    package = _package()
    for pattern in _KEPT:
        for source in package.rglob(pattern):
            copied = target / source.relative_to(package)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)


def _run_pex(arguments: list[str]) -> None:
    # Spark puts pyspark on the PYTHONPATH of its workers, and what is in the archive comes first.
    command = [sys.executable, "-m", "pex", "--inherit-path=fallback", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - our own
    if result.returncode == 0:
        return
    if "No module named pex" in result.stderr:
        raise NotFoundError("pex is not installed", hint="pip install 'sdb-packfile[spark]'")
    last_lines = " ".join(line.strip() for line in result.stderr.splitlines()[-_LAST_LINES:])
    raise SdbError(f"building the archive with pex failed: {last_lines}")
