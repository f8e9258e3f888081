"""Tables of Spark's own catalog, which gives a source its options only while the table is made.

What is kept and comes back is the schema. So the options become metadata of its first column.
"""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.spark.options.names import READING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

_KEY = "zion"
_MARK = "provider"


def is_made(options: Mapping[str, str]) -> bool:
    """Return whether Spark asks for the columns of a table that it is about to make."""
    return _MARK in options and "location" in options


def of_source(options: Mapping[str, str]) -> dict[str, str]:
    """Return those options of such a table that are not Spark's."""
    spelt = {name.lower(): name for name in READING}
    return {spelt[name]: value for name, value in options.items() if name in spelt}


def marked(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return a schema that has the options."""
    from pyspark.sql.types import StructField, StructType

    if not schema.fields:
        raise UsageError("there is no column", hint="name columns: CREATE TABLE name (id BIGINT)")
    first, *others = schema.fields
    metadata = {_KEY: dict(options)}
    return StructType([StructField(first.name, first.dataType, metadata=metadata), *others])


def kept(schema: StructType) -> dict[str, str] | None:
    """Return the options that a schema has; None: it is not that of such a table."""
    metadata = schema.fields[0].metadata if schema.fields else None
    return dict(metadata[_KEY]) if metadata and _KEY in metadata else None
