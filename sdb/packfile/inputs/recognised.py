"""Inputs as they are named: patterns, folders, tables of Delta and Iceberg, and what each is."""

from __future__ import annotations

import os
from itertools import groupby

from sdb import notes
from sdb.lake.names import LAKES
from sdb.packfile.inputs.heads import Heads
from sdb.packfile.inputs.inputs import NOT_READ, recognise_each
from sdb.packfile.read.resolve import resolve
from sdb.records import replace
from sdb.store.aliasing import warn_repeated
from sdb.store.url import store_of
from sdb.times import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TypeAlias

    from sdb.errors import SdbError
    from sdb.packfile.inputs.inputs import Input, InputSource
    from sdb.times import Times

    Understood: TypeAlias = tuple[list[Input], list[SdbError]]

_KINDS = {"rows": "parquet"}  # what parsers of other names read


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
    * ``on_error``: What becomes of malformed records. Unless they fail, inputs that are not read
      are left out, with a warning.

    Returns: In the order of `sources`; what a pattern matches is sorted by name.
    Raises `NotFoundError` if nothing matches a pattern, and other errors as :func:`recognise` does;
    `InputError`, `CorruptError` or `UnsupportedError` if inputs are not read: the first reason;
    warnings name those with other reasons.
    """
    resolved = _resolved(_with_lakes(sources, format, hints))
    names = [source for source in resolved if isinstance(source, str | os.PathLike)]
    warn_repeated(source for source in names if source != "-")
    recognised: list[Input] = []
    refused: list[SdbError] = []
    named: set[int] = set()  # numbers of those that have names
    heads = Heads()

    def recognise(source: InputSource) -> Understood:
        return understood(source, format, hints=hints, verify=verify, heads=heads)

    for source, inside in zip(resolved, _in_order(recognise, resolved, names), strict=True):
        before = len(recognised)
        recognised += inside[0]
        refused += inside[1]
        if isinstance(source, str | os.PathLike):
            named.update(range(before, len(recognised)))
    check_refused(refused, recognised, on_error)
    if refused:
        notes.tell(f"reading the other {_kinds(recognised)}", is_detail=False)
    elif len({source.is_packfile for source in recognised}) > 1:
        # A folder may have packfiles of the very rows that it has as text, too.
        notes.tell(f"reading {_kinds(recognised)}", is_detail=False)
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
    recognise: Callable[[InputSource], Understood],
    sources: Sequence[InputSource],
    names: Sequence[str | os.PathLike[str]],
) -> Iterable[Understood]:
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


def understood(
    source: InputSource,
    format: str | None,  # noqa: A002 - the word users know
    **how: Any,  # noqa: ANN401 - as the function has it
) -> Understood:
    """Find out what an input is, or the files of an archive; see :func:`recognise_each`.

    Returns: What is read, and the errors of what is not.
    """
    refused: list[SdbError] = []
    inside: list[Input] = []
    try:
        inside += recognise_each(source, format, refused=refused, **how)
    except NOT_READ as error:
        refused.append(error)
    return inside, refused


def check_refused(
    refused: Sequence[SdbError], read: Sequence[Input], on_error: str, *, may_be_none: bool = False
) -> None:
    """Warn of inputs that are not read, or raise the error of the first one.

    * ``read``: The inputs that are read.
    * ``on_error``: ``fail`` raises; otherwise they are left out.
    * ``may_be_none``: Whether all may be left out.

    Raises `SdbError` if with the names of all inputs that are not read for the same reason.
    """
    if not refused:
        return
    reasons: dict[str, list[SdbError]] = {}
    for error in refused:
        reasons.setdefault(error.message.removeprefix(f"{error.path}: "), []).append(error)
    texts = [
        errors[0].message if len(errors) == 1 else f"{_names(errors)}: {reason}"
        for reason, errors in reasons.items()
    ]
    are_left_out = on_error != "fail" and (bool(read) or may_be_none)
    for text in texts if are_left_out else texts[1:]:
        notes.warn(f"{text}; left out" if are_left_out else text)
    if not are_left_out:
        error = refused[0]
        error.message = texts[0]
        if read:
            hint = (error.hint or "").partition("; ")[0]
            error.hint = f"--on-error skip reads the other {_kinds(read)}; {hint}"
        raise error


def _names(errors: Sequence[SdbError]) -> str:
    return notes.listed([error.path or error.message.partition(": ")[0] for error in errors])


def _kinds(read: Sequence[Input]) -> str:
    """Return how many inputs there are, and of which formats.

    >>> from sdb.packfile.inputs.inputs import Input
    >>> _kinds([Input("a", "json", source=iter), Input("b", "json", size_bytes=0, source=iter)])
    '2 files: 1 json, 1 empty'
    """
    counts: dict[str, int] = {}
    for source in read:
        kind = "packfile" if source.is_packfile else source.format.partition(":")[0]
        shown = "empty" if source.size_bytes == 0 else source.log or _KINDS.get(kind, kind)
        counts[shown] = counts.get(shown, 0) + 1
    files = "1 file" if len(read) == 1 else f"{len(read):,} files"
    return f"{files}: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}"


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
