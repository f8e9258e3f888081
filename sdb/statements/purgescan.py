"""Looks for rows in every packfile that lies below a table, whatever leads to it."""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError, NotFoundError, UnsupportedError, UsageError
from sdb.packfile.prune.unknownfields import AbsentFieldError, is_cut
from sdb.packfile.trailer.read import read_trailer
from sdb.records import field, record, replace
from sdb.sizes import counted
from sdb.statements.matching import Target
from sdb.statements.targettable import TransactionOverlay
from sdb.table.catalog.handle import find_table
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.maintenance.collected import kind_of
from sdb.table.maintenance.listing import branches_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.syntax import ast
    from sdb.statements.matching import QueryContext
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

_ATTEMPTS = 3


@record
class ErasableRows:
    """The packfiles below a table, and those of others that it leads to."""

    # For each packfile with rows for which the condition is TRUE their number
    rows: dict[str, int] = field(default_factory=dict)
    # For each packfile that cannot be read what is wrong with it
    unreadable: dict[str, str] = field(default_factory=dict)
    packfiles: int = 0  # number of packfiles that were looked into
    unfinished: tuple[str, ...] = ()  # hidden files of programs that write, or died

    def __add__(self, other: ErasableRows) -> ErasableRows:
        """Return both."""
        return ErasableRows(
            self.rows | other.rows,
            self.unreadable | other.unreadable,
            self.packfiles + other.packfiles,
            self.unfinished + other.unfinished,
        )


def scan_table(
    root: TableRoot,
    keys: TableKeys,
    where: ast.Expr,
    context: QueryContext,
    *,
    is_told: bool = False,
) -> ErasableRows:
    """Look for rows in all packfiles below a table, and in those of other tables that it leads to.

    * ``is_told``: Whether to warn of what the condition leaves out, and to refuse one that names
      what no packfile has.

    Raises `UsageError` if no row of any version has a field of the condition and `CorruptError` if
    a packfile is damaged.
    """
    for attempt in range(_ATTEMPTS):
        described, scan = _described(root, keys)
        if not described:
            return scan
        view = TransactionOverlay(root, keys, None)
        view.add(described)
        name = f"{keys.database}.{keys.table}"
        strict = replace(context, is_strict=is_told)
        target = Target(f"PURGE {name}", None, view.table(), strict)
        try:
            matches = target.matches(where, is_told=is_told)
        except AbsentFieldError as error:
            looked = f"looked at {counted(len(described), 'packfile')} of all its versions"
            raise UsageError(f"{error.message}: {looked}", hint=error.hint) from None
        except CorruptError as error:
            is_gone = any(not root.has(descriptor.key) for descriptor in described)
            if not is_gone or attempt + 1 == _ATTEMPTS:
                raise error.within(f"looking for rows of {name}") from None
            continue  # somebody else collects
        rows = {
            matched.descriptor.key: len(matched.rows) for matched in matches if len(matched.rows)
        }
        return ErasableRows(rows, scan.unreadable, len(described), scan.unfinished)
    raise AssertionError("unreachable")


def _described(root: TableRoot, keys: TableKeys) -> tuple[list[Descriptor], ErasableRows]:
    """Return descriptors of all packfiles; those that no index tells of are opened."""
    known: dict[str, Descriptor] = {}
    names = (keys.database, keys.table)
    heads = [find_table(root, *names, branch=branch) for branch in branches_of(root, keys)]
    for head in heads:
        if head is not None:
            known |= {descriptor.key: descriptor for descriptor in head.descriptors()}
    start = root.key_start(keys.folder)
    listed = {
        entry.location[start:]: kind_of(keys, entry.location[start:])
        for entry in root.store.below(root.place(keys.folder))
    }
    if any(head is not None and head.state and head.state.shares for head in heads):
        known |= _elsewhere(root, keys, listed, heads)
    described: list[Descriptor] = []
    unreadable: dict[str, str] = {}
    own = {key for key, kind in listed.items() if kind == "packfile"}
    for key in sorted(own | {key for key in known if not key.startswith(f"{keys.folder}/")}):
        try:
            descriptor = known[key].checked() if key in known else _opened(root, key)
            if is_cut(descriptor.trailer):
                descriptor = _with_types(root, descriptor)
        except NotFoundError:
            continue  # somebody has just collected it
        except (CorruptError, UnsupportedError) as error:
            unreadable[key] = error.message
        else:
            described.append(descriptor)
    unfinished = tuple(key for key, kind in listed.items() if kind == "unfinished")
    return described, ErasableRows({}, unreadable, len(described), unfinished)


def _elsewhere(
    root: TableRoot,
    keys: TableKeys,
    listed: Iterable[str],
    heads: Iterable[TableHandle | None],
) -> dict[str, Descriptor]:
    """Return the packfiles of other tables that any version of a table refers to."""
    handle = next(head for head in heads if head is not None)
    elsewhere: dict[str, Descriptor] = {}
    for key in listed:
        if keys.version_of(key) is None:
            continue
        try:
            descriptors = handle.version(key).descriptors()
            elsewhere |= {
                descriptor.key: descriptor
                for descriptor in descriptors
                if not descriptor.key.startswith(f"{keys.folder}/")
            }
        except CorruptError:
            continue  # of a version that was collected in part
    return {key: descriptor for key, descriptor in elsewhere.items() if root.has(key)}


def _with_types(root: TableRoot, descriptor: Descriptor) -> Descriptor:
    """Return a descriptor with the types of all fields, which tell what no row has."""
    with closing(root.open(descriptor.key)) as reader:
        summary = read_trailer(reader, descriptor.key).sparse.summary
    sparse = replace(descriptor.trailer.sparse, summary=summary)
    return replace(descriptor, trailer=replace(descriptor.trailer, sparse=sparse))


def _opened(root: TableRoot, key: str) -> Descriptor:
    """Return the descriptor of a packfile that no newest version has."""
    with closing(root.open(key)) as reader:
        trailer = read_trailer(reader, key)
        etag = reader.etag or etags.of_content(reader.pieces(0, reader.size_bytes))
        return Descriptor(key, etag, reader.size_bytes, slim(trailer)).checked()
