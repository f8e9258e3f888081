"""Inserting: rows that come into a table by themselves, and not as inputs that a sync lists."""

from __future__ import annotations

from sdb.errors import InputError, NotFoundError, UnsupportedError, UsageError
from sdb.progress import silent
from sdb.records import record
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_branch, check_writable, commit, find_commit
from sdb.table.definition.cache import recent_definition
from sdb.table.definition.definition import Definition
from sdb.table.definition.partition import given_partition
from sdb.table.format.keys import TableKeys, check_id, commit_on, new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import row_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.write.pack import PackResult
    from sdb.table.catalog.root import TableRoot


@record
class Inserted:
    """The result of an insert.

    Attributes
    ----------
    version : int
        The version that has the rows; 0 when there were no rows, and no table.
    commit : str
        The id of the commit: the same one does not insert twice.
    is_new : bool
        Whether it was done now.
    packed : PackResult or None
        What packing came to; None: the id was done before, and nothing was read.
    key : str
        The packfile; empty: no rows came in.
    """

    version: int
    commit: str
    is_new: bool
    packed: PackResult | None
    key: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        packed = self.packed
        return {
            "version": self.version,
            "id": self.commit,
            "new": self.is_new,
            "packfile": self.key or None,
            "inputs": 0 if packed is None else packed.inputs,
            "rows": 0 if packed is None else packed.rows,
            "rejected": 0 if packed is None else packed.rejected,
            "kept": 0 if packed is None else packed.kept_records,
            "text_bytes": 0 if packed is None else packed.text_bytes,
            "output_bytes": 0 if packed is None else packed.output_bytes,
        }


def insert(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    inputs: Inputs,
    *,
    txn_id: str = "",
    author: str = "",
    message: str = "",
    branch: str = MAIN,
    partition: Mapping[str, object] | None = None,
    fingerprint: str = "",
    expects: int | None = None,
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> Inserted:
    """Insert rows into a table, all of them in one version.

    * ``inputs``: See :func:`sdb.pack`.
    * ``txn_id``: The client's own id. The same one again inserts nothing, and returns the same
      version.
    * ``author, message``: Recorded in the version.
    * ``partition``: A value for each field that the table has partitions by: all rows get it.
    * ``fingerprint``: An id of what is inserted, recorded with `txn_id`: it shows whether the
      same `txn_id` comes again with the same rows, see :func:`fingerprints`.
    * ``expects``: The version that the rows must follow; None: any.
    * ``options``: Others of :func:`sdb.pack`.

    Raises `NotFoundError` if there is no such table, or branch; `UnsupportedError` if the table has
    partitions, and no value is given; `UsageError` or `InputError` for values that its partitions
    do not have; `ConflictError` or `UncertainError` as :func:`sdb.table.commit.commit.commit` does.
    """
    keys = TableKeys(database, table)
    check_writable(root)
    options = packing_options(root, keys, partition or {}, options)
    check_branch(root, keys, branch)
    commit_id = txn_id or new_uid()
    done = earlier_commit(root, keys, txn_id, branch=branch)
    if done is not None:
        return done
    # The id is in the key: the same rows twice are two packfiles, and once again are the same one.
    rules = row_rules(root, keys, branch)
    packed = pack_rows(
        root, keys, inputs, rules=rules, commit_id=commit_id, progress=progress, **options
    )
    if packed.descriptor is None:
        return Inserted(0, commit_id, is_new=False, packed=packed.result)
    ids = (commit_on(branch, fingerprint),) if fingerprint else ()
    change = TableChange(
        "insert", (packed.descriptor,), author=author, message=message, ids=ids, expects=expects
    )
    committed = commit(root, keys, change, commit_id=commit_id, is_new=not txn_id, branch=branch)
    return Inserted(
        committed.version, commit_id, committed.is_new, packed.result, key=packed.descriptor.key
    )


def packing_options(
    root: TableRoot,
    keys: TableKeys,
    partition: Mapping[str, object],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what packing must know of the table that rows go to.

    * ``partition``: A value for each field that the table has partitions by.
    * ``options``: What is known already: of statistics it goes before the definition.

    Raises `NotFoundError` if there is no such table; `UnsupportedError` if it has partitions, and
    no value is given; `UsageError` or `InputError` for values that its partitions do not have.
    """
    try:
        definition = recent_definition(root, keys)
    except NotFoundError:
        if find_table(root, keys.database, keys.table) is None:
            raise root.absent(keys) from None
        definition = Definition()
    name = f"inserting into {keys.database}.{keys.table}"
    if definition.partitions and not partition:
        fields = [field.field for field in definition.partitions]
        values = " ".join(f"--partition {field}=VALUE" for field in fields)
        raise UnsupportedError(
            f"{name}: it has partitions by {', '.join(fields)}",
            hint=f"{values}; or inputs where its patterns find them, and sdb sync {keys.database}",
        )
    try:
        checked = given_partition(definition.partitions, partition)
    except (UsageError, InputError) as error:
        raise error.within(name) from None
    settings = {"stats": definition.statistics, **options}
    if checked is not None:
        settings |= {"directory": checked.directory, "constants": checked.constants}
    return settings


def earlier_commit(
    root: TableRoot, keys: TableKeys, txn_id: str, *, branch: str = MAIN
) -> Inserted | None:
    """Return the result of a transaction that was done before; None: it was not, or has no id."""
    if not txn_id:
        return None
    check_id(txn_id)
    done = find_commit(root, keys, txn_id, branch=branch)
    return None if done is None else Inserted(done, txn_id, is_new=False, packed=None)


def fingerprints(
    root: TableRoot, keys: TableKeys, version: int, *, branch: str = MAIN
) -> tuple[str, ...]:
    """Return the ids that a version records besides that of its commit.

    Returns: None of a version that has expired.
    """
    head = find_table(root, keys.database, keys.table, branch=branch)
    if head is None:
        return ()
    try:
        state = head.at(version).state
    except NotFoundError:
        return ()
    return () if state is None else state.ids
