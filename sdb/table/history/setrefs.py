"""Tags and branches: names of versions, and their own heads.

Both are set in the index without a version: one index takes the place of another that has the same
packfiles, the same number and other names.
"""

from __future__ import annotations

from contextlib import suppress

from sdb import notes, sizes
from sdb.errors import ConflictError, CorruptError, ExistsError, NotFoundError, UsageError
from sdb.records import replace
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.refs import NamedVersion, is_told, named_version, pointer_to
from sdb.table.commit.change import version_changed
from sdb.table.commit.commit import check_writable
from sdb.table.commit.environment import REAL, Environment
from sdb.table.commit.objects import put_new
from sdb.table.commit.refswap import adopted, strange_packfiles, swap
from sdb.table.format.keys import TableKeys, check_new_ref, flaw_of_ref
from sdb.table.format.versionref import MAIN, UnknownReferenceError
from sdb.table.history.branch import first_index
from sdb.table.history.holds import check_free

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.history import VersionPointer
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
    expects: int | None = None,
    env: Environment = REAL,
) -> NamedVersion:
    """Return a version a name. It is kept as long as it has one.

    * ``reference``: The version, see :mod:`sdb.table.format.versionref`; the newest if not given.
    * ``overwrite``: Whether a tag of this name may be moved.
    * ``expects``: The version that the tag must be of now; None: any.

    Raises `ExistsError` if another version has this tag, or a branch has this name; `NotFoundError`
    if there is no such table or version; `UsageError` for a name that cannot be one, and if there
    is no key to sign with; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    keys = _checked(root, database, table, check_new_ref(name))
    while True:
        with suppress(_CollectedError):
            head = adopted(root, keys, env)
            version = _version(head, reference)
            return _tagged(head, version, name, env, overwrite=overwrite, expects=expects)


class _CollectedError(Exception):
    """The boundary has moved: what was looked up may have been collected."""


def _tagged(
    head: TableHandle,
    handle: TableHandle,
    name: str,
    env: Environment,
    *,
    overwrite: bool,
    expects: int | None,
) -> NamedVersion:
    """Return a version a name, unless it may have been collected since the head was read."""
    root, keys, pointer = head.root, head.keys, pointer_to(handle)

    def change(state: VersionState) -> VersionState | None:
        _check_boundary(head, state)
        current = state.tags.get(name)
        if current == pointer:
            return None
        _check_expected(current, name, expects)
        if current is not None and not overwrite:
            message = f"{handle.name} has a tag {name!r}: version {current.version:,}"
            raise ExistsError(message, hint="--force moves it")
        if name in state.branches:
            raise ExistsError(f"{handle.name} has a branch {name!r}")
        return replace(state, tags={**state.tags, name: pointer})

    swap(root, keys, change, env)
    return named_version("tag", name, handle)


def _check_expected(current: VersionPointer | None, name: str, expects: int | None) -> None:
    """Check that a tag is of the version that its change expects.

    Raises `VersionChangedError` if it is of another one, or not there any more.
    """
    number = 0 if current is None else current.version
    if expects is not None and number != expects:
        raise version_changed(f"the tag {name}", number, expects)


def _check_boundary(head: TableHandle, state: VersionState) -> None:
    """Raise an error if a collection has begun since a head was read."""
    if head.state is not None and state.boundary_us != head.state.boundary_us:
        raise _CollectedError


def delete_tag(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    *,
    expects: int | None = None,
    env: Environment = REAL,
) -> None:
    """Take a tag away; the version stays as long as others are kept that are as old.

    * ``expects``: The version that it must be of; None: any.

    Raises `UnknownReferenceError` if there is no such tag and `ConflictError` or `UncertainError`
    as :func:`sdb.table.commit.commit.commit` does.
    """
    keys = _checked(root, database, table, name)
    seen = False

    def change(state: VersionState) -> VersionState | None:
        nonlocal seen
        if name not in state.tags:
            if seen:
                return None
            raise _absent(keys, "tag", name, state.tags)
        _check_expected(state.tags[name], name, expects)
        seen = True
        tags = {tag: pointer for tag, pointer in state.tags.items() if tag != name}
        return replace(state, tags=tags)

    swap(root, keys, change, env)


def branch(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    reference: Given = MAIN,
    *,
    held_for: str = "",
    env: Environment = REAL,
) -> NamedVersion:
    """Begin a branch at a version: commits to it are not seen on other branches.

    * ``reference``: Where it begins, see :mod:`sdb.table.format.versionref`; at the newest version
      if not given.
    * ``held_for``: The table that it is to keep packfiles for, and no history; empty: it is a
      branch of people.

    Raises `ExistsError` if there is a branch or tag of this name; `NotFoundError` if there is no
    such table or version; `UsageError` for a name that cannot be one, and if there is no key to
    sign with; `ConflictError` or `UncertainError` as :func:`sdb.table.commit.commit.commit` does.
    """
    check_new_ref(name, is_hold=bool(held_for))
    keys = _checked(root, database, table, name)
    head = adopted(root, keys, env)
    handle = _version(head, reference)
    try:
        data = first_index(handle, pointer_to(handle), env, name, held_for=held_for)
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
            return None  # its creation was interrupted
        # Checked before the branch exists: deleting it afterwards may fail, and a row that was
        # purged meanwhile would be back.
        _check_boundary(head, state)
        tried = True
        return replace(state, branches=(*state.branches, name))

    try:
        swap(root, keys, change, env)
    except _CollectedError:
        raise _expired(keys, name) from None
    try:
        put_new(root, keys.branch(name), data)
    except ConflictError:
        raise exists from None
    try:
        newest = _check_kept(head, name)
        if not held_for:
            _check_in_history(handle, newest)
    except ConflictError:
        delete_branch(root, database, table, name, is_forced=True, env=env)
        raise
    return named_version("branch", name, handle)


def _check_kept(head: TableHandle, name: str) -> TableHandle:
    """Return the head as it is now, if what a branch begins with was not collected since.

    Raises `ConflictError` if a collection has begun since the head was read.
    """
    keys = head.keys
    newest = open_table(head.root, keys.database, keys.table)
    try:
        if newest.state is not None:
            _check_boundary(head, newest.state)
    except _CollectedError:
        raise _expired(keys, name) from None
    return newest


def _expired(keys: TableKeys, name: str) -> ConflictError:
    message = f"the version at which {name} would begin may have expired and been collected"
    return ConflictError(message, path=keys.branch(name), hint="run it again")


def delete_branch(
    root: TableRoot,
    database: str,
    table: str,
    name: str,
    *,
    is_forced: bool = False,
    expects: int | None = None,
    env: Environment = REAL,
) -> None:
    """Take a branch away; versions that only it has are collected later.

    * ``expects``: The version that it must have now; None: any.

    * ``is_forced``: Whether it may be one that keeps packfiles for another table.

    Raises `UnknownReferenceError` if there is no such branch; `ConflictError` or `UncertainError`
    as :func:`sdb.table.commit.commit.commit` does, and if another table shares packfiles by it.
    """
    keys = _checked(root, database, table, name)
    head = open_table(root, database, table).state
    branches = () if head is None else head.branches
    if name not in branches and not root.has(keys.branch(name)):
        raise _absent(keys, "branch", name, branches)
    if not is_forced:
        check_free(root, keys, name)
    # Its head goes first: no later branch of this name may find it.
    location = root.place(keys.branch(name))
    try:
        with root.store.lock(location):
            if expects is not None:
                _check_head(root, keys, name, expects)
            root.store.delete(location)
    except NotFoundError:
        pass  # it had none

    def change(state: VersionState) -> VersionState | None:
        if name not in state.branches:
            return None
        return replace(
            state, branches=tuple([branch for branch in state.branches if branch != name])
        )

    swap(root, keys, change, env)


def _check_head(root: TableRoot, keys: TableKeys, name: str, expects: int) -> None:
    """Check that a branch has the version that its deletion expects."""
    head = find_table(root, keys.database, keys.table, branch=name)
    state = None if head is None else head.state
    number = 0 if state is None else state.version
    if number != expects:
        raise version_changed(f"the branch {name}", number, expects)


def _version(head: TableHandle, reference: Given) -> TableHandle:
    """Open the version that gets a name, and warn where it may not outlive other programs."""
    handle = head.at(reference)
    if number := strange_packfiles(handle):
        packfiles = sizes.counted(number, "packfile")
        notes.warn(
            f"{handle.name}: the original may delete {packfiles} of this version, which "
            "an older sdb has made; the newest version has copies of its own"
        )
    return handle


def _check_in_history(handle: TableHandle, newest: TableHandle) -> None:
    """Check that the history of a head still has a version.

    Raises `ConflictError` if it expired while a branch was begun at it.
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


def _absent(keys: TableKeys, kind: str, name: str, names: Iterable[str]) -> UnknownReferenceError:
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    hint = f"did you mean {near[0]}?" if near else None
    return UnknownReferenceError(f"{keys.database}.{keys.table} has no {kind} {name!r}", hint=hint)
