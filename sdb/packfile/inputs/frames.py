"""Tables of Arrow and data frames as inputs: whatever has ``__arrow_c_stream__``, and pandas.

Columns become fields as those of Parquet files do, see docs/inputs.md.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import InputError, SdbError
from sdb.packfile.inputs.arrowrows import encoded
from sdb.packfile.inputs.rowvalues import encoded_rows, warn_of_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Any

    import pyarrow as pa

_SLICE_ROWS = 4096


def rows_of(frame: object, *, keep_nulls: bool) -> Generator[bytes]:
    """Yield the rows of a table as Ion streams of lists of structs.

    * ``frame``: A table, see :func:`sdb.packfile.inputs.rowvalues.is_frame`.
    * ``keep_nulls``: Whether fields that are null are written as such, or left out.

    Raises `InputError` if a value has no place in a row, or two columns have one name.
    """
    import pyarrow as pa

    name = type(frame).__name__
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            yield from _rows_of_pandas(frame, keep_nulls=keep_nulls)
            return
        if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
            frame = frame.collect()  # a LazyFrame of polars
        yield from _rows_of_batches(_batches(frame), keep_nulls=keep_nulls)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, SdbError):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        if "Python exception" not in lines[0]:
            raise InputError(f"the {name}: {lines[0]}", path="the rows") from error
        # What a generator of the program has raised, which Arrow hands over as text.
        if lines[-1].startswith("KeyboardInterrupt"):
            raise KeyboardInterrupt from None
        raise InputError(f"the {name}: {lines[-1]}", path="the rows") from error


def is_read_once(frame: object) -> bool:
    """Return whether a table can be read a single time, as streams are."""
    module = type(frame).__module__.partition(".")[0]
    if module in {"pandas", "polars"}:
        return False
    return not hasattr(frame, "num_rows")  # tables and batches of Arrow have it


def _batches(frame: Any) -> Iterator[pa.RecordBatch]:  # noqa: ANN401 - of any library
    """Iterate over the batches of anything that hands out Arrow data."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        yield frame
    elif hasattr(frame, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(frame)
    else:
        yield pa.record_batch(frame)


def _rows_of_batches(batches: Iterable[pa.RecordBatch], *, keep_nulls: bool) -> Generator[bytes]:
    """Encode batches; an error names the row too."""
    first = 0
    is_checked = False
    for batch in batches:
        if not is_checked:
            _warn_of_zones(batch.schema)
            is_checked = True
        for start in range(0, batch.num_rows, _SLICE_ROWS):
            part = batch.slice(start, _SLICE_ROWS)
            try:
                yield from encoded([part], keep_nulls=keep_nulls)
            except InputError as error:
                raise _in_row(error, part, first + start) from None
        first += batch.num_rows


def _in_row(error: InputError, part: pa.RecordBatch, first: int) -> InputError:
    """Return an error with the number of the row, unless the type of a column is what is wrong."""
    from sdb._core import dump_batch

    for row in range(-1, part.num_rows):
        try:
            dump_batch(part.slice(max(row, 0), int(row >= 0)), keep_nulls=True)
        except InputError as exact:
            where = "the rows" if row < 0 else f"row {first + row:,}"
            return exact.within(where, path="the rows")
    return error


def _warn_of_zones(schema: pa.Schema) -> None:
    """Warn of columns of times that have no zone."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            warn_of_zone(field.name)


def _rows_of_pandas(frame: Any, *, keep_nulls: bool) -> Generator[bytes]:  # noqa: ANN401
    """Encode a data frame of pandas; a column of mixed values makes the rows Python's."""
    import pyarrow as pa

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    elif frame.index.dtype.kind not in "iu":
        text = "the index of the data frame has no name, and is left out"
        notes.warn(f"{text}: name it to keep it")
    _check_names(frame)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        yield from encoded_rows(_python_rows(frame), keep_nulls=keep_nulls)
        return
    yield from _rows_of_batches(table.to_batches(), keep_nulls=keep_nulls)


def _check_names(frame: Any) -> None:  # noqa: ANN401
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{names.count(twice[0])} columns are called {twice[0]!r}")


def _python_rows(frame: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Iterate over the rows of a data frame, whose NaN are null, as they are in its Arrow form."""
    for start in range(0, len(frame), _SLICE_ROWS):
        for row in frame.iloc[start : start + _SLICE_ROWS].to_dict("records"):
            yield {str(name): _or_null(value) for name, value in row.items()}


def _or_null(value: Any) -> Any:  # noqa: ANN401
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
