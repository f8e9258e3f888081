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
from sdb.table.sync.newinputs import NewInput, SyncPlan
from sdb.table.sync.renames import RenamedInputs
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sdb.store.base import Entry
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition, InputRule
    from sdb.table.format.inputnodes import TakenInput
    from sdb.table.inputs.listing import ListedInput, Lister


def plan_sync(
    root: TableRoot,
    definition: Definition,
    known: Mapping[str, TakenInput],
    *,
    retry: bool = False,
    lister: Lister | None = None,
    written_us: int = 0,
) -> SyncPlan:
    """List the inputs of a table, and compare them with what it knows.

    Parameters
    ----------
    root : TableRoot
        The root.
    definition : Definition
        What the table takes.
    known : mapping
        The inputs that it knows, by URI.
    retry : bool
        Whether inputs that failed are tried again although they have not changed.
    lister : Lister, optional
        What lists folders; the stores if not given.
    written_us : int
        When the table was written last.

    Returns
    -------
    SyncPlan
        What is to be done.
    """
    seen: set[str] = set()

    def is_first(uri: str, _: int) -> bool:
        if uri in seen:
            return False
        seen.add(uri)
        return True

    plan = _Comparison(definition, known.get, is_first, retry=retry)
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, list_inputs(root, pattern, lister), cache)
    seen -= plan.gone
    gone = [uri for uri, one in known.items() if uri not in seen and not one.is_failed]
    vanished = [uri for uri in gone if any(one.match(uri) is not None for one in plan.patterns)]
    left_out = (*plan.left_out, *sorted(plan.gone))
    lists = tuple(plan.new), tuple(plan.changed), tuple(vanished)
    found = SyncPlan(*lists, left_out, tuple(plan.newer), tuple(plan.passed))
    failed = [one for one in known.values() if one.is_failed and one.path in seen]
    names = RenamedInputs(definition, found, known.get, written_us)
    return names.plan([known[uri] for uri in vanished], failed)


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
    known: KnownContent,
    lister: Lister,
) -> SyncPlan:
    """Compare those inputs with what a table knows that a lister gives, which need not be all.

    Parameters
    ----------
    root : TableRoot
        The root.
    definition : Definition
        What the table takes.
    known : KnownContent
        What the table knows.
    lister : Lister
        Lists folders.

    Returns
    -------
    SyncPlan
        What is to be done; nothing has vanished.
    """

    def is_first(uri: str, number: int) -> bool:
        return all(match(uri) is None for match in earlier[:number])

    plan = _Comparison(definition, known.lookup, is_first, retry=False)
    earlier = [matcher(one) for one in plan.patterns]
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, list_inputs(root, pattern, lister), cache)
    return _with_names(root, definition, plan, known)


def plan_named(
    root: TableRoot,
    definition: Definition,
    known: KnownContent,
    found: Mapping[str, Entry],
) -> SyncPlan:
    """Compare objects that somebody has named with what a table knows.

    Parameters
    ----------
    root : TableRoot
        The root.
    definition : Definition
        What the table takes; what fits no pattern of it is passed over.
    known : KnownContent
        What the table knows.
    found : mapping
        The objects, by URI.

    Returns
    -------
    SyncPlan
        What is to be done; nothing has vanished.
    """
    seen: set[str] = set()

    def is_first(uri: str, _: int) -> bool:
        is_new = uri not in seen
        seen.add(uri)
        return is_new

    plan = _Comparison(definition, known.lookup, is_first, retry=False)
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, named_inputs(root, pattern, found), cache)
    return _with_names(root, definition, plan, known)


def _with_names(
    root: TableRoot, definition: Definition, plan: _Comparison, known: KnownContent
) -> SyncPlan:
    """Return what is to be done of some inputs, without those that were renamed."""
    some = plan.some()
    if not (some.new or some.newer):
        return some
    renamed = RenamedInputs(definition, some, known.lookup, known.written_us)
    wanted = renamed.etags()
    if not wanted:
        return some
    near = known.near([one.uri for one in (*some.new, *some.newer)])
    same = [one for one in near if one.etag in wanted]
    there = {one.path for one in same if _is_there(root, one.path)}
    gone = [one for one in same if not one.is_failed and one.path not in there]
    return renamed.plan(gone, [one for one in same if one.is_failed and one.path in there])


def _is_there(root: TableRoot, uri: str) -> bool:
    place = place_of_input(root, uri)
    return bool(place) and store_of(place).look(place) is not None


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
        """Give what is to be done of inputs that need not be all."""
        left_out, newer = tuple(self.left_out), tuple(self.newer)
        lists = tuple(self.new), tuple(self.changed), ()
        return SyncPlan(*lists, left_out, newer, tuple(self.passed))

    def compare(self, number: int, found: Iterator[ListedInput], cache: EtagCache) -> None:
        """Compare what the pattern of a rule finds."""
        rule = self._definition.inputs[number]
        for listed in found:
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
                    one = _new(listed, etag, rule, self._definition, is_forced=True)
                    self.newer.append(replace(one, replaces=before.etag))
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
    return NewInput(listed, etag, rule, partition, is_forced=is_forced)
