"""Packing inputs into packfiles of a table: those that cannot be read are reported.

A group of inputs becomes one packfile. This program packs, or Spark.
"""

from __future__ import annotations

import io
import os
from contextlib import closing
from functools import partial
from itertools import chain, groupby

from sdb import notes
from sdb.errors import (
    AccessError,
    ConflictError,
    InputError,
    NotFoundError,
    SdbError,
    UsageError,
)
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.heads import Heads
from sdb.packfile.inputs.inputs import NOT_READ
from sdb.packfile.inputs.recognised import check_refused, understood
from sdb.packfile.read.ahead import in_order
from sdb.packfile.write.pack import pack
from sdb.progress import silent
from sdb.records import record, replace
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.ageunits import AgeUnits
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import DepartingRowsError, row_rules
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from sdb.packfile.inputs.inputs import Input
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.rules import RowRules
    from sdb.table.sync.work import NewInput

MOST_INPUTS = 10_000
"""How many inputs are in a packfile at most."""

_FEW = 3
"""Bad inputs that are looked for one by one; where there are more, all inputs are looked at."""

_CHANGES = "{}: changes while it is read; the next sync takes it"


@record
class PackedInputs:
    """A group of inputs that was packed."""

    # Those whose rows are in the packfile; those that cannot be read now are left out
    inputs: tuple[NewInput, ...] = ()
    failed: tuple[NewInput, ...] = ()  # those that cannot be read, with the reason
    descriptor: Descriptor | None = None  # the packfile; None: there were no rows
    # Number of rows, size of the inputs, decompressed, and of the packfile
    rows: int = 0
    text_bytes: int = 0
    output_bytes: int = 0
    # Numbers of malformed records that were passed over, and that are rows of their text
    skipped: int = 0
    kept_records: int = 0


class InputPacking(Protocol):
    """A packer of inputs: this program, or Spark."""

    def groups(self, new: Sequence[NewInput]) -> Iterable[Sequence[NewInput]]:
        """Divide inputs into groups, each of one partition."""

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterable[Sequence[PackedInputs]]:
        """Pack groups of inputs: return the packfiles of each, in the same order."""


