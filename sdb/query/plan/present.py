"""Paths that all rows have, as metadata proves it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.plan.scans import FieldRef


def is_always_there(field: FieldRef) -> bool:
    """Return whether it is certain that each row of a scan has a value at a path."""
    path = tuple([step for step in field.path if isinstance(step, str)])
    if field.level or not path or len(path) < len(field.path):
        return False
    parts: Sequence[PackfileScan] | None = getattr(field.scan.dataset, "read", None)
    return parts is not None and all(path in part.full_paths() for part in parts)
