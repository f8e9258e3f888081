"""Tags and branches: names of versions, and heads of their own.

Both are set in the index without a version: one index takes the place of another that has the same
packfiles, the same number and other names.
"""

from __future__ import annotations

from contextlib import ExitStack

from sdb import instants
from sdb.errors import (
    ConflictError,
    ExistsError,
    NotFoundError,
    UncertainError,
    UsageError,
)
from sdb.records import record, replace
from sdb.table import etags, names
from sdb.table.branchstart import first_index
from sdb.table.commit import PATIENCE_SECONDS, check_writable, commit
from sdb.table.holds import check_free
from sdb.table.objectwriter import put_new
from sdb.table.references import MAIN
from sdb.table.succession import is_foreign, is_overwritten
from sdb.table.surroundings import REAL, Surroundings
from sdb.table.tablechange import TableChange
from sdb.table.tablehandle import find_table, open_table
from sdb.table.undecided import Watch, check_decided
from sdb.table.versionhistory import VersionPointer
from sdb.table.versionlookup import UnknownReferenceError
from sdb.table.versionstate import with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from sdb.table.references import Given
    from sdb.table.tablehandle import TableHandle
    from sdb.table.tableroot import TableRoot
    from sdb.table.versionstate import VersionState

    Change: TypeAlias = Callable[[VersionState], VersionState | None]

ADOPT = "adopt"
"""The operation of a version that only makes what another program has written one of ours."""

_ADOPTIONS = 4
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 2.0


@record
class NamedVersion:
    """A tag or a branch.

    Attributes
    ----------
    kind : {"tag", "branch"}
        What it is.
    name : str
        Its name.
    version : int or None
        The version of a tag, or the newest of a branch; None: another program has written it.
    at_us : int
        When that was committed.
    """

    kind: str
    name: str
    version: int | None
    at_us: int

    @property
    def at(self) -> str:
        """When the version was committed, as text."""
        return instants.text(self.at_us, fraction=False)

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        at = instants.text(self.at_us)
        return {"kind": self.kind, "name": self.name, "version": self.version, "at": at}


def refs(handle: TableHandle) -> list[NamedVersion]:
    """Give the tags and branches of a table, sorted by name; the index of each is read.

    Parameters
    ----------
    handle : TableHandle
        The table, as its main branch is now.

    Returns
    -------
    list of NamedVersion
        The main branch first.

    Raises
    ------
    CorruptError
        An index is missing or damaged.
    """
    state = handle.state
    found = [_named("branch", MAIN, handle)]
    if state is None:
        return found
    keys = handle.keys
    for name in sorted(state.branches):
        head = find_table(handle.root, keys.database, keys.table, branch=name)
        found += [] if head is None else [_named("branch", name, head)]
    for name, tag in sorted(state.tags.items()):
        found.append(_named("tag", name, handle.version(tag.key, tag.etag)))
    return found


def _named(kind: str, name: str, handle: TableHandle) -> NamedVersion:
    state = handle.state
    if state is None or is_foreign(handle.index, state):
        return NamedVersion(kind, name, None, handle.index.created_us)
    return NamedVersion(kind, name, state.version, state.at_us)


def pointer_to(handle: TableHandle) -> VersionPointer:
    """Give where the version is kept that a handle has open, which must be one of ours."""
    state = handle.state
    if state is None:
        raise UsageError(f"{handle.name}: no sdb has written this version")
    key = handle.keys.version(state.version, state.commit)
    return VersionPointer(state.version, key, state.kept or etags.of_content([handle.data]))


def tag(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    reference: Given = MAIN,
    *,
    overwrite: bool = False,
    around: Surroundings = REAL,
) -> NamedVersion:
    """Give a version a name. It is kept as long as it has one.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    name : str
        The tag.
    reference : str, int or datetime
        The version, see :mod:`sdb.table.references`; the newest if not given.
    overwrite : bool
        Whether a tag of this name may be moved.
    around : Surroundings
        The clock and the dice.

    Returns
    -------
    NamedVersion
        The tag.

    Raises
    ------
    ExistsError
        Another version has this tag, or a branch has this name.
    NotFoundError
        There is no such table or version.
    UsageError
        A name that cannot be one, or no key to sign with.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit`.
    """
    keys = _checked(root, database, table, name)
    handle = adopted(root, keys, around).at(reference)
    pointer = pointer_to(handle)

    def change(state: VersionState) -> VersionState | None:
        known = state.tags.get(name)
        if known == pointer:
            return None
        if known is not None and not overwrite:
            message = f"{handle.name} has a tag {name!r}: version {known.version:,}"
            raise ExistsError(message, hint="--force moves it")
        if name in state.branches:
            raise ExistsError(f"{handle.name} has a branch {name!r}")
        return replace(state, tags={**state.tags, name: pointer})

    _swap(root, keys, change, around)
    return _named("tag", name, handle)


def delete_tag(
    root: TableRoot, database: str, table: str, name: str, *, around: Surroundings = REAL
) -> None:
    """Take a tag away; the version stays as long as others are kept that are as old.

    Raises
    ------
    UnknownReferenceError
        There is no such tag.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit`.
    """
    keys = _checked(root, database, table, name)
    seen = False

    def change(state: VersionState) -> VersionState | None:
        nonlocal seen
        if name not in state.tags:
            if seen:
                return None
            raise _absent(keys, "tag", name, state.tags)
        seen = True
        tags = {one: pointer for one, pointer in state.tags.items() if one != name}
        return replace(state, tags=tags)

    _swap(root, keys, change, around)


