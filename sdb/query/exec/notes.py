"""Notes on an answer, from metadata."""

from __future__ import annotations

from sdb.packfile.prune.predicate import path_tests
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.query.analyze.dialects import SNELLER
from sdb.query.analyze.types import ANY, STRING, values_of
from sdb.query.catalog.tablescan import PackfileScan, types_in
from sdb.query.plan.hints.failed_casts import losses
from sdb.query.plan.hints.storedpaths import MOST_PACKFILES
from sdb.query.plan.hints.type_mismatch import mismatches, texts_beside_times
from sdb.query.plan.numbertexts import unlike
from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.query.catalog.catalog import Catalog
    from sdb.query.catalog.dataset import TableName, ValuePath
    from sdb.query.plan.scans import Predicate

_MOST_COUNTED_BYTES = 256 << 20
"""Of larger packfiles texts beside times are not counted: that would read them again."""


def notes_on(statement: ast.Statement, catalog: Catalog) -> Callable[[], list[str]]:
    """Return what makes the notes on the answer to a statement.

    Comparisons of different types are looked for at once, as long as packfiles are open; the rest
    when the notes are first asked for.
    """
    compared = [line for test, parts in catalog.tested for line in mismatches(test, parts)]
    known: list[list[str]] = []

    def lines() -> list[str]:
        if not known:
            known.append(found())
        return known[0]

    def found() -> list[str]:
        from sdb.table.packfiles.knownfields import with_types

        # Types of fields that an index does not have are read.
        complete = (lambda packs: packs) if catalog.is_closed else with_types

        def types(table: TableName, path: ValuePath) -> int | None:
            packs = catalog.told_of(table)
            if hasattr(packs, "rows") or not 0 < len(packs) <= MOST_PACKFILES:
                return None
            return types_in([PackfileScan(pack, ()) for pack in complete(packs)], path)

        return [
            *compared,
            *_later_mismatches(catalog),
            *_unread_times(catalog),
            *losses(statement, catalog.told_of, complete),
            *(unlike(statement, types) if statement.dialect != SNELLER else ()),
            *_left_out(statement, catalog),
        ]

    return lines


def _left_out(statement: ast.Statement, catalog: Catalog) -> list[str]:
    """Say that rows without a key are left out, where the dialect is one that does so."""
    selects = (node for node in visitor.nodes(statement) if isinstance(node, ast.Select))
    if not any(select.original for select in selects):
        return []
    from sdb.query.plan.hints.keyless import left_out

    return left_out(statement, catalog.told_of, is_cut=catalog.is_cut)


def _later_mismatches(catalog: Catalog) -> list[str]:
    """Warn about comparisons of different types where an index alone knows too little for that."""
    from sdb.table.packfiles.knownfields import are_cut, with_types

    if catalog.is_closed:
        return []
    lines: list[str] = []
    for test, parts in catalog.tested:
        packs = [part.pack for part in parts]
        if any(True for _ in path_tests(test)) and are_cut(packs):
            lines += mismatches(test, [PackfileScan(pack, ()) for pack in with_types(packs)])
    return lines


def _unread_times(catalog: Catalog) -> list[str]:
    """Count the texts of fields that are compared with times."""
    lines: list[str] = []
    for test, parts in catalog.tested:
        for path in texts_beside_times(test, parts):
            name = field_name(path)
            is_near = not catalog.is_closed and not any(part.pack.is_remote for part in parts)
            if is_near and sum(part.pack.stored_bytes for part in parts) <= _MOST_COUNTED_BYTES:
                texts, values = (_count(parts, path, kinds) for kinds in (STRING, values_of(ANY)))
                some = f"{texts:,} of {values:,} values"
            else:
                some = "some values"
            hint = f"{name}::TIMESTAMP reads those that say a time"
            lines.append(f"warning: {some} of {name} are texts, and NULL beside a time: {hint}")
    return lines


def _count(parts: Sequence[PackfileScan], path: tuple[str, ...], kinds: int) -> int:
    """Count the rows that have a value of some types at a path."""
    from sdb import _core

    steps: list[str | int] = [*path]
    having: Predicate = ("is", steps, kinds)
    return _core.LaneScan([part.source() for part in parts], [], predicate=having).count()
