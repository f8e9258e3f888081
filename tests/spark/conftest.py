from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sdb.errors import SdbError
from sdb.spark.session import session
from tests.cli.conftest import forks  # noqa: F401 - a fixture
from tests.store.conftest import bucket, endpoint  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROOT = __file__.rpartition("/tests/")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that share a session in the same process."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def java() -> None:
    """Check for what Spark needs, or skip and say so."""
    try:
        session.check_pyspark()
        session.find_java()
    except SdbError as error:
        pytest.skip(f"no Spark: {error.message}; {error.hint}")


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Run Spark on this machine, with two workers that get four chances for a task."""
    del java
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SPARK_LOCAL_DIRS", str(folder))
        process = session.start("local[2,4]", conf=conf(folder))
        yield process
        process.stop()


def conf(folder: Path) -> dict[str, str]:
    """Keep what a session writes in a folder, and its shuffles small."""
    return {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
    }
