"""Inputs as they are named: patterns, folders, tables of Delta and Iceberg, and what each is."""

from __future__ import annotations

import os
from itertools import groupby

from sdb import notes
from sdb.errors import InputError
from sdb.lake.names import LAKES
from sdb.packfile.inputs.heads import Heads
from sdb.packfile.inputs.inputs import recognise_each
from sdb.packfile.read.resolve import resolve
from sdb.records import replace
from sdb.store.aliasing import warn_repeated
from sdb.store.url import store_of
from sdb.times import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TypeAlias

    from sdb.packfile.inputs.inputs import Input, InputSource
    from sdb.times import Times

    Recognised: TypeAlias = "list[Input] | InputError"


def recognise_all(
    sources: Iterable[InputSource],
    format: str | None = None,  # noqa: A002 - the word users know
    *,
    hints: bytes | None = None,
    verify: bool = True,
    hive: bool | None = False,
    times: Times = ALL,
    on_error: str = "fail",
) -> list[Input]:
    """Find out what inputs are, and which ones patterns of S3 stand for.

    * ``sources``: The inputs; ``s3://bucket/2026/*.json.gz`` stands for all objects that it
      matches.
    * ``format, hints, verify``: See :func:`recognise`.
    * ``hive``: Whether folders like ``day=2026-11-01`` in their names are fields of their rows;
      None: they are, and a note says so.
    * ``times``: How their times are read.
    * ``on_error``: What becomes of malformed records. Unless they fail, inputs in no known format
      are left out, with a warning.

    Returns: In the order of `sources`; what a pattern matches is sorted by name.

    Raises
    ------
    NotFoundError
        Nothing matches a pattern; others as :func:`recognise`.
    InputError
        Inputs are in no known format: the first; warnings name the others.
    """
    resolved = _resolved(_with_lakes(sources, format, hints))
    names = [source for source in resolved if isinstance(source, str | os.PathLike)]
    warn_repeated(source for source in names if source != "-")
    recognised: list[Input] = []
    refused: list[InputError] = []
    named: set[int] = set()  # numbers of those that have names
    heads = Heads()

    def recognise(source: InputSource) -> Recognised:
        try:
            each = recognise_each(source, format, hints=hints, verify=verify, heads=heads)
            return list(each)
        except InputError as error:
            if source != error.path:  # a file of an archive, whose others would go, too
                raise
            return error

    for source, inside in zip(resolved, _in_order(recognise, resolved, names), strict=True):
        before = len(recognised)
        if isinstance(inside, InputError):
            refused.append(inside)
        else:
            recognised += inside
        if isinstance(source, str | os.PathLike):
            named.update(range(before, len(recognised)))
    _tell_refused(refused, are_left_out=on_error != "fail" and bool(recognised))
    said: dict[str, Any] = {} if times == ALL else {"times": times}
    said |= {} if on_error == "fail" else {"on_error": on_error}
    recognised = [replace(source, **said) for source in recognised] if said else recognised
    if hive is False or not any("=" in source.name for source in recognised):
        return recognised
    from sdb.packfile.inputs.folders import say_folder_fields, with_folder_fields

    for number in named:
        recognised[number] = with_folder_fields(recognised[number])
        if hive is None and recognised[number].defaults:
            say_folder_fields([recognised[number].name])
    return recognised


def _in_order(
    recognise: Callable[[InputSource], Recognised],
    sources: Sequence[InputSource],
    names: Sequence[str | os.PathLike[str]],
) -> Iterable[Recognised]:
    """Recognise inputs in their order; several at a time if all are names of remote ones."""
    if len(names) < len(sources) or not all(store_of(name).is_remote for name in names):
        return map(recognise, sources)
    from sdb.packfile.read.ahead import in_order

    return in_order(recognise, sources, is_remote=True)


def _resolved(sources: Iterable[InputSource]) -> list[InputSource]:
    """Put what patterns stand for in their place."""
    resolved: list[InputSource] = []
    for is_named, run in groupby(sources, lambda source: isinstance(source, str | os.PathLike)):
        run_sources: list[Any] = list(run)
        resolved += (
            [reference.name for reference in resolve(run_sources, folders=False)]
            if is_named
            else run_sources
        )
    return resolved


def _tell_refused(refused: list[InputError], *, are_left_out: bool) -> None:
    """Name inputs in no known format, and raise the first of them unless they are left out."""
    for error in refused if are_left_out else refused[1:]:
        left_out = "; it is left out" if are_left_out else ""
        notes.warn(f"{error.message}{left_out} ({error.hint})")
    if refused and not are_left_out:
        raise refused[0]


def _with_lakes(
    sources: Iterable[InputSource],
    format: str | None,  # noqa: A002 - the word users know
    hints: bytes | None,
) -> Generator[InputSource]:
    """Yield inputs, with the data files of Delta and Iceberg tables in the place of their names."""
    for source in sources:
        if isinstance(source, str) and source.startswith(LAKES):
            from sdb.packfile.inputs.lake import lake_inputs, named_lake

            name = named_lake(source, format=format, hints=hints)
            if name is not None:
                yield from lake_inputs(name)
                continue
        yield source
