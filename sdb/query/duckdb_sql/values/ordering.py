"""Terms of ORDER BY of the dialect `standard`: no row falls out."""

from __future__ import annotations

from sdb.query.analyze.types import MISSING
from sdb.query.duckdb_sql.values.operators import sort_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.values.lanes import Value
    from sdb.query.syntax import ast


def kept_keys(value: Value, sort: ast.Sort) -> list[str]:
    """Return terms by which rows without a value come last, or first with NULLS FIRST."""
    terms = sort_keys(value, descending=sort.descending, nulls_last=sort.nulls_last)
    if value.mask & MISSING and value.mask != MISSING:
        terms.insert(0, f"{value.missing()} {'DESC' if sort.nulls_first else 'ASC'}")
    return terms
