"""Renaming: the packfiles and inputs of a table under another name, and the old name dropped.

Both happen in one transaction over two tables: readers see the rows under one of the names, and
never under both or none. Packfiles are copied before, by the file system or the store where these
can, since their keys have the name of the table; what others commit meanwhile is copied too. The
history stays with the old name, which `undrop` brings back until it is collected.
"""

from __future__ import annotations

from sdb.errors import ConflictError, ExistsError, UnsupportedError
from sdb.progress import counted, silent
from sdb.table.catalog.handle import dropped, find_table, open_table
from sdb.table.commit.chain import DROP
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_writable
from sdb.table.commit.coordinator import TransactionAbortedError
from sdb.table.commit.environment import REAL
from sdb.table.commit.refswap import adopted
from sdb.table.commit.twophase import TablePart, commit_together
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.state import state_of
from sdb.table.history.fork import SentTable
from sdb.table.history.transfer import Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.index import TableIndex

RENAME = "rename"
_ATTEMPTS = 20


def rename(
    root: TableRoot,
    source: TableKeys,
    target: TableKeys,
    *,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> SentTable:
    """Rename a table. A rename that was broken off goes on when it is run again.

    * ``author, message``: Recorded in the versions.

    Raises `NotFoundError` if there is no such table. Raises `ExistsError` if there is a table, or
    another definition, under the new name. Raises `UnsupportedError` if the table has branches,
    which are not renamed. Raises `CorruptError` if a packfile is missing or not what was written.
    Nothing has changed. Raises `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.twophase.commit_together` does.
    """
    check_writable(root)
    for _ in range(_ATTEMPTS):
        renaming = _Renaming(root, source, target, env, progress)
        if (done := renaming.resumed()) is not None:
            return done
        try:
            return renaming.run(author, message)
        except (_MovedError, TransactionAbortedError):
            continue
    what = f"{_name_of(source)}: lost to other writers {_ATTEMPTS} times"
    raise ConflictError(what, hint="run it again when fewer write to it")


class _MovedError(Exception):
    """Another writer has changed the table since its packfiles were copied."""


class _Renaming:
    def __init__(
        self,
        root: TableRoot,
        source: TableKeys,
        target: TableKeys,
        env: Environment,
        progress: Progress,
    ) -> None:
        self._root = root
        self._keys = source, target
        self._env = env
        self._progress = progress
        self._source = open_table(root, source.database, source.table)
        self._transfer = Transfer(self._source, root, target)

    def resumed(self) -> SentTable | None:
        """Finish a rename that was broken off behind its commit: the definition comes last.

        Raises `NotFoundError` if the table was dropped, and not renamed so.
        """
        if not self._source.is_dropped:
            return None
        source, target = self._keys
        renamed = find_table(self._root, target.database, target.table)
        state = None if renamed is None else renamed.state
        before = self._source.state
        # Both versions have the id of their transaction.
        if state is None or before is None or state.commit != before.commit:
            raise dropped(self._root, source, before)
        self._transfer.definition()
        return self._sent(state.version, is_new=False, packfiles=0, size_bytes=0)

    def run(self, author: str, message: str) -> SentTable:
        """Copy packfiles, and commit."""
        source, target = self._keys
        self._check(self._source)
        handle = self._source = adopted(self._root, source, self._env)
        self._transfer = Transfer(handle, self._root, target)
        wanted = tuple(handle.descriptors())
        total = sum(descriptor.size_bytes for descriptor in wanted)
        brought = self._transfer.packfiles(wanted, counted(self._progress, total))
        text = message or f"rename of {_name_of(source)} to {_name_of(target)}"
        inputs = self._transfer.inputs(None)
        before = handle.state
        schema = None if before is None or not before.schema else before.schema
        made = TableChange(
            RENAME, brought, inputs=inputs, author=author, message=text, schema=schema
        )
        gone = frozenset(descriptor.key for descriptor in wanted)
        drop = TableChange(DROP, removed=gone, author=author, message=text)

        def plan_target(index: TableIndex) -> TableChange:
            if index.objects or state_of(index.user_data) is not None:
                raise self._exists()
            return made

        def plan_source(index: TableIndex) -> TableChange:
            before = handle.index
            now = (index.inline, index.indirect, index.inputs)
            if now != (before.inline, before.indirect, before.inputs):
                raise _MovedError
            state = state_of(index.user_data)
            if state is not None:
                if state.schema != (schema or b""):
                    raise _MovedError
                _check_branches(_name_of(source), state.branches)
            return drop

        versions = commit_together(
            self._root,
            [TablePart(target, plan_target), TablePart(source, plan_source)],
            uid=new_uid(self._env.random_bytes),
            env=self._env,
        )
        # And not before: a definition shows that a table is there.
        self._transfer.definition()
        number = versions[target.branch("main")]
        return self._sent(number, is_new=True, packfiles=len(wanted), size_bytes=total)

    def _check(self, handle: TableHandle) -> None:
        source, target = self._keys
        if source == target:
            raise ExistsError(f"{handle.name} has this name")
        if handle.state is not None:
            _check_branches(handle.name, handle.state.branches)
        if find_table(self._root, target.database, target.table) is not None:
            raise self._exists()
        if self._transfer.has_other_definition():
            name = f"{target.database}.{target.table}"
            raise ExistsError(self._exists().message, hint=f"it has a definition: sdb def {name}")

    def _exists(self) -> ExistsError:
        _, target = self._keys
        existing = find_table(self._root, target.database, target.table)
        name = f"{target.database}.{target.table}"
        if existing is not None and existing.is_dropped:
            what = f"{name} was dropped below {self._root.location}, and can still be brought back"
            return ExistsError(what, hint="take another name")
        return ExistsError(f"the table {name} exists below {self._root.location}")

    def _sent(self, version: int, *, is_new: bool, packfiles: int, size_bytes: int) -> SentTable:
        _, target = self._keys
        sent = self._transfer.sent, self._transfer.sent_bytes
        name = f"{target.database}.{target.table}"
        return SentTable(name, self._root.location, version, packfiles, size_bytes, *sent, is_new)


def _name_of(keys: TableKeys) -> str:
    return f"{keys.database}.{keys.table}"


def _check_branches(name: str, branches: tuple[str, ...]) -> None:
    if branches:
        what = f"{name} has branches, which are not renamed: {', '.join(branches)}"
        raise UnsupportedError(what, hint="merge and delete them first: sdb branch -d")
