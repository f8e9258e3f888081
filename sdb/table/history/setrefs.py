"""Tags and branches: names of versions, and heads of their own.

Both are set in the index without a version: one index takes the place of another that has the same
packfiles, the same number and other names.
"""

from __future__ import annotations

from contextlib import suppress

from sdb import notes
from sdb.errors import ConflictError, CorruptError, ExistsError, NotFoundError, UsageError
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.lookup import UnknownReferenceError
from sdb.table.catalog.refs import NamedVersion, is_told, named_version, pointer_to
from sdb.table.commit.commit import check_writable
from sdb.table.commit.environment import REAL, Surroundings
from sdb.table.commit.objects import put_new
from sdb.table.commit.refswap import adopted, strange_packfiles, swap
from sdb.table.format.keys import TableKeys, check_new_ref, flaw_of_ref
from sdb.table.format.versionref import MAIN
from sdb.table.history.branch import first_index
from sdb.table.history.holds import check_free

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.state import VersionState
    from sdb.table.format.versionref import Given


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
        The version, see :mod:`sdb.table.format.versionref`; the newest if not given.
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
        See :func:`sdb.table.commit.commit.commit`.
    """
    keys = _checked(root, database, table, check_new_ref(name))
    while True:
        with suppress(_CollectedMeanwhileError):
            head = adopted(root, keys, around)
            return _tagged(head, _version(head, reference), name, around, overwrite=overwrite)


class _CollectedMeanwhileError(Exception):
    """The boundary has moved: what was looked up may have been collected."""


def _tagged(
    head: TableHandle, handle: TableHandle, name: str, around: Surroundings, *, overwrite: bool
) -> NamedVersion:
    """Give a version a name, unless it may have been collected since the head was read."""
    root, keys, pointer = head.root, head.keys, pointer_to(handle)

    def change(state: VersionState) -> VersionState | None:
        _check_boundary(head, state)
        known = state.tags.get(name)
        if known == pointer:
            return None
        if known is not None and not overwrite:
            message = f"{handle.name} has a tag {name!r}: version {known.version:,}"
            raise ExistsError(message, hint="--force moves it")
        if name in state.branches:
            raise ExistsError(f"{handle.name} has a branch {name!r}")
        return replace(state, tags={**state.tags, name: pointer})

    swap(root, keys, change, around)
    return named_version("tag", name, handle)


def _check_boundary(head: TableHandle, state: VersionState) -> None:
    """Raise an error if a collection has begun since a head was read."""
    if head.state is not None and state.boundary_us != head.state.boundary_us:
        raise _CollectedMeanwhileError


def delete_tag(
    root: TableRoot, database: str, table: str, name: str, *, around: Surroundings = REAL
) -> None:
    """Take a tag away; the version stays as long as others are kept that are as old.

    Raises
    ------
    UnknownReferenceError
        There is no such tag.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
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

    swap(root, keys, change, around)


def branch(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    reference: Given = MAIN,
    *,
    held_for: str = "",
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
        Where it begins, see :mod:`sdb.table.format.versionref`; at the newest version if not given.
    held_for : str
        The table that it is to keep packfiles for, and no history; empty: it is a branch of people.
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
        See :func:`sdb.table.commit.commit.commit`.
    """
    check_new_ref(name, is_hold=bool(held_for))
    keys = _checked(root, database, table, name)
    head = adopted(root, keys, around)
    handle = _version(head, reference)
    try:
        data = first_index(handle, pointer_to(handle), around, held_for=held_for)
    except CorruptError as error:
        _check_kept(head, name)
        raise error from None
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

    swap(root, keys, change, around)
    try:
        put_new(root, keys.branch(name), data)
    except ConflictError:
        raise exists from None
    try:
        newest = _check_kept(head, name)
        if not held_for:
            _check_told(handle, newest)
    except ConflictError:
        delete_branch(root, database, table, name, is_forced=True, around=around)
        raise
    return named_version("branch", name, handle)


def _check_kept(head: TableHandle, name: str) -> TableHandle:
    """Return the head as it is now, if what a branch begins with was not collected meanwhile.

    Raises
    ------
    ConflictError
        A collection has begun since the head was read.
    """
    keys = head.keys
    newest = open_table(head.root, keys.database, keys.table)
    try:
        if newest.state is not None:
            _check_boundary(head, newest.state)
    except _CollectedMeanwhileError:
        message = f"what {name} would begin with may have expired meanwhile, and been collected"
        raise ConflictError(message, path=keys.branch(name), hint="run it again") from None
    return newest


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
        See :func:`sdb.table.commit.commit.commit`. Or another table shares packfiles by it.
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

    swap(root, keys, change, around)


def _version(head: TableHandle, reference: Given) -> TableHandle:
    """Open the version that gets a name, and warn where it may not outlive other programs."""
    handle = head.at(reference)
    if number := strange_packfiles(handle):
        notes.warn(
            f"{handle.name}: the original may delete {number:,} packfiles of this version, which "
            "an older sdb has made; the newest version has copies of its own"
        )
    return handle


def _check_told(handle: TableHandle, newest: TableHandle) -> None:
    """Check that a version is still told by the history of a head.

    Raises
    ------
    ConflictError
        It expired while a branch was begun at it.
    """
    if not is_told(handle, newest):
        raise ConflictError(
            f"{handle.name}: the version expired while a branch was begun at it",
            path=handle.keys.index,
            hint="run it again",
        )


def _checked(root: TableRoot, database: str, table: str, name: str) -> TableKeys:
    check_writable(root)
    if flaw := flaw_of_ref(name):
        raise UsageError(f"the name of a tag or branch: {flaw}")
    if name == MAIN:
        raise UsageError(f"{MAIN} is the branch that every table has")
    return TableKeys(database, table)


def _absent(keys: TableKeys, kind: str, name: str, known: Iterable[str]) -> UnknownReferenceError:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}?" if near else None
    return UnknownReferenceError(f"{keys.database}.{keys.table} has no {kind} {name!r}", hint=hint)
