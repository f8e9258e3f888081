"""Notes on an answer, from metadata."""

from __future__ import annotations

from sdb.packfile.prune.predicate import path_tests
from sdb.query.catalog.tablescan import PackfileScan
from sdb.query.plan.hints.failed_casts import losses
from sdb.query.plan.hints.keyless import left_out
from sdb.query.plan.hints.type_mismatch import mismatches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.catalog.catalog import Catalog
    from sdb.query.syntax import ast


def notes_on(statement: ast.Statement, catalog: Catalog) -> Callable[[], list[str]]:
    """Return what makes the notes on the answer to a statement.

    Comparisons of different types are looked for at once, as long as packfiles are open; the rest
    when the notes are asked for.
    """
    compared = [line for test, parts in catalog.tested for line in mismatches(test, parts)]

    def lines() -> list[str]:
        from sdb.table.packfiles.knownfields import with_types

        # Types of fields that an index does not have are read.
        complete = (lambda packs: packs) if catalog.is_closed else with_types
        return [
            *compared,
            *_later_mismatches(catalog),
            *losses(statement, catalog.told_of, complete),
            *left_out(statement, catalog.told_of, is_cut=catalog.is_cut),
        ]

    return lines


def _later_mismatches(catalog: Catalog) -> list[str]:
    """Warn about comparisons of different types where an index alone knows too little for that."""
    from sdb.table.packfiles.knownfields import are_cut, with_types

    if catalog.is_closed:
        return []
    lines: list[str] = []
    for test, parts in catalog.tested:
        packs = [part.pack for part in parts]
        if are_cut(packs) and any(True for _ in path_tests(test)):
            lines += mismatches(test, [PackfileScan(pack, ()) for pack in with_types(packs)])
    return lines
