"""Clusters: workers in separate processes, from the environment archive, and with accidents."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shlex
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.folders import contents
from tests.spark import accidents
from tests.spark.test_bulk import GITHUB, check_clean, packed_alone, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
CLUSTER = "local-cluster[2,1,1024]"
QUICK_START = ["--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1"]


def listed(folder: str | Path) -> list[str]:
    return [key.location for key in contents(folder)]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return what a login of nobody has: no PYTHONPATH, and an empty home."""
    remaining = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return remaining | {"HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"} | more


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def archive(java: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    del java
    try:
        metadata.requires("sdb-packfile")
    except metadata.PackageNotFoundError:
        pytest.skip("sdb is not installed, so there is nothing to make an archive of")
    folder = tmp_path_factory.mktemp("archive")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    facts = run([sys.executable, "-m", "sdb", "spark", "env", "--json"], folder, env)
    assert json.loads(facts)["size_bytes"] == (folder / "sdb.pex").stat().st_size
    assert os.listdir(folder) == ["sdb.pex"]  # noqa: PTH208
    return folder / "sdb.pex"


@pytest.mark.slow
def test_submitted_from_the_archive_in_a_clean_folder(archive: Path, tmp_path: Path) -> None:
    """Neither driver nor workers can import `sdb` from anywhere but the archive."""
    clean, home = tmp_path / "clean", tmp_path / "home"
    clean.mkdir()
    home.mkdir()
    (clean / "sdb.pex").symlink_to(archive)
    inputs: list[Path | str] = [clean / "a.json", clean / "b.json.gz"]
    (clean / "a.json").write_bytes(GITHUB)
    (clean / "b.json.gz").write_bytes(gzip.compress(GITHUB))
    pack = ["spark", "pack", "-o", "out", "--json", "--tasks", "4", "a.json", "b.json.gz"]
    sdb = [sys.executable, "-m", "sdb", *pack, "--master", CLUSTER, *QUICK_START]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = run([*sdb, "--print-submit"], clean, env)
    spark = spark_home()
    command = [str(spark / "bin" / "spark-submit"), *shlex.split(line)[1:]]
    assert shlex.split(line)[0] == "spark-submit"
    facts = json.loads(run(command, clean, environment(home, SPARK_HOME=str(spark))))
    assert rows(listed(clean / "out")) == packed_alone(tmp_path, inputs)
    assert (facts["rows"], len(facts["tasks"])) == (2000, 4)
    check_clean(clean / "out")


@pytest.fixture(scope="module")
def master(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a master and two workers, on loopback addresses of their own.

    To Spark these are two machines: it runs no second attempt on the machine of the first.
    """
    del java
    folder = tmp_path_factory.mktemp("standalone")
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:

        def launch(kind: str, host: str, *arguments: str) -> None:
            program = [str(spark_home() / "bin/spark-class"), f"org.apache.spark.deploy.{kind}"]
            program += ["--host", host, "--webui-port", "0", *arguments]
            env = environment(folder, SPARK_WORKER_DIR=str(folder)) | {"SPARK_LOCAL_IP": host}
            log = stack.enter_context((folder / f"{host}.log").open("wb"))
            process = subprocess.Popen(program, env=env, stdout=log, stderr=log)
            stack.callback(end, process)

        launch("master.Master", "127.0.0.1", "--port", str(port))
        for host in ("127.0.0.2", "127.0.0.3"):
            launch("worker.Worker", host, "--cores", "1", "--memory", "1g", url)
        yield url


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def free_port() -> int:
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        return int(first.getsockname()[1])


@pytest.mark.slow
def test_speculation_and_killed_workers(master: str, tmp_path: Path) -> None:
    """One attempt hangs, others are killed, and there is still each row once, and nothing else."""
    inputs: list[Path | str] = [tmp_path / f"{number}.json" for number in range(8)]
    for path in inputs:
        Path(path).write_bytes(GITHUB)
    first = accidents.prepare(tmp_path / "accidents", middle=1, end=1, stall=1)
    settings = {
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.multiplier": "1.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([first, str(ROOT)]),
    }
    conf = [f"--conf={name}={value}" for name, value in settings.items()]
    pack = [sys.executable, "-m", "sdb", "spark", "pack", "--master", master, "--json", *conf]
    command = [*pack, *QUICK_START, "--tasks=8", "-o", str(tmp_path / "out"), *map(str, inputs)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    facts = json.loads(run(command, tmp_path, env))
    assert accidents.left(tmp_path / "accidents") == []
    assert facts["seconds"] < accidents.STALL_SECONDS
    assert rows(listed(tmp_path / "out")) == packed_alone(tmp_path, inputs)
    assert facts["removed"] == 1
    check_clean(tmp_path / "out")


DRIVER = """
import json, sys
from sdb.spark import register, start
with start("local-cluster[2,1,2048]", conf=json.loads(sys.argv[2])) as spark:
    register(spark)
    rows = spark.range(0, 400_000, numPartitions=8).selectExpr("id", "CAST(id % 7 AS STRING) AS x")
    zion = {"root": sys.argv[1]}
    rows.write.format("zion").mode("append").options(**zion).save("web.t")
    loaded = spark.read.format("zion").options(**zion).load("web.t")
    print(loaded.selectExpr("COUNT(*)", "COUNT(DISTINCT id)", "SUM(id)").collect()[0])
"""


def settings(folder: Path, **flags: int) -> dict[str, str]:
    """Return settings of a cluster on this machine whose workers and executors have accidents."""
    first = accidents.prepare(folder / "accidents", **flags)
    return {
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([first, str(ROOT)]),
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }


@pytest.mark.usefixtures("java")
def test_killed_workers_and_executors_lose_and_double_nothing_of_a_job(tmp_path: Path) -> None:
    inputs: list[Path | str] = [tmp_path / f"{number}.json" for number in range(4)]
    for path in inputs:
        Path(path).write_bytes(GITHUB)
    accidental = settings(tmp_path, middle=1, end=1, executor=1)
    conf = [f"--conf={name}={value}" for name, value in accidental.items()]
    pack = [sys.executable, "-m", "sdb", "spark", "pack", "--master=local-cluster[2,1,2048]"]
    words = ["--json", "--tasks=4", *conf, "-o", str(tmp_path / "out"), *map(str, inputs)]
    facts = json.loads(run([*pack, *words], tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)}))
    assert accidents.left(tmp_path / "accidents") == []
    assert rows(listed(tmp_path / "out")) == packed_alone(tmp_path, inputs)
    assert facts["rows"] == 4000
    check_clean(tmp_path / "out")


@pytest.mark.usefixtures("java")
def test_killed_workers_and_executors_lose_and_double_no_rows_of_a_table(tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    command = [
        sys.executable,
        "-c",
        DRIVER,
        root,
        json.dumps(settings(tmp_path, middle=1, executor=1)),
    ]
    said = run(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert accidents.left(tmp_path / "accidents") == []
    assert said.split("=")[1:] == [
        "400000, count(DISTINCT id)",
        "400000, sum(id)",
        "79999800000)\n",
    ]
    with sdb.sql("SELECT COUNT(*) AS n, SUM(id) AS s FROM web.t", root=root) as result:
        assert list(result) == [{"n": 400_000, "s": 79_999_800_000}]
