"""Packing inputs into packfiles of a table: those that cannot be read are told apart.

A group of inputs becomes one packfile. Who packs is open: this program does, and Spark can.
"""

from __future__ import annotations

import io
from itertools import groupby

from sdb import notes
from sdb.errors import (
    AccessError,
    ConflictError,
    CorruptError,
    InputError,
    NotFoundError,
    UnsupportedError,
    UsageError,
)
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.inputs import recognise
from sdb.packfile.write.pack import pack
from sdb.progress import silent
from sdb.records import record, replace
from sdb.table.packfiles.pack import pack_rows
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
    from sdb.table.sync.newinputs import NewInput

MOST_INPUTS = 10_000
"""So many inputs are in a packfile at most."""

_CHANGES = "{}: changes while it is read; the next sync takes it"
_FLAWS = (InputError, CorruptError, UnsupportedError)


@record
class PackedInputs:
    """A group of inputs that was packed.

    Attributes
    ----------
    inputs : tuple of NewInput
        Those whose rows are in the packfile; those that cannot be read now are left out.
    failed : tuple of NewInput
        Those that are flawed, which they tell.
    descriptor : Descriptor or None
        The packfile; None: there were no rows.
    rows, text_bytes, output_bytes : int
        Number of rows, size of the inputs, decompressed, and of the packfile.
    """

    inputs: tuple[NewInput, ...] = ()
    failed: tuple[NewInput, ...] = ()
    descriptor: Descriptor | None = None
    rows: int = 0
    text_bytes: int = 0
    output_bytes: int = 0


class InputPacking(Protocol):
    """Who packs inputs."""

    def groups(self, new: Sequence[NewInput]) -> Iterable[Sequence[NewInput]]:
        """Divide inputs into groups, each of one partition."""

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterable[PackedInputs]:
        """Pack groups of inputs; gives the outcomes in the same order."""


class LocalPacking:
    """Packing by this program, one packfile after the other.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    progress : Progress
        Told how many bytes were read.
    options : dict
        Others of :func:`sdb.pack`.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        progress: Callable[[int, int | None], None],
        options: dict[str, Any],
    ) -> None:
        self._root = root
        self._keys = keys
        self._progress = progress
        self._options = options

    def groups(self, new: Sequence[NewInput]) -> Iterator[list[NewInput]]:
        """Give the inputs of each packfile: those of a partition, at most so many."""
        for group in by_partition(new):
            for start in range(0, len(group), MOST_INPUTS):
                yield group[start : start + MOST_INPUTS]

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterator[PackedInputs]:
        """Pack groups of inputs."""
        for group in groups:
            yield pack_inputs(
                self._root, self._keys, group, progress=self._progress, **self._options
            )


def local_packing(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    progress: Callable[[int, int | None], None],
    options: dict[str, Any],
) -> LocalPacking:
    """Return what packs as the options say, or else the definition."""
    known = {"stats": definition.statistics, **options}
    StatisticsChoice.of(known["stats"])
    return LocalPacking(root, keys, progress, known)


def directory_of(one: NewInput) -> str:
    """Give the directory of the partition of an input."""
    return "" if one.partition is None else one.partition.directory


def by_partition(new: Sequence[NewInput]) -> Iterator[list[NewInput]]:
    """Give the inputs of each partition."""
    for _, found in groupby(sorted(new, key=directory_of), directory_of):
        yield list(found)


def pack_inputs(
    root: TableRoot,
    keys: TableKeys,
    group: Sequence[NewInput],
    *,
    mark: Callable[[Sequence[NewInput]], str] | None = None,
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> PackedInputs:
    """Pack inputs of a partition into a packfile.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    group : sequence of NewInput
        The inputs.
    mark : callable, optional
        Gives what the name of the packfile tells besides its content, for the inputs in it.
    progress : Progress
        Told how many bytes were read.
    options
        Others of :func:`sdb.pack`.

    Returns
    -------
    PackedInputs
        The packfile with those that can be read, and what is wrong with others.
    """
    left = list(group)
    bad: list[NewInput] = []
    while left:
        partition = left[0].partition
        try:
            packed = pack_rows(
                root,
                keys,
                [_recognised(one) for one in left],
                directory_of(left[0]),
                commit_id="" if mark is None else mark(left),
                constants=None if partition is None else partition.constants or None,
                progress=progress,
                **options,
            )
        except (*_FLAWS, NotFoundError, AccessError, ConflictError):
            looked = [_looked(one, options) for one in left]
            if not any(one is None or one.flaw for one in looked):
                raise
            bad += [one for one in looked if one is not None and one.flaw]
            left = [one for one in looked if one is not None and not one.flaw]
            continue
        same = [one for one in left if one.listed.store.is_remote or one.listed.is_same()]
        if same == left:
            told = packed.result
            sizes = (told.rows, told.text_bytes, told.output_bytes)
            return PackedInputs(tuple(left), tuple(bad), packed.descriptor, *sizes)
        late = sorted({one.uri for one in left} - {one.uri for one in same})
        if late:
            notes.warn(_CHANGES.format(late[0]))
        left = same
    return PackedInputs((), tuple(bad))


def _recognised(one: NewInput) -> Input:
    rule = one.rule
    hints = None if rule.hints in {None, "null"} else (rule.hints or "").encode()
    try:
        # The rows must be those of the ETag that the table is told.
        version = one.listed.version
        found = recognise(one.listed.place, rule.format or None, hints=hints, version=version)
    except UsageError as error:  # hints that do not fit the content
        raise InputError(error.message) from None
    return replace(found, name=one.uri)


def _looked(one: NewInput, options: dict[str, Any]) -> NewInput | None:
    """Pack an input alone, into nothing, to see what is wrong; None: it cannot be read now."""
    try:
        pack([_recognised(one)], _Nowhere(), **options)
    except NotFoundError:
        return None
    except ConflictError:
        notes.warn(_CHANGES.format(one.uri))
        return None
    except AccessError as error:
        notes.warn(f"left out: {error.message}")
        return None
    except _FLAWS as error:
        return replace(one, flaw=error.message)
    return one


class _Nowhere(io.BytesIO):
    """A file that keeps nothing."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - bytes of any kind
        return len(data)
