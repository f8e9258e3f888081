"""Arrow tables as data frames of packages that need not be there."""

from __future__ import annotations

from sdb.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    import polars as pl
    import pyarrow as pa


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Return a table as a polars data frame. Raises `NotFoundError` if Polars is not installed."""
    frame: pl.DataFrame = polars_module().from_arrow(table)
    return frame


def polars_module() -> Any:  # noqa: ANN401 - a module
    """Return the module of polars. Raises `NotFoundError` if it is not installed."""
    try:
        import polars as pl
    except ImportError as error:
        raise _missing("polars") from error
    return pl


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a pandas data frame. Raises `NotFoundError` if Pandas is not installed."""
    try:
        import pandas as pd  # noqa: F401 - pyarrow says less when it is missing
    except ImportError as error:
        raise _missing("pandas") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _missing(name: str) -> NotFoundError:
    return NotFoundError(f"{name} is not installed", hint=f"pip install {name}")
