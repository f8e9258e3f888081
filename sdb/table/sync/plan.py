"""Work of a sync: inputs that are listed, compared with those that the table knows."""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, InputError, NotFoundError
from sdb.records import replace
from sdb.store.url import store_of
from sdb.table.definition.partition import partition_of
from sdb.table.inputs.etagcache import EtagCache
from sdb.table.inputs.listing import list_inputs, named_inputs
from sdb.table.inputs.pattern import InputPattern
from sdb.table.inputs.patternregex import matcher
from sdb.table.inputs.places import place_of_input
from sdb.table.inputs.tempnames import is_temporary
from sdb.table.sync.renames import RenamedInputs
from sdb.table.sync.work import NewInput, SyncPlan
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdb.store.base import Entry
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition, InputRule
    from sdb.table.format.inputtree import TakenInput
    from sdb.table.inputs.listing import ListedInput, Lister


def plan_sync(
    root: TableRoot,
    definition: Definition,
    taken: Mapping[str, TakenInput],
    *,
    retry: bool = False,
    lister: Lister | None = None,
    written_us: int = 0,
) -> SyncPlan:
    """List the inputs of a table, and compare them with what it knows.

    * ``retry``: Whether inputs that failed are tried again although they have not changed.
    * ``lister``: What lists folders; the stores if not given.
    """
    seen: set[str] = set()

    def is_first(uri: str, _: int) -> bool:
        if uri in seen:
            return False
        seen.add(uri)
        return True

    plan = _Comparison(definition, taken.get, is_first, retry=retry)
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, list_inputs(root, pattern, lister), cache)
    seen -= plan.gone
    gone = [uri for uri, entry in taken.items() if uri not in seen and not entry.is_failed]
    vanished = [
        uri for uri in gone if any(pattern.match(uri) is not None for pattern in plan.patterns)
    ]
    left_out = (*plan.left_out, *sorted(plan.gone))
    lists = tuple(plan.new), tuple(plan.changed), tuple(vanished)
    compared = SyncPlan(*lists, left_out, tuple(plan.newer), tuple(plan.passed))
    failed = [entry for entry in taken.values() if entry.is_failed and entry.path in seen]
    names = RenamedInputs(definition, compared, taken.get, written_us)
    return names.plan([taken[uri] for uri in vanished], failed)


class KnownContent(Protocol):
    """The inputs that a table knows."""

    @property
    def written_us(self) -> int:
        """When it was written last."""

    def lookup(self, uri: str) -> TakenInput | None:
        """Return what it knows of an input."""

    def near(self, uris: Iterable[str]) -> Iterator[TakenInput]:
        """Yield its inputs; where these are many, those in the folders of some."""


def plan_some(
    root: TableRoot,
    definition: Definition,
    content: KnownContent,
    lister: Lister,
) -> SyncPlan:
    """Compare the inputs of a lister, which need not be all, with those that a table knows."""

    def is_first(uri: str, number: int) -> bool:
        return all(match(uri) is None for match in earlier[:number])

    plan = _Comparison(definition, content.lookup, is_first, retry=False)
    earlier = [matcher(pattern) for pattern in plan.patterns]
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, list_inputs(root, pattern, lister), cache)
    return _without_renamed(root, definition, plan, content)


def plan_named(
    root: TableRoot,
    definition: Definition,
    content: KnownContent,
    entries: Mapping[str, Entry],
) -> SyncPlan:
    """Compare objects that messages name with the inputs that a table knows.

    * ``definition``: What the table takes; what fits no pattern of it is passed over.
    """
    seen: set[str] = set()

    def is_first(uri: str, _: int) -> bool:
        is_new = uri not in seen
        seen.add(uri)
        return is_new

    plan = _Comparison(definition, content.lookup, is_first, retry=False)
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, named_inputs(root, pattern, entries), cache)
    return _without_renamed(root, definition, plan, content)


def _without_renamed(
    root: TableRoot, definition: Definition, plan: _Comparison, content: KnownContent
) -> SyncPlan:
    """Return what is to be done of some inputs, without those that were renamed."""
    some = plan.some()
    if not (some.new or some.newer):
        return some
    renamed = RenamedInputs(definition, some, content.lookup, content.written_us)
    wanted = renamed.etags()
    if not wanted:
        return some
    near = content.near([new_input.uri for new_input in (*some.new, *some.newer)])
    same = [entry for entry in near if entry.etag in wanted]
    present = {entry.path for entry in same if _exists(root, entry.path)}
    gone = [entry for entry in same if not entry.is_failed and entry.path not in present]
    return renamed.plan(
        gone, [entry for entry in same if entry.is_failed and entry.path in present]
    )


def _exists(root: TableRoot, uri: str) -> bool:
    location = place_of_input(root, uri)
    return bool(location) and store_of(location).head(location) is not None


class _Comparison:
    """Inputs that are listed, compared with those that a table knows."""

    def __init__(
        self,
        definition: Definition,
        lookup: Callable[[str], TakenInput | None],
        is_first: Callable[[str, int], bool],
        *,
        retry: bool,
    ) -> None:
        self._definition = definition
        self._lookup = lookup
        self._is_first = is_first
        self._retry = retry
        self.patterns = [InputPattern.parse(rule.pattern) for rule in definition.inputs]
        self.new: list[NewInput] = []
        self.changed: list[str] = []
        self.newer: list[NewInput] = []
        self.gone: set[str] = set()
        self.left_out: list[str] = []
        self.passed: list[str] = []

    def some(self) -> SyncPlan:
        """Return what is to be done of inputs that need not be all."""
        left_out, newer = tuple(self.left_out), tuple(self.newer)
        lists = tuple(self.new), tuple(self.changed), ()
        return SyncPlan(*lists, left_out, newer, tuple(self.passed))

    def compare(self, number: int, listed_inputs: Iterator[ListedInput], cache: EtagCache) -> None:
        """Compare what the pattern of a rule finds."""
        rule = self._definition.inputs[number]
        for listed in listed_inputs:
            uri = listed.uri
            if not self._is_first(uri, number):
                continue  # the first pattern that fits counts
            before = self._lookup(uri)
            if before is None and is_temporary(uri, rule.pattern):
                self.passed.append(uri)
                continue
            try:
                etag = listed.etag(cache)
            except NotFoundError:
                self.gone.add(uri)
                continue
            except AccessError as error:
                notes.warn(f"left out: {error.message}")
                self.left_out.append(uri)
                continue
            if before is not None and not before.is_failed:
                if before.etag != etag:
                    new_input = _new(listed, etag, rule, self._definition, is_forced=True)
                    self.newer.append(replace(new_input, replaces=before.etag))
                    self.changed.append(uri)
            elif before is None or before.etag != etag or self._retry:
                forced = before is not None and before.etag == etag
                self.new.append(_new(listed, etag, rule, self._definition, is_forced=forced))


def _new(
    listed: ListedInput, etag: str, rule: InputRule, definition: Definition, *, is_forced: bool
) -> NewInput:
    try:
        partition = partition_of(definition.partitions, listed.captured)
    except InputError as error:
        return NewInput(listed, etag, rule, None, error.message, is_forced)
    defaults = None
    if definition.hive:
        from sdb.packfile.inputs.folders import defaults_of

        defaults = defaults_of(listed.uri, partition.constants)
    return NewInput(listed, etag, rule, partition, is_forced=is_forced, defaults=defaults)
