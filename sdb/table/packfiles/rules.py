"""Rules for rows that come into a table: which depart from its schema, and what becomes of these.

All ways in pack rows by :func:`sdb.table.packfiles.pack.pack_rows`, which asks here. Rows are read
once more for it where the mode of the schema is ``quarantine`` or ``reject``, and in mode
``observe`` where the packfile tells of values that may mean others.
"""

from __future__ import annotations

from sdb import ion, notes, sizes
from sdb.errors import InputError, UnsupportedError
from sdb.packfile.prune.unknownfields import has
from sdb.records import record
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.format.keys import TableKeys, short_digest
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.conformance import (
    departing_rows,
    is_applied,
    is_checked,
    mendable_rows,
    mended_columns,
    numbered_rows,
)
from sdb.table.packfiles.schemas import shown_value
from sdb.table.packfiles.store import SMALL_BYTES, store_packed
from sdb.table.schema.columns import ITEMS, QUARANTINE, REJECT, VALUES, TableSchema, shown, steps_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from typing import Any

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.packfiles.conformance import DepartingRow
    from sdb.table.schema.types import TableColumn

REJECTED = "rejected"
"""The table of a database that quarantined rows go to."""
_MOST_TOLD = 5
_MOST_QUARANTINED = 100_000
_OPERATION = "quarantine"


class DepartingRowsError(InputError):
    """Rows that a table does not take, since they depart from its schema."""

    rows: tuple[DepartingRow, ...] = ()  # the first of them
    shown: str = ""  # their numbers, and how they depart
    reasons: Mapping[str, str] = {}  # for each input that has some, the first


@record
class RowRules:
    """Rules for new rows of a table, by the schema that it has when they come."""

    name: str  # of the table, ``db.table``
    schema: TableSchema

    @property
    def era(self) -> int:
        """The era of new rows."""
        return self.schema.era

    @property
    def are_applied(self) -> bool:
        """True if new rows are looked at."""
        return is_applied(self.schema)

    @property
    def are_quarantined(self) -> bool:
        """True if rows that depart come into another table."""
        return self.schema.mode == QUARANTINE

    def departing(self, pack: Packfile) -> tuple[list[DepartingRow], MendedRows]:
        """Return the rows of a new packfile that depart, and those that only look like it.

        In mode ``observe`` none departs, and others may come in with values that are mended.
        Raises `DepartingRowsError` if rows depart, and the mode of the schema is ``reject``, or
        there are too many of them.
        """
        listed: list[DepartingRow] = []
        mended = MendedRows(self.schema)
        if not is_checked(self.schema):
            for row in mendable_rows(pack, self.schema, self.era):
                mended.add(row)
            return [], mended
        for departing in departing_rows(pack, self.schema, self.era):
            if departing.is_mendable:
                mended.add(departing)
                continue
            listed.append(departing)
            if len(listed) > _MOST_QUARANTINED:
                break
        if listed and self.schema.mode == REJECT:
            error = departed(self.name, listed)
            error.reasons = dict(_first_reasons(pack, listed))
            if names := list(misnamed(self.schema, pack.trailer)):
                error.hint = "; ".join(names[:_MOST_TOLD])
            raise error
        if len(listed) > _MOST_QUARANTINED:
            raise InputError(
                f"{self.name}: more than {_MOST_QUARANTINED:,} rows depart from its schema",
                hint=f"insert fewer at once, or sdb schema set {self.name} --mode observe",
            )
        return listed, mended


class MendedRows:
    """Rows in which texts and numbers become what their columns mean by them."""

    def __init__(self, schema: TableSchema) -> None:
        self._columns = mended_columns(schema)
        self._fields = sorted({column.path[0] for column in self._columns})
        self.paths = tuple([(name,) for name in self._fields])
        self.numbers: list[int] = []
        self._values: list[bytes] = []

    def add(self, departing: DepartingRow) -> None:
        """Add a row; the numbers of rows ascend."""
        self.numbers.append(departing.number)
        values = departing.mended(self._columns, self._fields)
        self._values.append(ion.dumps({"row": departing.number} | values))

    def values(self) -> bytes:
        """Return the new values, as `RowChanges` has them."""
        return b"".join(self._values)


