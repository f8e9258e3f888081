"""Clusters: workers in processes of their own, from the environment archive, and with accidents."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from sdb.packfile.manifest import listed
from tests.spark import accidents
from tests.spark.test_bulk import GITHUB, check_clean, packed_alone, rows

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
CLUSTER = "local-cluster[2,1,1024]"
QUICK_START = ["--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1"]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Give what a login of nobody has: no PYTHONPATH, and an empty home."""
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return kept | {"HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"} | more


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def archive(java: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    del java
    try:
        metadata.requires("sdb")
    except metadata.PackageNotFoundError:
        pytest.skip("sdb is not installed, so there is nothing to make an archive of")
    folder = tmp_path_factory.mktemp("archive")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    facts = run([sys.executable, "-m", "sdb", "spark", "env", "--json"], folder, env)
    assert json.loads(facts)["size_bytes"] == (folder / "sdb.pex").stat().st_size
    assert os.listdir(folder) == ["sdb.pex"]  # noqa: PTH208
    return folder / "sdb.pex"


def test_submitted_from_the_archive_in_a_clean_folder(archive: Path, tmp_path: Path) -> None:
    """Neither driver nor workers can import `sdb` from anywhere but the archive."""
    import pyspark

    clean, home = tmp_path / "clean", tmp_path / "home"
    clean.mkdir()
    home.mkdir()
    (clean / "sdb.pex").symlink_to(archive)
    inputs: list[Path | str] = [clean / "a.json", clean / "b.json.gz"]
    (clean / "a.json").write_bytes(GITHUB)
    (clean / "b.json.gz").write_bytes(gzip.compress(GITHUB))
    pack = ["pack", "--spark", "-o", "out", "--json", "--tasks", "4", "a.json", "b.json.gz"]
    sdb = [sys.executable, "-m", "sdb", *pack, "--master", CLUSTER, *QUICK_START]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = run([*sdb, "--print-submit"], clean, env)
    spark = Path(pyspark.__file__).parent
    command = [str(spark / "bin" / "spark-submit"), *shlex.split(line)[1:]]
    assert shlex.split(line)[0] == "spark-submit"
    facts = json.loads(run(command, clean, environment(home, SPARK_HOME=str(spark))))
    assert rows(listed(clean / "out")) == packed_alone(tmp_path, inputs)
    assert (facts["rows"], len(facts["tasks"])) == (2000, 3)
    check_clean(clean / "out")


@pytest.fixture
def cluster(java: None, tmp_path: Path) -> Any:
    """Run `sdb pack --spark` on a cluster whose workers have accidents."""
    del java

    def call(inputs: list[Path], *options: str, **accident: int) -> dict[str, Any]:
        first = accidents.prepare(tmp_path / "accidents", **accident)
        python = os.pathsep.join([first, str(ROOT)])
        command = [sys.executable, "-m", "sdb", "pack", "--spark", "--master", CLUSTER, "--json"]
        command += [*QUICK_START, "--conf", f"spark.executorEnv.PYTHONPATH={python}", *options]
        command += ["-o", str(tmp_path / "out"), *map(str, inputs)]
        facts = run(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
        assert accidents.left(tmp_path / "accidents") == []
        return dict(json.loads(facts))

    return call


def test_speculation_and_killed_workers(cluster: Any, tmp_path: Path) -> None:
    """One attempt hangs, others are killed, and there is still each row once, and nothing else."""
    inputs = [tmp_path / f"{number}.json" for number in range(8)]
    for path in inputs:
        path.write_bytes(GITHUB)
    speculation = {"": "true", ".quantile": "0.3", ".multiplier": "1.1", ".interval": "100ms"}
    conf = [f"--conf=spark.speculation{name}={value}" for name, value in speculation.items()]
    facts = cluster(inputs, *conf, "--tasks", "8", middle=1, end=1, stall=1)
    assert rows(listed(tmp_path / "out")) == packed_alone(tmp_path, [*inputs])
    assert facts["seconds"] < accidents.STALL_SECONDS
    assert facts["removed"] == 1
    check_clean(tmp_path / "out")
