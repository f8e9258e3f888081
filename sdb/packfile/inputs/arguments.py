"""The ``inputs`` argument of programs: paths, URLs, open files, tables and rows, one or many."""

from __future__ import annotations

import os
from itertools import chain, product

from sdb import notes
from sdb.errors import NotFoundError, UsageError, text_of
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.inputs.rowvalues import ROWS, encoded_rows, is_frame, is_row
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Literal, Protocol, TypeAlias, TypeGuard

    from sdb.packfile.inputs.inputs import InputSource
    from sdb.store.base import Location

    class ArrowStream(Protocol):
        """Any object with Arrow data: tables, readers, data frames, relations of DuckDB."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            """Return a capsule with the stream."""

    Rows: TypeAlias = Iterable[Mapping[str, Any]] | Iterable[object]
    Inputs: TypeAlias = InputSource | ArrowStream | Iterable[InputSource | ArrowStream] | Rows
    Nulls: TypeAlias = Literal["null", "missing"]

# What tells that a folder has a table of another system
_TABLES = (
    ("delta", "/_delta_log/", ".json"),
    ("iceberg", "/metadata/", ".metadata.json"),
)


def normalize_inputs(inputs: Inputs, nulls: Nulls = "null") -> list[InputSource]:
    """Return inputs as a list of what can be recognised.

    * ``inputs``: Dicts and dataclasses are rows, and all of them one input; so is a table.
    * ``nulls``: Whether fields of rows and tables that are null are NULL, or MISSING.

    Raises `UsageError` for anything else.
    """
    keep_nulls = keeps_nulls(nulls)
    if (source := _source(inputs, keep_nulls=keep_nulls)) is not None:
        return _without_folders([source])
    if not hasattr(inputs, "__iter__") or isinstance(inputs, bytes) or is_row(inputs):
        raise _not_an_input(inputs)
    everything: Any = inputs
    many: Iterator[Any] = iter(everything)
    first = next(many, None)
    if is_row(first):
        once = not isinstance(inputs, list | tuple)
        rows: Any = chain([first], many) if once else inputs
        source = Input(
            ROWS,
            "ion",
            once=once,
            reads_texts=True,
            source=lambda: encoded_rows(rows, keep_nulls=keep_nulls),
        )
        return [source]
    sources = []
    for item in [] if first is None else [first, *many]:
        source = _source(item, keep_nulls=keep_nulls)
        if source is None:
            raise _not_an_input(item)
        sources.append(source)
    return _without_folders(sources)


def keeps_nulls(nulls: Nulls) -> bool:
    """Return whether nulls are to be written.

    Raises `UsageError` for other words than ``null`` and ``missing``.
    """
    if nulls not in {"null", "missing"}:
        raise UsageError(f"invalid nulls: {nulls!r}", hint="'null' or 'missing'")
    return nulls == "null"


def _source(value: Any, *, keep_nulls: bool) -> InputSource | None:  # noqa: ANN401
    """Return an input that is not made of single rows, or None."""
    if _is_source(value):
        return value
    if hasattr(value, "_as_input"):  # results, packfiles and tables of `sdb`
        own: InputSource = value._as_input()  # noqa: SLF001
        return own
    if not is_frame(value):
        return None
    from sdb.packfile.inputs.frames import is_read_once, rows_of

    return Input(
        ROWS,
        "ion",
        once=is_read_once(value),
        source=lambda: rows_of(value, keep_nulls=keep_nulls),
    )


def _without_folders(inputs: Iterable[InputSource]) -> list[InputSource]:
    """Put the files of folders, at any depth, in their place."""
    files: list[InputSource] = []
    for source in inputs:
        if (
            isinstance(source, str | os.PathLike)
            and source != "-"
            and store_of(source).is_folder(source)
        ):
            files += folder_files(source)
        else:
            files.append(source)
    return files


def folder_files(folder: Location) -> list[str]:
    """List the files of a folder, at any depth, sorted; names with . or _ in front hide theirs.

    Raises `NotFoundError` if the folder has no files; `UsageError` if it has tables, whose files
    are not all rows that count.
    """
    from glob import escape

    path = text_of(folder)
    above = os.fspath(folder).rstrip("/") + "/"
    entries = store_of(folder).find(f"{escape(above)}**/*")
    for entry, (kind, log, ending) in product(entries, _TABLES):
        table, is_inside, name = entry.location.rpartition(log)
        if is_inside and name.endswith(ending):
            message = f"{path}: {table} is a table of {kind.title()}, not a folder of files"
            raise UsageError(message, hint=f"{kind}:{table} reads its newest version", path=path)
    names = [entry.location for entry in entries if not _is_hidden(entry.location[len(above) :])]
    if hidden := len(entries) - len(names):
        files = "1 file" if hidden == 1 else f"{hidden:,} files"
        notes.warn(f"{path}: left out {files} with . or _ in front of a name")
    if not names:
        raise NotFoundError(f"{path}: the folder has no files", path=path)
    return names


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def locations(inputs: Iterable[InputSource]) -> list[Location | int]:
    """Return paths and URLs of inputs, and the descriptors of open files; not those of rows."""
    places: list[Location | int] = []
    for source in inputs:
        if isinstance(source, str | os.PathLike):
            places.append(source)
        elif not isinstance(source, Input):
            try:
                places.append(source.fileno())
            except (OSError, AttributeError):
                continue  # a file in memory
    return places


def _is_source(source: object) -> TypeGuard[InputSource]:
    return isinstance(source, str | os.PathLike | Input) or hasattr(source, "read")


def _not_an_input(value: object) -> UsageError:
    return UsageError(
        f"an input cannot be a {type(value).__name__}",
        hint="a path, a URL, a binary file, a data frame or table of Arrow, a list of these, "
        "or a list of rows as dicts",
    )