def _first_reasons(pack: Packfile, rows: Sequence[DepartingRow]) -> Iterator[tuple[str, str]]:
    """Yield inputs of a packfile with rows that depart, and what the first of these are."""
    provenance = pack.trailer.sparse.provenance()
    if provenance is None or not provenance.complete:
        return
    start = 0
    for origin in provenance.origins:
        own = [row for row in rows if start <= row.number < start + origin.rows]
        if own:
            yield origin.name, f"rows depart from the schema: {told_of(own, start)}"
        start += origin.rows


def departed(name: str, rows: Sequence[DepartingRow]) -> DepartingRowsError:
    """Make the error for rows that a table does not take."""
    error = refused(name, told_of(rows))
    error.rows = tuple(rows[:_MOST_TOLD])
    return error


def refused(name: str, shown: str, hint: str = "") -> DepartingRowsError:
    """Make the error for rows that a table does not take, and that others have looked at.

    * ``shown``: The first of them, and how they depart.
    * ``hint``: What can be done about it, if not what always can.
    """
    usual = f"sdb schema show {name}; sdb schema set {name} --mode observe takes any rows"
    error = DepartingRowsError(f"{name}: rows depart from its schema: {shown}", hint=hint or usual)
    error.shown = shown
    return error


def told_of(rows: Sequence[DepartingRow], start: int = 0) -> str:
    """Return the first of some rows, and how they depart.

    * ``start``: The number of the row that counts as the first.
    """
    texts = []
    for departing in rows[:_MOST_TOLD]:
        ways = []
        for each in departing.departures:
            value = shown_value(each.value)
            ways.append(f"{each.column}: {each.reason}" + (f", as {value}" if value else ""))
        texts.append(f"row {departing.number - start + 1:,}: {', '.join(ways)}")
    if len(rows) > _MOST_TOLD:
        texts.append(f"and {len(rows) - _MOST_TOLD:,} more")
    return "; ".join(texts)


def row_rules(root: TableRoot, keys: TableKeys, branch: str = MAIN) -> RowRules | None:
    """Return what the rows of a table must be now; None: it has no schema.

    * ``branch``: The branch that gets rows.
    """
    return rules_of(keys, schema_now(root, keys, branch))


def schema_now(root: TableRoot, keys: TableKeys, branch: str = MAIN) -> TableSchema | None:
    """Return the schema of the newest version; None: it has none, or there is no table yet."""
    head = find_table(root, keys.database, keys.table, branch=branch)
    return None if head is None or head.is_dropped else head.schema


def rules_of(keys: TableKeys, schema: TableSchema | None) -> RowRules | None:
    """Return what rows must be by a schema; None: the table has none."""
    return None if schema is None else RowRules(f"{keys.database}.{keys.table}", schema)


def check_spark(rules: RowRules | None) -> None:
    """Refuse rows from executors of Spark, which write no index, where some may be quarantined.

    Raises `UnsupportedError` if the mode of the schema is ``quarantine``.
    """
    if rules is not None and rules.are_quarantined:
        raise UnsupportedError(
            f"{rules.name}: Spark does not write to a table whose schema quarantines rows",
            hint=f"sdb schema set {rules.name} --mode reject, or observe",
        )


