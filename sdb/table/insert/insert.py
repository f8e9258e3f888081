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
from sdb.table.format.keys import TableKeys, check_id, new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.pack import pack_rows

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
        The packfile; empty when there is none.
    """

    version: int
    commit: str
    is_new: bool
    packed: PackResult | None
    key: str = ""

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        packed = self.packed
        return {
            "version": self.version,
            "id": self.commit,
            "new": self.is_new,
            "packfile": self.key or None,
            "inputs": 0 if packed is None else packed.inputs,
            "rows": 0 if packed is None else packed.rows,
            "rejected": 0 if packed is None else packed.rejected,
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
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> Inserted:
    """Insert rows into a table, all of them in one version.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    inputs : path, URL, binary file, iterable of these, or iterable of dict
        See :func:`sdb.pack`.
    txn_id : str
        The client's own id. The same one again inserts nothing, and gives the same version.
    author, message : str
        Who inserts, and why; the version tells it.
    branch : str
        The branch that gets the rows.
    partition : mapping, optional
        A value for each field that the table has partitions by: all rows get it.
    progress : Progress
        Told how many bytes were read.
    options
        Others of :func:`sdb.pack`.

    Returns
    -------
    Inserted
        The version.

    Raises
    ------
    NotFoundError
        There is no such table, or branch.
    UnsupportedError
        The table has partitions, and no value is given.
    UsageError, InputError
        Values that its partitions do not have.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
    """
    keys = TableKeys(database, table)
    check_writable(root)
    options = place_of_rows(root, keys, partition or {}, options)
    check_branch(root, keys, branch)
    commit_id = txn_id or new_uid()
    done = done_before(root, keys, txn_id, branch=branch)
    if done is not None:
        return done
    # The id is in the key: the same rows twice are two packfiles, and once again are the same one.
    packed = pack_rows(root, keys, inputs, commit_id=commit_id, progress=progress, **options)
    if packed.descriptor is None:
        return Inserted(0, commit_id, is_new=False, packed=packed.result)
    change = TableChange("insert", (packed.descriptor,), author=author, message=message)
    found = commit(root, keys, change, commit_id=commit_id, is_new=not txn_id, branch=branch)
    return Inserted(
        found.version, commit_id, found.is_new, packed.result, key=packed.descriptor.key
    )


def place_of_rows(
    root: TableRoot,
    keys: TableKeys,
    partition: Mapping[str, object],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Give what packing must know of the table that rows go to.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    partition : mapping
        A value for each field that the table has partitions by.
    options : mapping
        What is known already: of statistics it goes before the definition.

    Returns
    -------
    dict
        These and others, all options of :func:`sdb.table.packfiles.pack.pack_rows`.

    Raises
    ------
    NotFoundError
        There is no such table.
    UnsupportedError
        It has partitions, and no value is given.
    UsageError, InputError
        Values that its partitions do not have.
    """
    try:
        definition = recent_definition(root, keys)
    except NotFoundError:
        if find_table(root, keys.database, keys.table) is None:
            raise root.absent(keys) from None
        definition = Definition()
    name = f"inserting into {keys.database}.{keys.table}"
    if definition.partitions and not partition:
        fields = [one.field for one in definition.partitions]
        values = " ".join(f"--partition {field}=VALUE" for field in fields)
        raise UnsupportedError(
            f"{name}: it has partitions by {', '.join(fields)}",
            hint=f"{values}; or inputs where its patterns find them, and sdb sync {keys.database}",
        )
    try:
        found = given_partition(definition.partitions, partition)
    except (UsageError, InputError) as error:
        raise error.within(name) from None
    known = {"stats": definition.statistics, **options}
    if found is not None:
        known |= {"directory": found.directory, "constants": found.constants}
    return known


def done_before(
    root: TableRoot, keys: TableKeys, txn_id: str, *, branch: str = MAIN
) -> Inserted | None:
    """Give the result of a transaction that was done before; None: it was not, or has no id."""
    if not txn_id:
        return None
    check_id(txn_id)
    done = find_commit(root, keys, txn_id, branch=branch)
    return None if done is None else Inserted(done, txn_id, is_new=False, packed=None)
