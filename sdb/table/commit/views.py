"""Changes of views: each is a version, by compare-and-swap of the object of the name."""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import (
    ConflictError,
    ExistsError,
    NotFoundError,
    UnsupportedError,
    UsageError,
)
from sdb.records import record, replace
from sdb.table.catalog.handle import find_head
from sdb.table.catalog.views import find_name
from sdb.table.commit.environment import REAL, Environment
from sdb.table.commit.naming import ClaimedName, check_new, is_fresh, is_table_there, swap_name
from sdb.table.format.keys import TableKeys, flaw_of_name, new_uid
from sdb.table.format.view import (
    MOST_TEXT_BYTES,
    TABLE,
    VIEW,
    NameClaim,
    ViewObject,
    ViewQuery,
    ViewVersion,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

CREATE = "create"
REPLACE = "replace"
DROP = "drop"
UNDROP = "undrop"

_CLAIMS = 20


@record
class ViewChange:
    """The result of a change of a view."""

    version: int  # the version that it made; the one that was there where nothing changed; 0: none
    commit: str  # its id; empty where nothing changed
    is_new: bool  # whether it made a version
    operation: str  # ``create``, ``replace``, ``drop`` or ``undrop``


def create_view(
    root: TableRoot,
    keys: TableKeys,
    query: ViewQuery,
    *,
    or_replace: bool = False,
    if_not_exists: bool = False,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> ViewChange:
    """Make a view, or a version of it with another text; the same text once more changes nothing.

    * ``query``: What it says, which was checked.
    * ``or_replace``: Whether a view that is there gets the text.
    * ``if_not_exists``: Whether a view that is there stays as it is.

    Raises `ExistsError` if there is a view, or a table, of that name; `UsageError` if the text is
    too long, or a name is not valid; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.naming.swap_name` does.
    """
    _check(keys, query.text)
    work = _NewText(root, keys, env, author, message)
    read = find_name(root, keys)
    if read is None:
        check_new(root, keys)
    newest = None if read is None else read.view.newest
    if newest is not None and not or_replace:
        if if_not_exists:
            return ViewChange(newest.version, "", is_new=False, operation=CREATE)
        raise work.exists()
    return work.put(query, or_replace=or_replace)


def undrop_view(
    root: TableRoot,
    keys: TableKeys,
    *,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> ViewChange:
    """Bring a view back that was dropped, with the text that it had before.

    Raises `NotFoundError` if there never was such a view; `ExistsError` if it was not dropped, or
    there is a table of that name now.
    """
    read = find_name(root, keys)
    versions = () if read is None else read.view.versions
    queries = [each.query for each in versions if each.text]
    if read is None or not queries:
        raise no_view(root, keys)
    if read.view.newest is not None:
        raise ExistsError(f"the view {keys.database}.{keys.table} was not dropped", path=keys.view)
    return _NewText(root, keys, env, author, message, UNDROP).put(queries[-1], or_replace=False)


def drop_view(
    root: TableRoot,
    keys: TableKeys,
    *,
    if_exists: bool = False,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> ViewChange:
    """Drop a view; its versions stay readable.

    Raises `NotFoundError` if there is no such view, and `if_exists` is off; `UnsupportedError` if
    it is a table.
    """
    if find_name(root, keys) is None and if_exists and not is_table_there(root, keys):
        return ViewChange(0, "", is_new=False, operation=DROP)
    uid = new_uid(env.random_bytes)
    done: list[ViewVersion] = []

    def dropped(view: ViewObject) -> ViewObject | None:
        done.clear()
        # An earlier attempt has made it, and its answer was lost.
        if view.versions and view.versions[-1].commit == uid:
            done.append(view.versions[-1])
            return None
        if view.newest is None:
            if is_table_there(root, keys):
                name = f"{keys.database}.{keys.table}"
                hint = f"DROP TABLE {name} drops it"
                raise UnsupportedError(f"{name} is a table, and no view", hint=hint)
            if if_exists:
                return None
            raise no_view(root, keys)
        done.append(_next(view, uid, env, DROP, ViewQuery(), author, message))
        return replace(view, versions=(*view.versions, done[0]))

    swap_name(root, keys, dropped, env)
    version = done[0].version if done else 0
    return ViewChange(version, uid if done else "", is_new=bool(done), operation=DROP)


def no_view(root: TableRoot, keys: TableKeys) -> NotFoundError:
    """Make the error for a view that is not there."""
    name = f"{keys.database}.{keys.table}"
    message = f"there is no view {name} below {root.location}"
    return NotFoundError(message, path=keys.view, hint="sdb ls --views lists them")


def _check(keys: TableKeys, text: str) -> None:
    for name, what in ((keys.database, "database"), (keys.table, "view")):
        if flaw := flaw_of_name(name):
            raise UsageError(f"the name of a {what}: {flaw}")
    size = len(text.encode())
    if size > MOST_TEXT_BYTES:
        raise UsageError(f"a view of {size:,} bytes, the limit is {MOST_TEXT_BYTES:,}")


def _next(
    view: ViewObject,
    uid: str,
    env: Environment,
    operation: str,
    query: ViewQuery,
    author: str,
    message: str,
) -> ViewVersion:
    """Return the version behind the newest one; clocks that go back do not take it with them."""
    last = view.versions[-1] if view.versions else None
    number, last_us = (0, 0) if last is None else (last.version, last.at_us)
    at_us = max(env.now_us(), last_us)
    text, dialect = query.text, query.dialect
    return ViewVersion(number + 1, uid, at_us, operation, text, author, message, dialect)


@record
class _NewText:
    """A text that becomes that of a view."""

    root: TableRoot
    keys: TableKeys
    env: Environment
    author: str
    message: str
    operation: str = CREATE

    def exists(self) -> ExistsError:
        """Make the error for a view that is there."""
        name = f"{self.keys.database}.{self.keys.table}"
        hint = "CREATE OR REPLACE VIEW gives it another query"
        where = f"below {self.root.location}"
        return ExistsError(f"the view {name} {where} is there already", hint=hint)

    def put(self, query: ViewQuery, *, or_replace: bool) -> ViewChange:
        """Claim the name unless the view has it, and make the version."""
        uid = new_uid(self.env.random_bytes)
        done: list[ViewVersion] = []

        def claimed(view: ViewObject) -> ViewObject | None:
            self._check_free(view, or_replace=or_replace)
            if view.newest is not None or _holds(view, uid):
                return None
            return replace(view, claim=NameClaim(VIEW, uid, self.env.now_us()))

        def made(view: ViewObject) -> ViewObject | None:
            done.clear()
            if view.versions and view.versions[-1].commit == uid:
                done.append(view.versions[-1])
                return None
            self._check_free(view, or_replace=or_replace)
            if view.newest is None and not _holds(view, uid):
                raise _LostClaimError
            if view.newest is not None and view.newest.query == query:
                return None
            operation = self.operation if view.newest is None else REPLACE
            done.append(_next(view, uid, self.env, operation, query, self.author, self.message))
            # In one swap the version takes the place of the claim.
            return ViewObject((*view.versions, done[0]))

        for _ in range(_CLAIMS):
            swap_name(self.root, self.keys, claimed, self.env)
            # Behind the claim: a program that makes a table from now on replaces it, so that the
            # swap below is lost.
            self._check_no_table(uid)
            with suppress(_LostClaimError):
                swap_name(self.root, self.keys, made, self.env)
                break
        else:
            name = f"{self.keys.database}.{self.keys.table}"
            raise ConflictError(f"others claim the name {name} all the time", hint="run it again")
        if done:
            return ViewChange(done[0].version, uid, is_new=True, operation=done[0].operation)
        read = find_name(self.root, self.keys)
        newest = None if read is None else read.view.newest
        number = 0 if newest is None else newest.version
        return ViewChange(number, "", is_new=False, operation=REPLACE)

    def _check_free(self, view: ViewObject, *, or_replace: bool) -> None:
        """Check that nobody else has the name, or is about to.

        Raises `ExistsError` if there is a view that is not to be replaced, or a table is being
        made.
        """
        if view.newest is not None and not or_replace:
            raise self.exists()
        claim = view.claim
        if claim is not None and claim.kind == TABLE and is_fresh(self.root, self.keys, self.env):
            raise self._is_table("a table of that name is being made")

    def _check_no_table(self, uid: str) -> None:
        """Check that no table has the name; else the claim is given up."""
        if not is_table_there(self.root, self.keys):
            return
        ClaimedName(self.root, self.keys, uid, self.env).release()
        read = find_name(self.root, self.keys)
        if read is not None and read.view.newest is not None:
            return  # another program has made a table over the view: the text may still be replaced
        raise self._is_table("there is a table of that name")

    def _is_table(self, why: str) -> ExistsError:
        name = f"{self.keys.database}.{self.keys.table}"
        hint = f"take another name, or rename the table: sdb rename {name} NEW"
        head = find_head(self.root, self.keys)
        path = self.keys.view if head is None else self.keys.index
        message = f"{name} below {self.root.location} cannot be a view: {why}"
        return ExistsError(message, path=path, hint=hint)


def _holds(view: ViewObject, uid: str) -> bool:
    """Return whether the claim on a name is that of the program with an id."""
    return view.claim is not None and view.claim.uid == uid


class _LostClaimError(Exception):
    """Another program has claimed the name since."""
