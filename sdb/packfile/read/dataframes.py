"""Arrow tables as data frames of packages that need not be there."""

from __future__ import annotations

from sdb.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Give a table as a polars data frame.

    Raises
    ------
    NotFoundError
        Polars is not installed.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise _missing("polars") from error
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101
    return frame


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Give a table as a pandas data frame.

    Raises
    ------
    NotFoundError
        Pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: F401 - pyarrow says less when it is missing
    except ImportError as error:
        raise _missing("pandas") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _missing(name: str) -> NotFoundError:
    return NotFoundError(f"{name} is not installed", hint=f"pip install {name}")
