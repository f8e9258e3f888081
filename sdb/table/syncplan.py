"""Work of a sync: inputs that are listed, compared with those that the table knows."""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, InputError, NotFoundError
from sdb.records import record
from sdb.table.etagcache import EtagCache
from sdb.table.inputlisting import list_inputs
from sdb.table.inputpattern import InputPattern
from sdb.table.partition import partition_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.table.definition import Definition, InputRule
    from sdb.table.inputlisting import ListedInput
    from sdb.table.inputnodes import TakenInput
    from sdb.table.partition import Partition
    from sdb.table.tableroot import TableRoot


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
    """

    listed: ListedInput
    etag: str
    rule: InputRule
    partition: Partition | None
    flaw: str = ""
    is_forced: bool = False

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
    """

    new: tuple[NewInput, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]


def plan_sync(
    root: TableRoot, definition: Definition, known: Mapping[str, TakenInput], *, retry: bool = False
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

    Returns
    -------
    SyncPlan
        What is to be done.
    """
    new: list[NewInput] = []
    changed: list[str] = []
    seen: set[str] = set()
    patterns = [InputPattern.parse(rule.pattern) for rule in definition.inputs]
    with EtagCache() as cache:
        for rule, pattern in zip(definition.inputs, patterns, strict=True):
            for listed in list_inputs(root, pattern):
                if listed.uri in seen:
                    continue  # the first pattern that fits counts
                seen.add(listed.uri)
                try:
                    etag = listed.etag(cache)
                except NotFoundError:
                    seen.discard(listed.uri)
                    continue
                except AccessError as error:
                    notes.warn(f"left out: {error.message}")
                    continue
                before = known.get(listed.uri)
                if before is not None and not before.is_failed:
                    changed += [listed.uri] if before.etag != etag else []
                elif before is None or before.etag != etag or retry:
                    forced = before is not None and before.etag == etag
                    new.append(_new(listed, etag, rule, definition, is_forced=forced))
    gone = [uri for uri, one in known.items() if uri not in seen and not one.is_failed]
    vanished = [uri for uri in gone if any(one.match(uri) is not None for one in patterns)]
    return SyncPlan(tuple(new), tuple(changed), tuple(vanished))


def _new(
    listed: ListedInput, etag: str, rule: InputRule, definition: Definition, *, is_forced: bool
) -> NewInput:
    try:
        partition = partition_of(definition.partitions, listed.captured)
    except InputError as error:
        return NewInput(listed, etag, rule, None, error.message, is_forced)
    return NewInput(listed, etag, rule, partition, is_forced=is_forced)
