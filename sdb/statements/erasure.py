"""Erasures: a table, and those that share packfiles with it, lose rows for good."""

from __future__ import annotations

from sdb import instants
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.query.catalog.schemarows import steps_of
from sdb.query.syntax import visitor, writes
from sdb.records import replace
from sdb.statements.matching import QueryContext
from sdb.statements.purged import LeftObject, Purged, PurgedBranch
from sdb.statements.purgescan import ErasableRows, scan_table
from sdb.statements.transaction import carried_out
from sdb.table.catalog.handle import find_table
from sdb.table.format.versionref import MAIN, UnknownReferenceError
from sdb.table.history.holds import holder_of
from sdb.table.maintenance.expire import history_of
from sdb.table.maintenance.forget import (
    Forgotten,
    Leading,
    forget,
    objects_describing,
    versions_to_forget,
)
from sdb.table.maintenance.gc import collect_at_once
from sdb.table.maintenance.held import FORK, LEASE, QUARANTINE
from sdb.table.maintenance.listing import branches_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sdb.query.syntax import ast
    from sdb.statements.transaction import Transaction
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.held import HeldObject

_ROUNDS = 4
"""So often it is tried, while others bring such rows in."""


class Erasure:
    """Purges a table, and those that share packfiles with it."""

    def __init__(self, base: Transaction, keys: TableKeys, delete: writes.WriteStatement) -> None:
        self._base = base
        self._root = base.root
        self._keys = keys
        self._delete = delete
        self._is_told = False
        self._rows: dict[tuple[str, str], int] = {}
        self._forgotten: dict[tuple[str, str], Forgotten] = {}
        self._held: dict[str, HeldObject] = {}
        self._found: dict[str, int] = {}
        self._objects = self._bytes = 0

    def planned(self) -> Purged:
        """Return what a purge would do."""
        erasable = self._scan()
        branches = []
        for keys in self._tables():
            leading = Leading(self._root, erasable.rows)
            for branch in branches_of(self._root, keys):
                head = self._open(keys, branch)
                if head is None:
                    continue
                rows = sum(
                    erasable.rows.get(descriptor.key, 0) for descriptor in head.descriptors()
                )
                gone = versions_to_forget(self._root, head.index, branch, leading)
                if leading.index(head.index) and head.state is not None:
                    own = (*gone.versions, head.state.version)
                    tags = [
                        name
                        for name, tag in head.state.tags.items()
                        if tag.version == head.state.version or name in gone.tags
                    ]
                    gone = replace(gone, versions=own, tags=tuple(sorted(tags)))
                branches.append(PurgedBranch(_name(keys), branch, rows, gone))
        left = [LeftObject(key, None, why) for key, why in erasable.unreadable.items()]
        return self._purged(erasable, branches, left, is_dry=True)

    def run(self) -> Purged:
        """Do it, until a scan finds nothing or nothing more can be done."""
        erasable = self._scan()
        for _ in range(_ROUNDS):
            if not erasable.rows:
                break
            before = erasable.rows
            try:
                self._work(before)
            except UnknownReferenceError:
                before = {}  # a branch has gone meanwhile
            erasable = self._scan()
            if erasable.rows.keys() == before.keys():
                break
        names = self._forgotten.keys() | self._rows.keys()
        branches = [
            PurgedBranch(
                *name, self._rows.get(name, 0), self._forgotten.get(name, Forgotten(name[1]))
            )
            for name in sorted(names)
        ]
        return self._purged(erasable, branches, self._left(erasable), is_dry=False)

    def _purged(
        self,
        erasable: ErasableRows,
        branches: Collection[PurgedBranch],
        left: Collection[LeftObject],
        *,
        is_dry: bool,
    ) -> Purged:
        versions, looked_at = self._versions()
        return Purged(
            _name(self._keys),
            is_dry,
            tuple(branches),
            tuple(sorted(self._found)),
            self._objects,
            self._bytes,
            erasable.packfiles,
            versions,
            tuple(left),
            self._beyond(erasable),
            self._fields(),
            tuple(looked_at),
        )

    def _tables(self) -> list[TableKeys]:
        """Return the table, and those that share packfiles with it."""
        tables = [self._keys]
        for keys in tables:
            for branch in branches_of(self._root, keys):
                other = holder_of(branch)
                if other is not None and other not in tables and self._holder(keys, branch):
                    tables.append(other)
        return tables

    def _branches(self, keys: TableKeys, tables: Collection[TableKeys]) -> list[str]:
        """Return the branches that can be purged: not what keeps packfiles for a fork to come."""
        branches = []
        for branch in branches_of(self._root, keys):
            other = holder_of(branch)
            if other is None or other in tables or self._holder(keys, branch) is False:
                branches.append(branch)
        return branches

    def _holder(self, keys: TableKeys, branch: str) -> bool | None:
        """Return True if a branch keeps packfiles for a table; None: that table is not there."""
        other = holder_of(branch)
        if other is None:
            return False
        handle = find_table(self._root, other.database, other.table)
        if handle is None:
            return None
        return handle.state is not None and handle.state.shares.get(_name(keys)) == branch

    def _open(self, keys: TableKeys, branch: str) -> TableHandle | None:
        return find_table(self._root, keys.database, keys.table, branch=branch)

    def _scan(self) -> ErasableRows:
        base, where = self._base, self._where
        context = QueryContext(
            self._root.location,
            self._delete.text,
            {},
            base.env.now_us(),
            base.threads,
            base.memory_bytes,
            base.progress,
            base.follow,
        )
        erasable = ErasableRows()
        for keys in self._tables():
            erasable += scan_table(self._root, keys, where, context, is_told=not self._is_told)
            self._is_told = True
        self._found |= erasable.rows
        return erasable

    @property
    def _where(self) -> ast.Expr:
        write = self._delete.write
        if not isinstance(write, writes.Delete) or write.where is None:
            raise TypeError(self._delete.text)
        return write.where

    def _work(self, rows: Mapping[str, int]) -> None:
        """Delete the rows, forget the versions that have them, and delete the packfiles."""
        tables = self._tables()
        heads = [(keys, branch) for keys in tables for branch in self._branches(keys, tables)]
        leading = Leading(self._root, rows)
        for keys, branch in heads:
            self._delete_rows(keys, branch, leading)
        for keys, branch in heads:
            self._forget(keys, branch, leading)
        for keys in tables:
            own = {key for key in rows if key.startswith(f"{keys.folder}/")}
            only = own | objects_describing(self._root, keys, leading)
            done = collect_at_once(
                self._root,
                keys,
                only,
                author=self._base.author,
                message=self._base.message,
                env=self._base.env,
                progress=self._base.progress,
            )
            self._objects += len(done.garbage)
            self._bytes += done.size_bytes
            self._held |= {held_object.key: held_object for held_object in done.held}

    def _delete_rows(self, keys: TableKeys, branch: str, leading: Leading) -> None:
        """Delete the rows from the newest version of a branch, if it has some."""
        head = self._open(keys, branch)
        if head is None or not leading.index(head.index):
            return
        name = "" if branch == MAIN else branch
        table = writes.WrittenTable(keys.database, keys.table, name)
        write = replace(self._delete.write, table=table)
        done = carried_out(replace(self._base, statements=(replace(self._delete, write=write),)))
        count = sum(getattr(effect, "rows_deleted", 0) for effect in done.effects)
        branch_key = _name(keys), branch
        self._rows[branch_key] = self._rows.get(branch_key, 0) + count

    def _forget(self, keys: TableKeys, branch: str, leading: Leading) -> None:
        if self._open(keys, branch) is None:
            return
        base = self._base
        commit_texts = {"author": base.author, "message": base.message}
        gone = forget(self._root, keys, branch, leading, env=base.env, **commit_texts)
        branch_key = _name(keys), branch
        before = self._forgotten.get(branch_key, Forgotten(branch))
        self._forgotten[branch_key] = Forgotten(
            branch,
            (*before.versions, *gone.versions),
            (*before.tags, *gone.tags),
            (*before.merges, *gone.merges),
        )

    def _left(self, erasable: ErasableRows) -> list[LeftObject]:
        """Return what still has such rows, and why."""
        left = [LeftObject(key, rows, self._why(key)) for key, rows in erasable.rows.items()]
        folders = [f"{keys.folder}/" for keys in self._tables()]
        for key, rows in self._found.items():
            is_another = not any(key.startswith(folder) for folder in folders)
            if is_another and key not in erasable.rows and self._root.has(key):
                left.append(LeftObject(key, rows, self._why(key)))
        return left + [LeftObject(key, None, why) for key, why in erasable.unreadable.items()]

    def _why(self, key: str) -> str:
        held = self._held.get(key)
        owner = next((keys for keys in self._tables() if key.startswith(f"{keys.folder}/")), None)
        if owner is None:
            database, table = key.split("/")[1:3]
            return f"it belongs to {database}.{table}: purge that table"
        if held is None:
            return "it came in meanwhile: run it again when nobody writes such rows"
        if held.reason == LEASE:
            env = self._base.env
            lease_us = int(env.limits.lease_seconds * 1_000_000)
            until = instants.text(env.now_us() + lease_us, fraction=False)
            return f"the lease {held.name} of a reader keeps it: run it again later, at {until}"
        if held.reason == QUARANTINE:
            until = instants.text(held.until_us, fraction=False)
            return f"the original has it in its quarantine: run it again after {until}"
        if held.reason == FORK:
            return (
                f"{held.name} is being forked, or that was broken off: sdb branch shows what keeps "
                "it, sdb branch -d takes that away; then run it again"
            )
        return f"{held.reason} {held.name}".strip() + " keeps it: run it again"

    def _fields(self) -> tuple[str, ...]:
        """Return the fields that the condition names."""
        paths = {steps_of(node) for node in visitor.nodes(self._where)}
        steps = {path for path in paths if path is not None}
        above = {path[:-1] for path in steps}
        names = [tuple([s if isinstance(s, str) else None for s in p]) for p in steps - above]
        return tuple(sorted(map(field_name, names)))

    def _versions(self) -> tuple[int, list[str]]:
        """Return how many versions are kept, and which, of each branch the first and the last."""
        count, looked_at = 0, []
        for keys in self._tables():
            for branch in branches_of(self._root, keys):
                head = self._open(keys, branch)
                state = None if head is None else head.state
                if state is None:
                    count += 1
                    continue
                history = history_of(state, self._root)
                count += 1 + len(history)
                first = min([state.version, *(past.version for past in history)])
                name = _name(keys) if branch == MAIN else f"{_name(keys)}@{branch}"
                looked_at.append(f"{name} {first} to {state.version}")
        return count, looked_at

    def _beyond(self, erasable: ErasableRows) -> tuple[str, ...]:
        """Name what no purge can reach, one thing a line."""
        name = _name(self._keys)
        head = self._open(self._keys, MAIN)
        lines = []
        if head is not None and next(iter(head.inputs.walk()), None) is not None:
            lines.append(
                f"the inputs that {name} was filled from, and copies of them in the cache of each "
                "user (sdb cache clear): sync --retry, restore, or a table that is made anew take "
                "such rows again"
            )
        lines.append("copies that sdb cp without --share, or other programs have made")
        if self._root.store.is_remote:
            lines.append("older versions of objects, if the bucket keeps them (versioning)")
        lines.append("backups and snapshots of the store")
        if erasable.unfinished:
            count = (
                f"{len(erasable.unfinished):,} hidden files of programs that write, or were killed"
            )
            lines.append(f"{count}, as {erasable.unfinished[0]}: sdb gc deletes old ones")
        return tuple(lines)


def _name(keys: TableKeys) -> str:
    return f"{keys.database}.{keys.table}"