class LocalPacking:
    """Packing by this program, one packfile after the other.

    * ``options``: Others of :func:`sdb.pack`.
    * ``units``: Units of time by which inputs come into separate packfiles.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        progress: Callable[[int, int | None], None],
        options: dict[str, Any],
        rules: RowRules | None,
        units: AgeUnits | None = None,
    ) -> None:
        self._rules = rules
        self._units = units
        self._root = root
        self._keys = keys
        self._progress = progress
        self._options = options

    def groups(self, new: Sequence[NewInput]) -> Iterator[list[NewInput]]:
        """Yield the inputs of each packfile: those of a partition, up to a maximum."""
        for group in by_partition(new):
            for start in range(0, len(group), MOST_INPUTS):
                yield group[start : start + MOST_INPUTS]

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterator[Sequence[PackedInputs]]:
        """Pack groups of inputs; those whose newest rows are of several units apart."""
        packed = partial(
            pack_inputs,
            self._root,
            self._keys,
            rules=self._rules,
            progress=self._progress,
            **self._options,
        )
        for group in groups:
            yield pack_by_age(packed, group, self._root, self._units)


def pack_by_age(
    packed: Callable[[Sequence[NewInput]], PackedInputs],
    group: Sequence[NewInput],
    root: TableRoot,
    units: AgeUnits | None,
) -> Sequence[PackedInputs]:
    """Pack inputs; those whose newest rows are of several units apart.

    * ``packed``: Packs inputs into one packfile.
    """
    whole = packed(group)
    parts = parts_by_age(root, whole, units)
    if len(parts) < 2:  # noqa: PLR2004 - more than one packfile
        return (whole,)
    return (PackedInputs(failed=whole.failed), *map(packed, parts))


def parts_by_age(
    root: TableRoot, packed: PackedInputs, units: AgeUnits | None
) -> list[list[NewInput]]:
    """Divide the inputs of a packfile by units; those without a time stay with the first."""
    descriptor = packed.descriptor
    if units is None or descriptor is None or len(packed.inputs) < 2:  # noqa: PLR2004
        return []
    if units.of_packfile(descriptor.trailer.sparse) is not None:
        return []
    with closing(OpenObjects(1)) as objects:
        of_input = units.of_inputs(whole_packfile(root, descriptor, objects))
    first = min(of_input.values(), default=0)
    parts: dict[int, list[NewInput]] = {}
    for new_input in packed.inputs:
        parts.setdefault(of_input.get(new_input.uri, first), []).append(new_input)
    return [parts[unit] for unit in sorted(parts)]


def local_packing(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    progress: Callable[[int, int | None], None],
    options: dict[str, Any],
    branch: str = MAIN,
) -> LocalPacking:
    """Return what packs as the options say, or else the definition."""
    settings = {"stats": definition.statistics, **options}
    StatisticsChoice.of(settings["stats"])
    units = AgeUnits.of(definition.retention)
    return LocalPacking(root, keys, progress, settings, row_rules(root, keys, branch), units)


def directory_of(new_input: NewInput) -> str:
    """Return the directory of the partition of an input."""
    return "" if new_input.partition is None else new_input.partition.directory


def by_partition(new: Sequence[NewInput]) -> Iterator[list[NewInput]]:
    """Yield the inputs of each partition."""
    for _, group in groupby(sorted(new, key=directory_of), directory_of):
        yield list(group)


def pack_inputs(
    root: TableRoot,
    keys: TableKeys,
    group: Sequence[NewInput],
    *,
    rules: RowRules | None,
    mark: Callable[[Sequence[NewInput]], str] | None = None,
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> PackedInputs:
    """Pack inputs of a partition into a packfile.

    * ``rules``: What the rows must be; None: the table has no schema.
    * ``mark``: Returns the mark in the name of the packfile, for the inputs in it.
    * ``options``: Others of :func:`sdb.pack`.

    Returns: The packfile with those that can be read, and what is wrong with others.
    """
    left = list(group)
    bad: list[NewInput] = []
    while left:
        partition = left[0].partition
        try:
            packed = pack_rows(
                root,
                keys,
                _all_recognised(left),
                directory_of(left[0]),
                rules=rules,
                commit_id="" if mark is None else mark(left),
                constants=None if partition is None else partition.constants or None,
                progress=progress,
                **options,
            )
        except DepartingRowsError as error:
            departing = [
                replace(new_input, flaw=error.reasons[new_input.uri])
                for new_input in left
                if new_input.uri in error.reasons
            ]
            if not departing or left[0].listed.rows is not None:
                raise
            bad += departing
            left = [new_input for new_input in left if new_input.uri not in error.reasons]
            continue
        except (*NOT_READ, NotFoundError, AccessError, ConflictError) as error:
            if left[0].listed.rows is not None:  # all files of a version come, or none of them
                if isinstance(error, NotFoundError):
                    raise MissingFileError(error) from None
                raise
            looked = _sound(left, error, options) if len(bad) < _FEW else _all_looked(left, options)
            if not any(new_input is None or new_input.flaw for new_input in looked):
                raise
            bad += [new_input for new_input in looked if new_input is not None and new_input.flaw]
            left = [
                new_input for new_input in looked if new_input is not None and not new_input.flaw
            ]
            continue
        same = [
            new_input
            for new_input in left
            if new_input.listed.store.is_remote or new_input.listed.is_same()
        ]
        if same == left:
            result = packed.result
            return PackedInputs(
                tuple(left),
                tuple(bad),
                packed.descriptor,
                result.rows,
                result.text_bytes,
                result.output_bytes,
                result.rejected,
                result.kept_records,
            )
        late = sorted({new_input.uri for new_input in left} - {new_input.uri for new_input in same})
        if late:
            notes.warn(_CHANGES.format(late[0]))
        left = same
    return PackedInputs((), tuple(bad))


class MissingFileError(NotFoundError):
    """A file of a Delta or Iceberg table that is not there."""

    def __init__(self, error: NotFoundError) -> None:
        super().__init__(error.message, path=error.path)


def _all_recognised(group: Sequence[NewInput]) -> list[Input]:
    is_remote = all(item.listed.is_remote and item.listed.rows is None for item in group)
    heads = Heads()
    each = in_order(lambda item: list(_recognised(item, heads)), group, is_remote=is_remote)
    return list(chain.from_iterable(each))


def _recognised(new_input: NewInput, heads: Heads | None = None) -> Iterator[Input]:
    """Yield an input, or the files of an archive, whose rows are recorded as those of it."""
    if new_input.listed.rows is not None:
        from sdb.packfile.inputs.lake import input_of

        yield input_of(new_input.listed.rows, new_input.uri)
        return
    rule = new_input.rule
    hints = None if rule.hints in {None, "null"} else (rule.hints or "").encode()
    try:
        # The rows must be those of the ETag that is recorded.
        version = new_input.listed.version
        location = new_input.listed.location
        sources, refused = understood(
            location, rule.format or None, hints=hints, version=version, heads=heads
        )
        check_refused(refused, sources, rule.on_error or "fail")
    except UsageError as error:  # hints that do not fit the content
        raise InputError(error.message) from None
    for source in sources:
        yield replace(
            source,
            name=new_input.uri + source.name.removeprefix(os.fspath(location)),
            origin=new_input.uri,
            # Rows of packfiles are as they were packed.
            defaults=None if source.is_packfile else new_input.defaults,
            times=rule.reading,
            on_error=rule.on_error or "fail",
        )


def _sound(
    group: Sequence[NewInput], error: SdbError, options: dict[str, Any]
) -> list[NewInput | None]:
    """Look at the input that an error names, or at all if it is not that one."""
    for number, new_input in enumerate(group):
        if new_input.uri == error.path:
            looked = _looked(new_input, options)
            if looked is None or looked.flaw:
                return [*group[:number], looked, *group[number + 1 :]]
    return _all_looked(group, options)


def _all_looked(group: Sequence[NewInput], options: dict[str, Any]) -> list[NewInput | None]:
    return [_looked(new_input, options) for new_input in group]


def _looked(new_input: NewInput, options: dict[str, Any]) -> NewInput | None:
    """Pack an input alone, into nothing, to see what is wrong; None: it cannot be read now."""
    try:
        pack(list(_recognised(new_input)), _Nowhere(), **options)
    except NotFoundError:
        return None
    except ConflictError:
        notes.warn(_CHANGES.format(new_input.uri))
        return None
    except AccessError as error:
        notes.warn(f"left out: {error.message}")
        return None
    except NOT_READ as error:
        return replace(new_input, flaw=error.message)
    return new_input


class _Nowhere(io.BytesIO):
    """A file that keeps nothing."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - bytes of any kind
        return len(data)
