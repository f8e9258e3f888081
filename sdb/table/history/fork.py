"""Forking and pushing: a table with the same packfiles, under another name or below another root.

Packfiles that are there already are not sent, so that what was broken off goes on where it was.
"""

from __future__ import annotations

from sdb import sizes
from sdb.errors import ConflictError, ExistsError
from sdb.progress import counted, silent
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.lookup import Versions
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.state import state_of
from sdb.table.history import sharing
from sdb.table.history.transfer import Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex

FORK = "fork"
PUSH = "push"


@record
class SentTable:
    """The result of a fork or a push.

    Attributes
    ----------
    name, root : str
        The table that has the packfiles now, and where it is.
    version : int
        Its version.
    packfiles, size_bytes : int
        Number and size of its packfiles.
    sent, sent_bytes : int
        Number and size of those that were not there before.
    is_new : bool
        Whether it got a version now.
    """

    name: str
    root: str
    version: int
    packfiles: int
    size_bytes: int
    sent: int
    sent_bytes: int
    is_new: bool

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.name,
            "root": self.root,
            "version": self.version,
            "packfiles": self.packfiles,
            "bytes": self.size_bytes,
            "sent": self.sent,
            "sent_bytes": self.sent_bytes,
            "new": self.is_new,
        }


def fork(
    source: TableHandle,
    database: str,
    table: str,
    *,
    share: bool = False,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> SentTable:
    """Make a separate table of a version, below the same root.

    Packfiles are copied by the file system or the store where these can, or not at all.

    * ``share``: Whether it refers to the packfiles of the other table, which keeps them for it in a
      branch. Those of the original are copied all the same, and it gets no definition: the original
      would delete what one of both tables does not need.
    * ``author, message``: Recorded in the version.

    Raises `ExistsError` if there is such a table, `CorruptError` if a packfile is missing or not
    what was written and `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    keys = TableKeys(database, table)
    check_writable(source.root)
    exists = ExistsError(f"the table {database}.{table} exists below {source.root.location}")
    if find_table(source.root, database, table) is not None:
        raise exists
    source = sharing.settled(source, env) if share else source
    transfer = Transfer(source, source.root, keys)
    if transfer.has_other_definition():
        raise ExistsError(exists.message, hint=f"it has a definition: sdb def {database} {table}")
    wanted = tuple(source.descriptors())
    total = sum(descriptor.size_bytes for descriptor in wanted)
    shared = {
        descriptor.key: descriptor
        for descriptor in wanted
        if share and sharing.is_shareable(descriptor.key)
    }
    shares = sharing.hold(source, shared, keys, env) if shared else {}
    others = [descriptor for descriptor in wanted if descriptor.key not in shared]
    brought = dict(
        zip(
            [descriptor.key for descriptor in others],
            transfer.packfiles(others, counted(progress, total)),
            strict=True,
        )
    )
    message = message or f"fork of {_shown(source)}"
    change = TableChange(
        FORK,
        tuple([shared.get(descriptor.key) or brought[descriptor.key] for descriptor in wanted]),
        inputs=transfer.inputs(None),
        author=author,
        message=message,
        shares=shares,
        schema=source.schema_data or None,
    )

    def plan(index: TableIndex) -> TableChange:
        if index.objects or state_of(index.user_data) is not None:
            raise exists
        return change

    done = commit(source.root, keys, plan, env=env)
    if not share:  # and not before: a definition shows that a table is there
        transfer.definition()
    sharing.check_held(source.root, shares)
    counts = (len(wanted), total, transfer.sent, transfer.sent_bytes)
    name = f"{database}.{table}"
    return SentTable(name, source.root.location, done.version, *counts, done.is_new)


def push(
    source: TableHandle,
    root: TableRoot,
    *,
    name: str = "",
    author: str = "",
    message: str = "",
    progress: Progress = silent,
) -> SentTable:
    """Make the table of a name below another root the same as a version.

    * ``name``: Name of the table there; the same if not given.
    * ``author, message``: Recorded in the version.

    Raises `ConflictError` if the table there has packfiles that this one never had, which a push
    would take away, and as :func:`sdb.table.commit.commit.commit` does; `CorruptError` if a
    packfile is missing or not what was written; `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    database, _, table = (name or source.name).partition(".")
    keys = TableKeys(database, table)
    check_writable(root)
    transfer = Transfer(source, root, keys)
    wanted = tuple(source.descriptors())
    total = sum(descriptor.size_bytes for descriptor in wanted)
    report = counted(progress, total)
    at_target = _known(source, find_table(root, database, table))
    brought = {
        _name(descriptor): descriptor
        for descriptor in transfer.packfiles(
            [descriptor for descriptor in wanted if _name(descriptor) not in at_target], report
        )
    }

    def plan(index: TableIndex) -> TableChange | None:
        target = find_table(root, database, table)
        try:
            present = _known(source, target)
        except ConflictError as error:
            raise _GivenUpError(error) from None
        missing = [descriptor for descriptor in wanted if _name(descriptor) not in present]
        brought.update(
            (_name(descriptor), descriptor)
            for descriptor in transfer.packfiles(
                [descriptor for descriptor in missing if _name(descriptor) not in brought], report
            )
        )
        change = TableChange(
            PUSH,
            tuple([brought[_name(descriptor)] for descriptor in missing]),
            frozenset(present.values())
            - {present.get(_name(descriptor), "") for descriptor in wanted},
            transfer.inputs(target),
            author=author,
            message=message or f"push of {_shown(source)}",
        )
        before = state_of(index.user_data)
        if (source.schema_data) != (b"" if before is None else before.schema):
            change = replace(change, schema=source.schema_data)
        return None if change.is_nothing and index.objects else change

    try:
        done = commit(root, keys, plan)
    except _GivenUpError as error:
        raise error.reason from None
    transfer.definition()
    counts = (len(wanted), total, transfer.sent, transfer.sent_bytes)
    return SentTable(f"{database}.{table}", root.location, done.version, *counts, done.is_new)


class _GivenUpError(Exception):
    """A conflict that no further attempt can solve."""

    def __init__(self, reason: ConflictError) -> None:
        self.reason = reason


def _known(source: TableHandle, target: TableHandle | None) -> dict[str, str]:
    """Return keys of packfiles that a table has, by names; the source must have, or have had all.

    Names are derived from the content; keys may be others there.
    """
    if target is None:
        return {}
    target_keys = {_name(descriptor): descriptor.key for descriptor in target.descriptors()}
    unknown = target_keys.keys() - {_name(descriptor) for descriptor in source.descriptors()}
    past = Versions(source).newest_first() if unknown else iter(())
    for version in past:
        had = source.version(version.key, version.etag)
        unknown -= {_name(descriptor) for descriptor in had.descriptors()}
        if not unknown:
            break
    if unknown:
        packfiles = sizes.counted(len(unknown), "packfile")
        raise ConflictError(
            f"{target.name} below {target.root.location} has {packfiles} that {source.name} "
            "never had",
            path=target_keys[min(unknown)],
            hint="sdb cp --as DB.NEW makes another table there",
        )
    return target_keys


def _name(packfile: Descriptor) -> str:
    """Return the name by which both tables know a packfile."""
    return own_key(packfile.key).rpartition("/")[2]


def _shown(source: TableHandle) -> str:
    state = source.state
    return source.name if state is None else f"{source.name}@{state.version}"
