"""Meaning of a retention policy for a table: its oldest row, rows without a time, and slips."""

from __future__ import annotations

from contextlib import closing

from sdb import instants, notes
from sdb.errors import NotFoundError
from sdb.packfile.prune.unknownfields import unknown
from sdb.packfile.trailer.fieldcounts import type_names
from sdb.records import record
from sdb.table.catalog.handle import find_table
from sdb.table.commit.environment import REAL
from sdb.table.definition.cache import read_definition
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.knownfields import trailers_with_fields
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile
from sdb.table.sync.oldrows import TIMES_ALONE, constant_us, field_count, has_times
from sdb.table.sync.retention import rule_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.definition.timespan import Retention
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.oldrows import RetentionRule


MOST_READ = 64
"""Of how many packfiles the trailers are read to count rows without a field."""


@record
class RetentionFacts:
    """Facts of a table that has a retention policy."""

    policy: Retention
    # The oldest time that a row has; None: none has one, as far as indexes tell.
    oldest_us: int | None
    # Number of rows that do not have the field; None: packfiles do not tell.
    rows_without: int | None
    types: tuple[str, ...]  # names of the types of other values than times that rows have there
    flaw: str  # why no row can be too old; empty: one can be

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "field": self.policy.field,
            "valid_for": str(self.policy.valid_for),
            "without_time": self.policy.without_time,
            "oldest_at": None if self.oldest_us is None else instants.text(self.oldest_us),
            "rows_without_field": self.rows_without,
            "other_types": list(self.types),
            "flaw": self.flaw or None,
        }

    def __str__(self) -> str:
        """Write it for people, on a line."""
        parts = [f"rows are kept {self.policy.valid_for} by {self.policy.field}"]
        if self.oldest_us is not None:
            parts.append(f"the oldest is of {instants.text(self.oldest_us, fraction=False)}")
        fate = "go" if self.policy.without_time == "delete" else "stay"
        if self.rows_without:
            parts.append(f"{self.rows_without:,} without it {fate}")
        elif self.rows_without is None:
            parts.append(f"rows without it are not counted, and {fate}")
        if self.types:
            parts.append(f"so do rows with {', '.join(self.types)} there, which is no time")
        return "; ".join(parts)


def retention_facts(
    handle: TableHandle, definition: Definition, now_us: int, *, most_read: int | None
) -> RetentionFacts | None:
    """Return what a retention policy means for a table; None: it has none.

    * ``most_read``: Of how many packfiles the trailers are read at most; of all if not given.
    """
    rule, policy = rule_of(handle, definition, now_us), definition.retention
    if rule is None or policy is None:
        return None
    listed = [descriptor.checked() for descriptor in handle.descriptors()]
    times = [time_us for item in listed if (time_us := _oldest_us(item, rule)) is not None]
    rows, types = 0, 0
    is_known = True
    with closing(OpenObjects(1)) as objects:
        packs = (TablePackfile(handle.root, descriptor, objects) for descriptor in listed)
        left = len(listed) if most_read is None else most_read
        for pack in packs:
            without = _without(pack.trailer, rule)
            if without is None and left:
                left -= 1
                without = _without(pack.whole_trailer(), rule)
            is_known = is_known and without is not None
            rows += without[0] if without else 0
            types |= without[1] if without else 0
    names = tuple(type_names(types & ~TIMES_ALONE))
    flaw = retention_flaw(handle, rule, listed)
    return RetentionFacts(policy, min(times, default=None), rows if is_known else None, names, flaw)


def retention_of(
    handle: TableHandle, *, most_read: int | None = MOST_READ
) -> RetentionFacts | None:
    """Return what the policy of its definition means for a table now; None: it has none."""
    try:
        definition = read_definition(handle.root, handle.keys)
    except NotFoundError:
        return None
    return retention_facts(handle, definition, REAL.now_us(), most_read=most_read)


def warn_of_flaw(
    root: TableRoot, keys: TableKeys, definition: Definition, branch: str = MAIN
) -> None:
    """Warn if no row of a table can be too old, since none has a time at the field."""
    if definition.retention is None:
        return
    handle = find_table(root, keys.database, keys.table, branch=branch)
    rule = None if handle is None else rule_of(handle, definition, 0)
    if handle is not None and rule is not None and (flaw := retention_flaw(handle, rule)):
        notes.warn(flaw)


def _oldest_us(descriptor: Descriptor, rule: RetentionRule) -> int | None:
    sparse = descriptor.trailer.sparse
    index = sparse.indices.get(rule.path(sparse))
    if index is None or index.is_empty:
        return constant_us(sparse, rule.path(sparse))
    return index.first_us


def _without(trailer: Trailer, rule: RetentionRule) -> tuple[int, int] | None:
    """Return how many rows do not have the field, and the types of it; None: it is not known."""
    sparse, rows = trailer.sparse, trailer.rows
    path = rule.path(sparse)
    if path[0] in sparse.constants:
        return (0, TIMES_ALONE) if constant_us(sparse, path) is not None else None
    if rows is None or sparse.summary is None:
        return None
    if path not in sparse.summary.types:
        return (rows, 0) if sparse.summary.complete else None
    count = field_count(sparse, path)
    return None if count is None else (rows - count.rows, count.types)


def retention_flaw(
    handle: TableHandle, rule: RetentionRule, listed: Iterable[Descriptor] | None = None
) -> str:
    """Return why no row of a table can be too old by its policy; empty: one can be."""
    descriptors = list(handle.descriptors() if listed is None else listed)
    if not descriptors or any(has_times(descriptor, rule) for descriptor in descriptors):
        return ""
    path = rule.path(descriptors[0].trailer.sparse)
    with closing(OpenObjects(1)) as objects:
        packs = [TablePackfile(handle.root, item.checked(), objects) for item in descriptors]
        trailers = trailers_with_fields(packs, [path])
    for text, hint in unknown([path], trailers, of=handle.name):
        return f"{text}, so that its retention policy takes nothing out" + (
            f"; {hint}" if hint else ""
        )
    return _flaw_of_types(handle.name, path, [trailer for _, trailer in trailers])


def _flaw_of_types(name: str, path: Sequence[str], trailers: Sequence[Trailer]) -> str:
    types = 0
    for trailer in trailers:
        if not trailer.sparse.is_without_times(tuple(path)) or trailer.sparse.summary is None:
            return ""
        types |= trailer.sparse.summary.types.get(tuple(path), 0)
    kinds = ", ".join(type_names(types))
    field = ".".join(path)
    return (
        f"no row of {name} has a time at {field}, but {kinds}, so that its retention policy takes "
        "nothing out"
    )
