"""Keys of the small side of a join, which leave out blocks of the large one."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from sdb import ion
from sdb.errors import SdbError
from sdb.packfile.prune.inlist import MOST_FILTERED
from sdb.packfile.trailer.blockstats import INTEGERS, PREFIXES, TEXTS
from sdb.packfile.trailer.zonemap import share_read
from sdb.query.catalog.dataset import table_name
from sdb.query.catalog.reduction import field_path
from sdb.query.exec import engine
from sdb.query.plan.keyfilters import key_filters, with_keys
from sdb.query.result.result import Result
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.zonemap import Zone
    from sdb.query.catalog.catalog import Catalog
    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.plan.keyfilters import KeyFilter, KeyTable

MOST_KEYS = 10_000
"""A side with more different keys is not small."""

MOST_READ = 0.75
"""Zones by which a search for one value reads a greater share of the blocks are of no use."""

LEAST_TIMES = 4
"""How many times as many bytes are to be read of the large side, before its blocks are left out."""

_MOST_ASKED = 8
_FEWEST_BLOCKS = 2
_FILTERS = (TEXTS, INTEGERS, PREFIXES)


def with_join_keys(
    statement: ast.Statement,
    catalog: Catalog,
    *,
    threads: int | None = None,
    memory_bytes: int | None = None,
) -> ast.Statement:
    """Send large sides of joins the keys that the small ones have.

    For that the keys of the small side are read before the statement runs, as far as what is known
    of the blocks of the large one can leave out any by them.

    * ``threads, memory_bytes``: See :func:`sdb.query.run.api.sql`.

    Returns: The same; what is wrong with it is an error when it is run.
    """
    finder = _Finder(catalog, statement.dialect, threads or 0, memory_bytes)
    keys_by_source: dict[int, list[ast.Among]] = {}
    for key_filter in key_filters(statement):
        catalog.check_cancelled()
        with suppress(SdbError):
            keys = finder.keys(key_filter)
            if keys is not None:
                keys_by_source.setdefault(id(key_filter.source), []).append(keys)
    return with_keys(statement, keys_by_source) if keys_by_source else statement


class _Finder:
    """Reads keys."""

    def __init__(
        self, catalog: Catalog, dialect: str, threads: int, memory_bytes: int | None
    ) -> None:
        self._catalog = catalog
        self._dialect = dialect
        self._threads = threads
        self._memory_bytes = memory_bytes

    def keys(self, key_filter: KeyFilter) -> ast.Among | None:
        """Return the keys; None: there are too many, or they leave out nothing."""
        target, path = self._look(key_filter.target), field_path(key_filter.target.path)
        if path is not None and target.under is not None:
            path = target.under.stored(path)  # type: ignore[assignment, arg-type]  # of names alone
        blocks = sum(part.block_count for part in target.read)
        if path is None or blocks < _FEWEST_BLOCKS:
            return None
        most = _most(target, path)
        if not most:
            return None
        if LEAST_TIMES * _bytes(self._look(key_filter.keys)) > _bytes(target):
            return None
        rows = self._look(key_filter.keys, is_whole=True) if key_filter.keys.lent else None
        if rows is not None and not all(_has(rows, name) for name in key_filter.keys.lent):
            return None
        keys = self._values(key_filter.keys, most)
        return None if keys is None else ast.Among(key_filter.target.path, keys)

    def _look(self, table: KeyTable, *, is_whole: bool = False) -> TableScan:
        name = table_name(table.table)
        return self._catalog.look((name,) if name else (), None if is_whole else table.where)

    def _values(self, keys: KeyTable, most: int) -> tuple[ast.Literal, ...] | None:
        """Read the keys of a table, each once; None: too many, or some that metadata knows not."""
        select = ast.Select(
            (ast.Item(keys.path, "key"),),
            sources=(ast.Source(keys.table, None),),
            where=keys.where,
            group_by=(ast.Item(keys.path),),
            limit=most + 1,
            names=("key",),
        )
        execution = engine.run(
            ast.Statement(select, dialect=keys.dialect or self._dialect),
            datasets=self._catalog.look,
            threads=self._threads,
            memory_bytes=self._memory_bytes,
        )
        result = Result("", execution, [])
        with result, self._catalog.interrupting(result.interrupt):
            rows = list(islice(result, most + 1))
        literals = [_constant(row["key"]) for row in rows if "key" in row]
        known = tuple([literal for literal in literals if literal is not None])
        return known if len(known) == len(literals) <= most else None


def _has(rows: TableScan, name: str) -> bool:
    """Return whether a name is that of a column, or without a schema of a field of any row."""
    return engine.holds(rows, (name,)) if rows.under is None else rows.under.has(name)


def _constant(value: object) -> ast.Literal | None:
    """Return a value as a constant; None: it is a list, a structure or bytes."""
    if value is None or isinstance(value, bool | int | float | str):
        return ast.Literal(value)
    us = ion.instant_to_us(value)
    return None if us is None else ast.Literal(ast.Instant(us))


def _bytes(scan: TableScan) -> int:
    return sum(part.compressed_bytes for part in scan.read)


def _most(scan: TableScan, path: FieldPath) -> int:
    """Return how many keys can leave out blocks of some packfiles, judged by the first of them.

    None, where nothing is known of the path, or only zones that are alike; of filters alone no more
    than are asked.
    """
    zones: list[Zone | None] = []
    has_filters = False
    for pack in [part.pack for part in scan.read[:_MOST_ASKED]]:
        sparse = pack.trailer.sparse
        if path in sparse.indices or (len(path) == 1 and path[0] in sparse.constants):
            return MOST_KEYS
        known = pack.known[1]
        path_zones = None if known is None else known.zone(path)
        zones += (None,) * sparse.blocks if path_zones is None else path_zones
        has_filters |= known is not None and any((path, kind) in known.sizes for kind in _FILTERS)
    if share_read(zones) <= MOST_READ:
        return MOST_KEYS
    return MOST_FILTERED if has_filters else 0
