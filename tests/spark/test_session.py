"""Sessions: Java, the Python of the workers, and who may connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdb import errors
from sdb.spark.session import session
from tests.cli.conftest import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def script(folder: Path, text: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("expected", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "25.0.1" 2026-01-20 LTS', 25),
    ],
)
def test_java_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: str, version: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(script(tmp_path, f"echo '{expected}' >&2")))
    assert session.find_java() == (str(tmp_path / "bin/java"), version)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    assert session.find_java()[1] == version


@pytest.mark.parametrize(
    "expected", ['java version "1.8.0_402"', 'openjdk version "11.0.2"', "huh?"]
)
def test_another_java_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(script(tmp_path, f"echo '{expected}' >&2")))
    with pytest.raises(errors.UnsupportedError, match="Java 17") as caught:
        session.find_java()
    assert "install Java 17" in str(caught.value.hint)


def test_no_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(errors.NotFoundError, match="JAVA_HOME"):
        session.find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.NotFoundError, match="no java on the PATH"):
        session.find_java()


@pytest.mark.spark
def test_spark_connect_cannot_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://there")
    with pytest.raises(
        errors.UnsupportedError, match="SPARK_REMOTE names a remote one: sc://there"
    ):
        session.start_context()


def test_a_local_session_is_closed_to_the_network(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == "127.0.0.1"
    gateway = spark.sparkContext._jvm
    assert gateway is not None
    pid = gateway.java.lang.ProcessHandle.current().pid()
    assert set(addresses(pid)) <= {"127.0.0.1", "::1"}


QUIET = """
import sys, threading
from sdb.spark import register, start
with start("local[1]") as spark:
    def save():
        register(spark)
        rows = spark.range(300_000).repartition(1)
        rows.write.format("zion").mode("append").save(sys.argv[1])
    thread = threading.Thread(target=save)
    thread.start()
    thread.join()
    for _ in range(5):
        assert len(spark.read.format("zion").load(sys.argv[1]).limit(1).collect()) == 1
"""


@pytest.mark.spark
@pytest.mark.timeout(500)
@pytest.mark.usefixtures("java")
def test_a_session_is_quiet_also_after_a_limit_and_writes_in_any_thread(tmp_path: Path) -> None:
    env = environment(**{name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ})
    command = [sys.executable, "-c", QUIET, str(tmp_path / "out")]
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "incubator modules" not in line]
    assert said == []
    assert len(list((tmp_path / "out").glob("*.zion"))) == 1


@pytest.mark.spark
def test_workers_run_this_python(spark: SparkSession) -> None:
    collected = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert collected == [os.environ.get("PYSPARK_PYTHON", sys.executable)]


def addresses(pid: int) -> list[str]:
    """Return the addresses that a process listens at."""
    inodes = {
        link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()
    }
    results = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                results.append(_address(fields[1].partition(":")[0]))
    return results


def _address(text: str) -> str:
    if text in {"0100007F", "0000000000000000FFFF00000100007F"}:
        return "127.0.0.1"
    return "::1" if text == "00000000000000000000000001000000" else text
