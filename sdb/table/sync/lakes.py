"""Tables of Delta and Iceberg as inputs: each of their versions becomes one of ours.

The inputs tree has an entry for each data file, and one that tells which version was taken
(:mod:`sdb.table.format.lakepositions`), which changes with the same commit as the rows.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import ConflictError, CorruptError, InputError, NotFoundError, UnsupportedError
from sdb.lake.names import DELTA, file_uri, position_uri
from sdb.lake.rows import LakeRows
from sdb.packfile.inputs.openlake import open_lake
from sdb.records import record, replace
from sdb.store.url import store_of
from sdb.table.definition.partition import partition_of
from sdb.table.format.lakepositions import LakePosition
from sdb.table.inputs.lakes import lake_folder
from sdb.table.inputs.listing import ListedInput
from sdb.table.sync.work import NewInput, SyncPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.errors import SdbError
    from sdb.lake.columns import LakeColumns
    from sdb.lake.model import LakeFile, LakeTable
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition, InputRule
    from sdb.table.format.inputtree import InputsTree, TakenInput

SKIPPABLE = (CorruptError, InputError, NotFoundError, UnsupportedError)
"""The errors of a version after which a later one may be readable."""
_REWRITES = "--vanished delete and --changed replace, the defaults here, follow the table"


@record
class LakeStep:
    """The way from one version of a table of another system to a later one."""

    plan: SyncPlan  # what is to be done
    source: str  # the pattern that names the table
    version: int  # the later version
    latest: int  # the newest one when the table was opened
    uri: str  # key of the entry that tells which version was taken
    before: str  # what it has in place of an ETag; empty: nothing yet
    after: str  # what it gets
    message: str  # what the version of ours says
    note: str = ""  # what the user should know; empty: nothing

    @property
    def is_nothing(self) -> bool:
        """True if the table has just these files."""
        plan = self.plan
        return not (plan.new or plan.newer or plan.vanished)


class LakeSource:
    """A table of another system that a rule of a definition names.

    Raises `OutsideError` if it is out of the root and `UsageError` if the rule has wildcards.
    """

    def __init__(self, root: TableRoot, definition: Definition, rule: InputRule) -> None:
        self._definition = definition
        self._rule = rule
        self._kind, self._folder = lake_folder(root, rule.pattern)
        self._position = position_uri(rule.pattern)
        self._is_remote = store_of(self._folder.location).is_remote
        self._table: LakeTable | None = None
        self._whole_from = ""
        self._is_foreseen = False
        self.step: LakeStep | None = None

    def has_taken(self) -> None:
        """Go on one by one after a step that was committed."""
        self._whole_from = ""

    def can_skip(self, step: LakeStep, error: SdbError) -> bool:
        """Return whether a later version may do without what a step lacks; then go there."""
        self._table = None
        if step.version == step.latest and self._opened(None).latest == step.latest:
            return False
        if isinstance(error, NotFoundError):
            self.skip_to_latest(f"files of version {step.version} are gone")
        else:
            self.skip_to_latest(_unreadable(step.version, error))
        return True

    def foresee(self) -> None:
        """Go to the newest version in one step, of which nothing is committed."""
        self._is_foreseen = True
        self.skip_to_latest("all of it")

    def skip_to_latest(self, why: str) -> None:
        """Go to the newest version in one step from now on.

        * ``why``: Why not one by one.
        """
        self._whole_from = why
        self._table = None

    def next_step(self, tree: InputsTree | None) -> LakeStep | None:
        """Return the next step of a table with these inputs; None: there is nothing to do.

        Raises `NotFoundError` if there is no such table; `CorruptError` or `UnsupportedError` if
        its metadata are damaged, or need what this program cannot do.
        """
        entry = None if tree is None else tree.lookup(self._position)
        text = "" if entry is None else entry.etag
        taken = LakePosition.from_text(text) if text.startswith("{") else None
        is_known = self._table is not None
        table = self._opened(taken)
        why = self._why_whole(table, taken)
        if why and is_known and taken is not None:
            # Another sync may have taken a version that is newer than what was opened.
            self._table = None
            table = self._opened(taken)
            why = self._why_whole(table, taken)
        self.step = None
        if taken is None or why:
            step = self._whole(table, tree, text, taken, why)
            self.step = None if step.is_nothing else step
            return self.step
        for version in table.newer_than(taken.version) or ():
            try:
                step = self._single(table, tree, text, taken, version)
            except SKIPPABLE as error:
                return self._past(version, error, tree)
            if not step.is_nothing:
                self.step = step
                break
        return self.step

    def _past(self, version: int, error: SdbError, tree: InputsTree | None) -> LakeStep | None:
        """Return the step past a version that cannot be read; an error if there is no way past."""
        self.skip_to_latest(_unreadable(version, error))
        try:
            return self.next_step(tree)
        except SKIPPABLE:
            raise error from None

    def _opened(self, taken: LakePosition | None) -> LakeTable:
        if self._table is None:
            since = None if taken is None or self._whole_from else taken.version
            self._table = open_lake(self._kind, self._folder, since=since)
        return self._table

    def _why_whole(self, table: LakeTable, taken: LakePosition | None) -> str:
        """Return why the versions since the one that was taken are not taken one by one."""
        if self._whole_from:
            return self._whole_from
        if taken is None:
            return "it is the first sync"
        is_same = bool(taken.mark) and table.mark(taken.version) == taken.mark
        if not is_same and table.table_id != taken.table:
            return "it is another table than the one that was taken"
        return self._gap(table, taken)

    def _gap(self, table: LakeTable, taken: LakePosition) -> str:
        """Return why no single versions lead from one to the newest; empty: they do."""
        if self._kind == DELTA and table.latest < taken.version:
            return f"it was set back from version {taken.version}"
        if table.names_anew(taken.version, taken.columns):
            return "it names columns anew"
        if table.newer_than(taken.version) is None:
            return f"its log has not all versions since {taken.version} any more"
        return ""

    def _single(
        self,
        table: LakeTable,
        tree: InputsTree | None,
        before: str,
        taken: LakePosition,
        version: int,
    ) -> LakeStep:
        """Return the step to a version from the one before it."""
        change = table.change(version)
        is_anew, files = False, change.added
        is_renamed = change.renames
        if self._kind != DELTA:
            is_renamed = table.has_renamed(taken.columns, change.columns)
        if is_renamed:
            # Rows of all files have other names.
            is_anew, files = True, tuple(table.at(version).files.values())
        plan = self._plan(tree, files, change.columns, is_anew=is_anew)
        gone = [self._uri(path) for path in sorted(change.removed)]
        plan = replace(plan, vanished=tuple(_taken_of(tree, gone)))
        position = self._position_of(table, taken.table, version, change.columns)
        message = self._message(version, change.operation)
        note = f"{self._rule.pattern}: version {version} names columns anew: all rows are read"
        return self._step(table, plan, version, before, position, message, note if is_anew else "")

    def _whole(
        self,
        table: LakeTable,
        tree: InputsTree | None,
        before: str,
        taken: LakePosition | None,
        why: str,
    ) -> LakeStep:
        """Return the step to the newest version from whatever was taken."""
        state = table.at()
        position = self._position_of(table, state.table_id, state.version, state.columns)
        is_anew = taken is not None and table.has_renamed(taken.columns, state.columns)
        plan = self._plan(tree, state.files.values(), state.columns, is_anew=is_anew)
        present = {self._uri(path) for path in state.files}
        gone = [entry.path for entry in self._known(tree) if entry.path not in present]
        plan = replace(plan, vanished=tuple(_taken_of(tree, gone)))
        message = self._message(state.version, state.operation)
        note = f"{self._rule.pattern}: {why}: version {state.version} is taken in one step"
        if taken is None:
            note = f"{self._rule.pattern}: the first sync takes version {state.version} as a whole"
        if self._is_foreseen:
            note = ""
        return self._step(table, plan, state.version, before, position, message, note)

    def _step(
        self,
        table: LakeTable,
        plan: SyncPlan,
        version: int,
        before: str,
        position: LakePosition,
        message: str,
        note: str,
    ) -> LakeStep:
        facts = (self._position, before, position.text(), message, note)
        return LakeStep(plan, self._rule.pattern, version, table.latest, *facts)

    def _position_of(
        self, table: LakeTable, table_id: str, version: int, columns: LakeColumns
    ) -> LakePosition:
        return LakePosition(table_id, version, table.mark(version), columns.digest())

    def _message(self, version: int, operation: str) -> str:
        done = f": {operation}" if operation else ""
        return f"version {version} of {self._rule.pattern}{done}"

    def _known(self, tree: InputsTree | None) -> Iterator[TakenInput]:
        """Yield the entries of files of the table."""
        above = self._uri("")
        for entry in () if tree is None else tree.walk(above):
            if not entry.path.startswith(above):
                return
            if entry.path != self._position:
                yield entry

    def _plan(
        self,
        tree: InputsTree | None,
        files: Iterable[LakeFile],
        columns: LakeColumns,
        *,
        is_anew: bool,
    ) -> SyncPlan:
        """Compare files with what the inputs tree has of them.

        * ``is_anew``: Whether rows of files that were taken are others now.
        """
        new, newer = [], []
        for file in sorted(files, key=lambda file: file.path.split("/")):
            uri = self._uri(file.path)
            entry = None if tree is None else tree.lookup(uri)
            taken = self._input(uri, file, columns)
            if entry is None or entry.is_failed:
                forced = entry is not None and entry.etag == taken.etag
                new.append(replace(taken, is_forced=forced))
            elif entry.etag != taken.etag or is_anew:
                newer.append(replace(taken, is_forced=True, replaces=entry.etag))
        changed = tuple(new_input.uri for new_input in newer)
        return SyncPlan(tuple(new), changed, (), newer=tuple(newer))

    def _input(self, uri: str, file: LakeFile, columns: LakeColumns) -> NewInput:
        names = {column.stored: column.name for column in columns.columns}
        values = {
            names.get(stored, stored): text for stored, text in file.values if text is not None
        }
        missing = {
            name
            for field in self._definition.partitions
            for name in field.captures()
            if name not in values
        }
        if missing:
            message = f"{uri}: the table has no partition value {min(missing)!r} for it"
            hint = "partitions of the definition are partition columns of the table"
            raise InputError(message, hint=hint)
        partition = partition_of(self._definition.partitions, values)
        rows = LakeRows(self._folder, file, columns, frozenset(partition.constants))
        listed = ListedInput(
            uri, file.location, "", values, self._is_remote, file.size_bytes, rows=rows
        )
        return NewInput(listed, f'"{file.identity}"', self._rule, partition)

    def _uri(self, path: str) -> str:
        return file_uri(self._rule.pattern, path)


def _unreadable(version: int, error: SdbError) -> str:
    return f"version {version} cannot be read ({error.message})"


def check_followed(step: LakeStep, *, changed: str, vanished: str) -> None:
    """Check that rows of a step do not come twice.

    Raises `ConflictError` if files that go have rows that are in files that come, too, and are to
    be kept.
    """
    plan = step.plan
    is_rewritten = bool(plan.vanished and (plan.new or plan.newer)) and vanished == "keep"
    if is_rewritten:
        message = f"{step.source}: version {step.version} has new files for old ones: rows of both"
        raise ConflictError(f"{message} would be there twice", hint=_REWRITES)
    if changed == "keep" and plan.newer:
        files = f"{len(plan.newer):,} file{'s' if plan.newer[1:] else ''}"
        notes.warn(f"{step.source}: version {step.version} deletes rows of {files}: they stay")


def missing_file(step: LakeStep, error: NotFoundError) -> NotFoundError:
    """Return the error for a file that a table has, and that is not there."""
    message = f"{step.source}: a file of version {step.version} is missing: {error.message}"
    return NotFoundError(message, path=error.path)


def _taken_of(tree: InputsTree | None, uris: Iterable[str]) -> Iterator[str]:
    """Yield those inputs that have rows in a table."""
    for uri in uris if tree is not None else ():
        entry = tree.lookup(uri) if tree is not None else None
        if entry is not None and not entry.is_failed:
            yield uri
