"""Work of a sync: inputs that are listed, compared with those that the table knows."""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, ConflictError, InputError, NotFoundError
from sdb.records import record, replace
from sdb.table.compiledpattern import matcher
from sdb.table.etagcache import EtagCache
from sdb.table.inputlisting import list_inputs, named_inputs
from sdb.table.inputpattern import InputPattern
from sdb.table.partition import partition_of
from sdb.table.syncresult import RejectedInput, Synced
from sdb.table.temporaryinputs import is_temporary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sdb.store.base import Entry
    from sdb.table import names
    from sdb.table.definition import Definition, InputRule
    from sdb.table.inputlisting import ListedInput, Lister
    from sdb.table.inputnodes import TakenInput
    from sdb.table.partition import Partition
    from sdb.table.tableroot import TableRoot


class InputChangedError(ConflictError):
    """An input has changed after it was taken, and that is not to be."""


@record
class NewInput:
    """An input that a sync takes.

    Attributes
    ----------
    listed : ListedInput
        Where it is.
    etag : str
        Its ETag.
    rule : InputRule
        The rule whose pattern found it.
    partition : Partition or None
        Its partition; None: its name tells none.
    flaw : str
        Why it has no rows; empty: it has.
    is_forced : bool
        Whether it failed before, with the same content.
    replaces : str
        The ETag of what was taken before, whose rows go; empty: nothing.
    """

    listed: ListedInput
    etag: str
    rule: InputRule
    partition: Partition | None
    flaw: str = ""
    is_forced: bool = False
    replaces: str = ""

    @property
    def uri(self) -> str:
        """Its full URI."""
        return self.listed.uri


@record
class SyncPlan:
    """The inputs of a table, by what is to be done with them.

    Attributes
    ----------
    new : tuple of NewInput
        Those to take, in their order.
    changed, vanished : tuple of str
        URIs of those that were taken and have another content now, or are gone.
    left_out : tuple of str
        URIs of inputs that cannot be read now.
    newer : tuple of NewInput
        Those that have changed, as they are now.
    passed : tuple of str
        URIs of those that are passed over, since they have temporary names.
    """

    new: tuple[NewInput, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    newer: tuple[NewInput, ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if the table has just the inputs that are there."""
        return not (self.new or self.changed or self.vanished or self.left_out or self.newer)


def plan_sync(
    root: TableRoot,
    definition: Definition,
    known: Mapping[str, TakenInput],
    *,
    retry: bool = False,
    lister: Lister | None = None,
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
    return SyncPlan(*lists, left_out, tuple(plan.newer), tuple(plan.passed))


def plan_some(
    root: TableRoot,
    definition: Definition,
    lookup: Callable[[str], TakenInput | None],
    lister: Lister,
) -> SyncPlan:
    """Compare those inputs with what a table knows that a lister gives, which need not be all.

    Parameters
    ----------
    root : TableRoot
        The root.
    definition : Definition
        What the table takes.
    lookup : callable
        Gives what the table knows of a URI.
    lister : Lister
        Lists folders.

    Returns
    -------
    SyncPlan
        What is to be done; nothing has vanished.
    """

    def is_first(uri: str, number: int) -> bool:
        return all(match(uri) is None for match in earlier[:number])

    plan = _Comparison(definition, lookup, is_first, retry=False)
    earlier = [matcher(one) for one in plan.patterns]
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, list_inputs(root, pattern, lister), cache)
    return plan.some()


def plan_named(
    root: TableRoot,
    definition: Definition,
    lookup: Callable[[str], TakenInput | None],
    found: Mapping[str, Entry],
) -> SyncPlan:
    """Compare objects that somebody has named with what a table knows.

    Parameters
    ----------
    root : TableRoot
        The root.
    definition : Definition
        What the table takes; what fits no pattern of it is passed over.
    lookup : callable
        Gives what the table knows of a URI.
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

    plan = _Comparison(definition, lookup, is_first, retry=False)
    with EtagCache() as cache:
        for number, pattern in enumerate(plan.patterns):
            plan.compare(number, named_inputs(root, pattern, found), cache)
    return plan.some()


def check_unchanged(keys: names.TableKeys, changed: Sequence[str]) -> None:
    """Check that no input has changed after it was taken.

    Raises
    ------
    InputChangedError
        One has.
    """
    if changed:
        more = f" and {len(changed) - 1:,} more" if changed[1:] else ""
        message = f"{keys.database}.{keys.table}: {changed[0]}{more} changed after it was taken"
        raise InputChangedError(message, hint="--changed keep leaves its rows as they are")


def foreseen(
    keys: names.TableKeys, plan: SyncPlan, newer: Sequence[NewInput], gone: Sequence[str]
) -> Synced:
    """Return what a sync would do."""
    wanted = (*plan.new, *newer)
    good = tuple(one.uri for one in wanted if not one.flaw)
    bad = tuple(RejectedInput(one.uri, one.etag, one.flaw) for one in wanted if one.flaw)
    replaced = tuple(one.uri for one in newer if not one.flaw)
    left = tuple(uri for uri in plan.changed if uri not in replaced)
    kept = tuple(uri for uri in plan.vanished if uri not in gone)
    lists = bad, left, kept, replaced, tuple(gone)
    return Synced(keys.database, keys.table, None, good, 0, 0, *lists, passed=plan.passed)


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