def quarantine(
    root: TableRoot,
    keys: TableKeys,
    pack: Packfile,
    rows: Sequence[DepartingRow],
    commit_id: str,
) -> None:
    """Put rows that depart into the table ``rejected`` of the database, each with its reasons.

    This is a separate version, before that of the other rows. The same rows of the same commit
    come in once.

    * ``pack``: The packfile that has the rows.
    * ``commit_id``: That of the commit that brings the others.

    Raises `ConflictError` or `UncertainError` as :func:`sdb.table.commit.commit.commit` does.
    """
    from sdb.table.commit.environment import REAL

    name = f"{keys.database}.{keys.table}"
    at = ion.instant_from_us(REAL.now_us())
    texts = []
    contents = numbered_rows(pack, [departing.number for departing in rows])
    for departing, row in zip(rows, contents, strict=True):
        reasons = [f"{each.column}: {each.reason}" for each in departing.departures]
        texts.append({"table": name, "at": at, "reason": "; ".join(reasons), "row": row})
    digest = short_digest(b"".join(map(ion.dumps, contents)))
    own_id = f"{_OPERATION}-{short_digest(f'{name} {commit_id} {digest}'.encode())}"
    target = TableKeys(keys.database, REJECTED)
    descriptor = _stored(root, target, b"".join(map(ion.dumps, texts)), own_id)
    message = f"rows of {name} that depart"
    change = TableChange(_OPERATION, (descriptor,), message=message, makes_table=True)
    if not commit(root, target, change, commit_id=own_id).is_new:
        return
    notes.warn(
        f"{keys.database}.{REJECTED} got {sizes.counted(len(rows), 'row')} that the schema of "
        f"{name} does not admit"
    )


def _stored(root: TableRoot, keys: TableKeys, encoded: bytes, commit_id: str) -> Descriptor:
    """Store a packfile of rows in Ion."""
    from tempfile import SpooledTemporaryFile

    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.write.pack import pack

    def pieces() -> Generator[bytes]:
        yield encoded

    with SpooledTemporaryFile(SMALL_BYTES) as file:
        spool: Any = file
        packed = pack([Input("rows that depart", "ion", source=pieces)], spool)
        return store_packed(root, keys, (packed, spool), commit_id=commit_id)


# New rows that have the name of a column where its values lie in a field of another name.


def warn_misnamed(name: str, schema: TableSchema, trailer: Trailer, *, is_frame: bool) -> None:
    """Warn of new rows with names of columns that were renamed, or added again.

    * ``name``: That of the table.
    * ``trailer``: That of the new packfile.
    * ``is_frame``: Whether the rows were a data frame. Its names often are those of columns, also
      where one is the field of another column; other rows that have such a field mean that column.
    """
    for text in misnamed(schema, trailer, is_frame=is_frame):
        notes.warn(f"{name}: {text}")


def misnamed(schema: TableSchema, trailer: Trailer, *, is_frame: bool = False) -> Iterator[str]:
    """Find such names; see :func:`warn_misnamed`.

    Yields: A line on each.
    """
    return _misnamed(schema.columns, (), trailer, is_frame=is_frame)


def _misnamed(
    columns: tuple[TableColumn, ...], base: FieldPath, trailer: Trailer, *, is_frame: bool
) -> Iterator[str]:
    for column in columns:
        path = (*base, *column.path)
        lies = f"the column {column.name} lies in the field {_shown(path)} of rows"
        for label in (column.name, *column.aliases):
            if label == column.path[0] or not has(trailer, (*base, label)):
                continue
            owner = next((other for other in columns if other.path[0] == label), None)
            own = _shown((*base, label))
            if owner is None:
                yield f"no column has the field {own} of the new rows: {lies}"
            elif is_frame and label == column.name and not has(trailer, path):
                yield f"the field {own} of the new rows is the column {owner.name}: {lies}"
        steps = steps_of(column.type)
        if column.columns and VALUES not in steps:
            inner = (*path, *[None if step == ITEMS else step for step in steps])
            yield from _misnamed(column.columns, inner, trailer, is_frame=is_frame)


def _shown(path: FieldPath) -> str:
    """Return a path of fields as people write it."""
    return shown(tuple([name for name in path if name is not None]))
