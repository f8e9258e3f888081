"""Parquet files as input: their rows as Ion, batch by batch; nulls stay."""

from __future__ import annotations

from sdb.errors import InputError, SdbError
from sdb.packfile.inputs.arrowrows import encoded
from sdb.store.parquetpages import BoundedParquet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.store.base import Reader


def rows(reader: Reader, name: str) -> Generator[bytes]:
    """Yield the rows of a Parquet file as Ion streams of lists of structs.

    * ``reader``: The file; it is closed in the end.

    Raises `InputError` if the file is malformed, or holds a value that has no place in a row.
    """
    import pyarrow as pa

    try:
        with BoundedParquet(reader) as file:
            yield from encoded(file.batches(), keep_nulls=True)
    except InputError as error:
        raise error.within(name, path=name) from error
    except (pa.ArrowException, OSError, OverflowError, TypeError, ValueError) as error:
        # Arrow reports damage as errors of the system that have no number.
        if isinstance(error, SdbError) or (isinstance(error, OSError) and error.errno):
            raise
        message = str(error).split("\n", 1)[0]
        raise InputError(f"{name}: cannot read Parquet: {message}", path=name) from error
    finally:
        reader.close()
