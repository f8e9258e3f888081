"""Sessions of Spark: with Java, with this Python in the workers, closed to the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

from sdb.errors import NotFoundError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_JAVA_HINT = (
    f"install Java {OLDEST_JAVA} (Debian: apt-get install openjdk-17-jre-headless) or let JAVA_HOME"
    " say where it is"
)
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_SECONDS = 30
_CONF = {"spark.ui.showConsoleProgress": "false"}
_QUIET = {"spark.log.level": "ERROR"}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Compiles at once, and collects garbage on one thread: for a driver that lives for seconds.
_BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_HERE = "local[*,4]"  # as many chances for a task as on a cluster
_CONFIGURED = {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "MASTER"}
_GATEWAY = "PYSPARK_GATEWAY_PORT"  # where `spark-submit` has started Java already
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def find_java() -> tuple[str, int]:
    """Find the Java that Spark will run.

    Raises `NotFoundError` if no Java was found and `UnsupportedError` if it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")  # noqa: PTH118
    if not program or not os.access(program, os.X_OK):
        where = f"there is no {program} (JAVA_HOME)" if program else "there is no java on the PATH"
        raise NotFoundError(f"Spark needs Java, and {where}", hint=_JAVA_HINT, path=program)
    try:
        output = subprocess.run(  # noqa: S603 - the user's own Java
            [program, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_JAVA_SECONDS,
            check=False,
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{program} does not run: {error}", hint=_JAVA_HINT) from error
    match = _VERSION.search(output)
    version = int(match[1]) if match else 0
    if version < OLDEST_JAVA:
        text = output.strip().partition("\n")[0] or "unknown version"
        raise UnsupportedError(
            f"Spark needs Java {OLDEST_JAVA} or newer, {program} is another: {text}",
            path=program,
            hint=_JAVA_HINT,
        )
    return program, version


def check_pyspark() -> None:
    """Check that pyspark is there. Raises `NotFoundError` if it is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        hint = "pip install 'sdb-packfile[spark]'"
        raise NotFoundError("pyspark is not installed", hint=hint) from error


def is_local(master: str | None) -> bool:
    """Return whether driver and executors are on this machine.

    >>> is_local("local[2]"), is_local("local-cluster[2,1,1024]"), is_local("yarn")
    (True, True, False)
    """
    return master is not None and master.startswith("local")


def running() -> SparkContext | None:
    """Return the context that runs in this process, if one does."""
    check_pyspark()
    from pyspark import SparkContext

    return SparkContext._active_spark_context  # noqa: SLF001 - what pyspark.sql asks, too


def start(
    master: str | None = None, *, name: str = "sdb", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session, or return the one that runs already.

    * ``master``: Where Spark runs, such as ``local[2]`` or ``yarn``. Without it where
      `spark-submit` or an installed Spark (``SPARK_HOME``, ``SPARK_CONF_DIR``) says, and else on
      this machine.
    * ``conf``: Settings of Spark, which come before those that this function makes: logs are
      quiet, and a local session listens on the loopback interface only.

    Raises `NotFoundError` or `UnsupportedError` if pyspark or Java is missing or too old.
    """
    settings = _prepare(master, name, conf)
    with _unwarned():
        from pyspark.sql import SparkSession

        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()


def start_context(
    master: str | None = None, *, name: str = "sdb", conf: Mapping[str, str] | None = None
) -> SparkContext:
    """Start what runs jobs of Python, without Spark SQL, which takes a third of the start.

    * ``master, name, conf``: As for :func:`start`.

    Raises `NotFoundError` or `UnsupportedError` as :func:`start` does, and if Spark Connect is
    asked for, which runs no such jobs.
    """
    remote = os.environ.get("SPARK_REMOTE")
    if remote:
        message = f"packing needs a local driver, and SPARK_REMOTE names a remote one: {remote}"
        raise UnsupportedError(message, hint="unset SPARK_REMOTE, and give --master")
    settings = _prepare(master, name, conf, _BRIEF)
    with _unwarned():
        from pyspark import SparkConf, SparkContext

        return SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))


@contextmanager
def _unwarned() -> Iterator[None]:
    """Keep Spark from warning of a pandas that is newer than itself, which no session needs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


def _prepare(
    master: str | None, name: str, conf: Mapping[str, str] | None, java_options: str = ""
) -> dict[str, str]:
    """Make what Spark wants to find in the environment, and return its settings."""
    check_pyspark()
    submitted = _GATEWAY in os.environ
    if not submitted:
        find_java()
    if master is None and not submitted and not _CONFIGURED & set(os.environ):
        master = _HERE
    at_home = is_local(master)
    settings = {**_CONF, **(_at_home(java_options) if at_home else _QUIET), **(conf or {})}
    if "spark.pyspark.python" not in settings and not submitted:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if at_home and "spark.driver.host" not in (conf or {}):
        # The name of this machine is looked up even by who listens on the loopback only.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    named = {"spark.app.name": name} | ({} if master is None else {"spark.master": master})
    return named | settings


def _at_home(java_options: str) -> dict[str, str]:
    """Return the settings of a driver on this machine, unless there are files with others."""
    if {_GATEWAY, *_CONFIGURED} & set(os.environ):
        return _LOOPBACK | _QUIET
    # Java gets this before Spark starts, which would print how it logs.
    logging = Path(__file__).with_name("log4j2.properties").as_uri()
    return _LOOPBACK | {_JAVA_OPTIONS: f"-Dlog4j2.configurationFile={logging} {java_options}"}