def branch(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    reference: Given = MAIN,
    *,
    is_hold: bool = False,
    around: Surroundings = REAL,
) -> NamedVersion:
    """Begin a branch at a version: what is committed to it is seen by nobody else.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    name : str
        The branch.
    reference : str, int or datetime
        Where it begins, see :mod:`sdb.table.references`; at the newest version if not given.
    is_hold : bool
        Whether it is to keep packfiles for another table, and no history.
    around : Surroundings
        The clock and the dice.

    Returns
    -------
    NamedVersion
        The branch.

    Raises
    ------
    ExistsError
        There is a branch or tag of this name.
    NotFoundError
        There is no such table or version.
    UsageError
        A name that cannot be one, or no key to sign with.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit`.
    """
    keys = _checked(root, database, table, name)
    handle = adopted(root, keys, around).at(reference)
    data = first_index(handle, pointer_to(handle), around, is_hold=is_hold)
    exists = ExistsError(f"{handle.name} has a branch {name!r}", hint=f"sdb branch -d {name}")
    tried = False

    def change(state: VersionState) -> VersionState | None:
        nonlocal tried
        if name in state.tags:
            raise ExistsError(f"{handle.name} has a tag {name!r}")
        if name in state.branches:
            if not tried and root.has(keys.branch(name)):
                raise exists
            return None  # whoever began it did not come to its end
        tried = True
        return replace(state, branches=(*state.branches, name))

    _swap(root, keys, change, around)
    try:
        put_new(root, keys.branch(name), data)
    except ConflictError:
        raise exists from None
    return _named("branch", name, handle)


def delete_branch(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    *,
    is_forced: bool = False,
    around: Surroundings = REAL,
) -> None:
    """Take a branch away; versions that only it has are collected later.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    name : str
        The branch.
    is_forced : bool
        Whether it may be one that keeps packfiles for another table.
    around : Surroundings
        The clock and the dice.

    Raises
    ------
    UnknownReferenceError
        There is no such branch.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit`. Or another table shares packfiles by it.
    """
    keys = _checked(root, database, table, name)
    head = open_table(root, database, table).state
    known = () if head is None else head.branches
    if name not in known and not root.has(keys.branch(name)):
        raise _absent(keys, "branch", name, known)
    if not is_forced:
        check_free(root, keys, name)
    # Its head goes first: no later branch of this name may find it.
    place = root.place(keys.branch(name))
    try:
        with root.store.lock(place):
            root.store.delete(place)
    except NotFoundError:
        pass  # it had none

    def change(state: VersionState) -> VersionState | None:
        if name not in state.branches:
            return None
        return replace(state, branches=tuple([one for one in state.branches if one != name]))

    _swap(root, keys, change, around)


def _checked(root: TableRoot, database: str, table: str, name: str) -> names.TableKeys:
    check_writable(root)
    if flaw := names.flaw_of_ref(name):
        raise UsageError(f"the name of a tag or branch: {flaw}")
    if name == MAIN:
        raise UsageError(f"{MAIN} is the branch that every table has")
    return names.TableKeys(database, table)


def _absent(
    keys: names.TableKeys, kind: str, name: str, known: Iterable[str]
) -> UnknownReferenceError:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}?" if near else None
    return UnknownReferenceError(f"{keys.database}.{keys.table} has no {kind} {name!r}", hint=hint)


def adopted(root: TableRoot, keys: names.TableKeys, around: Surroundings) -> TableHandle:
    """Open a table, after a commit that makes a version of what another program has written.

    Raises
    ------
    ConflictError
        It writes all the time.
    """
    for _ in range(_ADOPTIONS):
        head = open_table(root, keys.database, keys.table)
        if not is_overwritten(head):
            return head
        commit(root, keys, TableChange(ADOPT), around=around)
    raise ConflictError(
        f"another program writes to {keys.database}.{keys.table} all the time",
        path=keys.index,
        hint="run it again",
    )


def _swap(root: TableRoot, keys: names.TableKeys, change: Change, around: Surroundings) -> None:
    """Put an index with other names in the place of the one that is there."""
    began, watch = around.elapsed(), Watch(root, around)
    attempts = 0
    unknown: UncertainError | None = None
    while True:
        attempts += 1
        try:
            if _swapped(root, keys, change):
                return
            adopted(root, keys, around)
        except (ConflictError, UncertainError) as error:
            unknown = error if isinstance(error, UncertainError) else unknown
            if around.elapsed() - began >= PATIENCE_SECONDS:
                raise (unknown or error) from None
            watch.met(error)
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempts)
        around.sleep(around.uniform(0, longest))


def _swapped(root: TableRoot, keys: names.TableKeys, change: Change) -> bool:
    """Try once; False: another program has written what is there."""
    place = root.place(keys.index)
    with ExitStack() as stack:
        try:
            stack.enter_context(root.store.lock(place))
        except NotFoundError:
            raise root.absent(keys) from None
        head = open_table(root, keys.database, keys.table)
        check_decided(head)
        state = head.state
        if state is None or is_overwritten(head):
            return False
        changed = change(state)
        if changed is None:
            return True
        changed = replace(changed, kept=state.kept or etags.of_content([head.data]))
        index = replace(head.index, user_data=with_state(head.index.user_data, changed))
        try:
            root.store.put_if(place, index.encode(root.keyring), head.reader)
        except ExistsError as error:
            raise ConflictError(error.message, path=place, hint="run it again") from error
    return True
