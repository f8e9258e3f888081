"""Sources with many columns, of which Spark 4.3 does not tell a source which a query needs."""

from __future__ import annotations

import logging
import os
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import StructType

LEAST = 30
"""A session says it from this number of columns on, those inside of structs counted."""
_MARK = ".sdb-said-that-all-columns-are-decoded"
_log = logging.getLogger("sdb.spark")


def say_once(schema: StructType) -> None:
    """Say once in a session that all columns of a wide source are decoded, and how to name some."""
    count = _leaves(schema)
    if count < LEAST or not _is_first():
        return
    _log.warning(
        "all %d columns are decoded, since Spark does not say which a query needs: name them with"
        ' .option("fields", "%s"), or with .schema(...)',
        count,
        ",".join(schema.names[:2]),
    )


def _leaves(schema: StructType) -> int:
    from pyspark.sql.types import StructType

    kinds = [field.dataType for field in schema]
    return sum(_leaves(kind) if isinstance(kind, StructType) else 1 for kind in kinds)


def _is_first() -> bool:
    """Return whether this is asked for the first time, by any process of the session."""
    from pyspark import SparkFiles

    # The folder of the files of a session, which Spark removes with it.
    try:
        folder = Path(SparkFiles.getRootDirectory())
        os.close(os.open(folder / _MARK, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except (OSError, TypeError, AssertionError):
        return False
    return True
