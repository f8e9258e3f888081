"""TABLESAMPLE: rows by chance; with REPEATABLE by a hash of where they stand."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse
from sdb.query.catalog.pseudo import Certain
from sdb.query.duckdb_sql.scope import ScanRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.levels import Level
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.syntax import ast

_HASHES = 1 << 64


def take_sample(sample: ast.Sample, rows: Scope, level: Level) -> None:
    """Leave out rows of a level.

    Raises
    ------
    QueryError
        Rows of a query have no place by which they could be the same again.
    """
    if sample.seed is None:
        of = f"reservoir({sample.amount} ROWS)" if sample.is_rows else _bernoulli(sample)
        level.tail = f"USING SAMPLE {of}"
        return
    (source,) = rows.sources
    file = source.field(Certain("_file")) if isinstance(source, ScanRows) else None
    row = source.field(Certain("_row")) if isinstance(source, ScanRows) else None
    if file is None or row is None:
        hint = "sample the table inside of the query"
        refuse("REPEATABLE takes a table: rows of a query have no place", sample, hint)
    rank = f"hash({file.lane('s')}, {row.lane('x')}, {sample.seed}::BIGINT)"
    if sample.is_rows:
        level.order = f"ORDER BY {rank}"
        level.tail = f"LIMIT {sample.amount}"
    else:
        most = int(sample.amount * _HASHES) // 100
        level.conditions.append(f"{rank}::HUGEINT < {most}::HUGEINT")


def _bernoulli(sample: ast.Sample) -> str:
    return f"{sample.amount} PERCENT (bernoulli)"
