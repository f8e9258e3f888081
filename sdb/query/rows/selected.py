"""Rows of packfiles and tables for which a condition of SQL is TRUE: a query."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing, contextmanager
from itertools import chain

from sdb import bounds
from sdb.errors import UsageError
from sdb.packfile.export.unpack import ChosenRows
from sdb.packfile.prune.predicate import Anywhere
from sdb.packfile.prune.unknownfields import is_absent, warn_unknown_fields
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.query.analyze.params import bind
from sdb.query.catalog.dataset import QueryRequest, TableName
from sdb.query.catalog.locations import database_and_table, may_be_stored
from sdb.query.catalog.ondemand import packed_reference
from sdb.query.catalog.period import period
from sdb.query.catalog.storedtable import TableSource
from sdb.query.catalog.tablefiles import tables_fitting
from sdb.query.catalog.tablescan import IndexSteps
from sdb.query.run.api import run
from sdb.query.syntax.parser import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Unpack

    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.choices import RowChoice
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.query.result.result import Result
    from sdb.store.base import Location
    from sdb.table.schema.columns import TableSchema

_ANYWHERE = Anywhere()
"""Formats that tell times from strings."""


@contextmanager
def selected(
    paths: Location | Iterable[Location],
    where: str | None,
    *,
    root: str = "",
    threads: int | None = None,
    typed: bool = True,
    strict: bool = False,
    reading: RawReading | None = None,
    **choice: Unpack[RowChoice],
) -> Iterator[Result]:
    """Select rows of packfiles and tables.

    * ``paths``: Paths, URLs, patterns and folders, and names of tables below the root. The rows of
      one follow on those of the other.
    * ``where``: The condition; None: all rows.
    * ``root``: Folder or URL where relative paths start; the current folder when empty.
    * ``threads, typed``: See :func:`sdb.query.run.api.sql`.
    * ``strict``: Whether a field that no row has is an error; else a warning.
    * ``reading``: How files are read that are no packfiles; None: they are refused.
    * ``choice``: Which rows, and of them which fields; not by blocks.

    Yields: The rows, which can be read as long as the context lasts.
    Raises `QueryError` if the condition is malformed; `NotFoundError`, `AccessError`, `UsageError`
    or `CorruptError` if a packfile cannot be opened, or a choice makes no sense.
    """
    chosen = ChosenRows(**choice)
    bounds.ROWS.check(chosen.limit)
    bounds.THREADS.check(threads)
    times = period(chosen.since, chosen.until, chosen.time_field)
    requested = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    words = [os.fspath(path) for path in requested]
    names = list(chain.from_iterable(tables_fitting(word, root) or [word] for word in words))
    if not names:
        raise UsageError("no packfile to unpack")
    with ExitStack() as stack:
        opened: dict[str, list[Packfile]] = {}
        for name in dict.fromkeys(names):
            if not is_table(name, root):
                files = resolve([name], root=root or None)
                opened[name] = [stack.enter_context(_opened_file(file, reading)) for file in files]
        known: dict[tuple[str, ...], TableSource] = {
            (name,): OpenedSource(name, packs) for name, packs in opened.items()
        }
        trailers = [(pack.path, pack.trailer) for packs in opened.values() for pack in packs]
        if len(opened) == len(set(names)):
            warn_unknown_fields(trailers, chosen.fields, None, strict=strict)
        else:  # fields of tables the query tells of
            trailers = []
        items = None if chosen.fields is None else items_of(chosen.fields, trailers)
        text = _query(names, where, items, chosen.limit)
        result = run(
            QueryRequest(
                bind(parse(text), {}),
                root=root,
                threads=threads,
                typed=typed,
                strict=strict,
                period=times,
                known=known,
            )
        )
        yield stack.enter_context(result)


def _opened_file(file: PackfileReference, reading: RawReading | None) -> Packfile:
    if reading is None:
        return open_packfile(file.location)
    return packed_reference(file, reading).open()


def last_selected(
    schemas: Mapping[str, TableSchema],
    references: Sequence[PackfileReference],
    rows: int,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the columns of tables with schemas, and their last rows by these.

    * ``schemas``: The schemas, by the names of the references.
    * ``references``: The packfiles; the last rows are those of the last one.
    * ``fields``: Names of the columns; all if not given.

    Raises `UsageError` if there is no such column.
    """
    from sdb import instants
    from sdb.packfile.read.tailscan import last
    from sdb.table.format.keys import era_of
    from sdb.table.schema.conform import shown_row
    from sdb.table.schema.names import absent, named, stored_path

    since, until = instants.fixed(since), instants.fixed(until)
    names = [column.name for schema in schemas.values() for column in schema.columns]
    names = list(dict.fromkeys(names)) if fields is None else list(fields)
    tail: list[dict[str, Any]] = []
    for reference in reversed(references):
        if len(tail) >= rows:
            break
        schema = schemas.get(reference.name)
        path = time_field
        if schema is not None:
            for name in fields or ():
                if named(schema.columns, name) is None:
                    raise absent(schema.columns, (name,))
            if time_field is not None:
                split = time_field.split(".") if isinstance(time_field, str) else time_field
                path = stored_path(schema, tuple(split))
        with closing(reference.open()) as pack:
            chosen = pack.select(since=since, until=until, time_field=path)
            stored = last(chosen, rows - len(tail), pack.selected_rows)
            era = era_of(getattr(pack, "key", ""))
            shown = stored if schema is None else [shown_row(schema, row, era) for row in stored]
            tail[:0] = [{name: row[name] for name in names if name in row} for row in shown]
    return names, tail


def is_table(name: str, root: str = "") -> bool:
    """Return whether a name may be that of a table below a root, and not that of a file."""
    names = database_and_table(TableName("file", (name,), (0, 0)), root)
    return names is not None and may_be_stored(root, *names)


def _query(names: Iterable[str], where: str | None, items: str | None, limit: int | None) -> str:
    """Write a query; the condition has separate lines, so that a comment in it ends there."""
    tables = " ++ ".join(f"read_file({quoted_text(name)})" for name in names)
    query = f"SELECT {items or '*'} FROM {tables}"  # noqa: S608
    query = query if where is None else f"{query} WHERE (\n{where}\n)"
    return query if limit is None else f"{query} LIMIT {limit}"


def items_of(fields: Iterable[str], files: Sequence[tuple[str, Trailer]]) -> str:
    """Write the items of SELECT; of names that no row has users were told already."""
    return ", ".join(
        f"MISSING AS {_quoted(name)}"
        if files and all(is_absent(trailer, name) for _, trailer in files)
        else _quoted(name)
        for name in dict.fromkeys(fields)
    )


def quoted_text(path: str) -> str:
    """Write a text as queries have it."""
    return "'" + path.replace("\\", "\\\\").replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class OpenedSource(TableSource):
    """Packfiles that are open, as a table for queries."""

    def __init__(self, name: str, packs: list[Packfile], schema: TableSchema | None = None) -> None:
        self._name = name
        self._packs = packs
        self._schema = schema

    @property
    def schema(self) -> TableSchema | None:
        """The schema of their rows, if one was given."""
        return self._schema

    @property
    def name(self) -> str:
        """The words of the user."""
        return self._name

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Return the packfiles."""
        del test
        return self._packs

    @property
    def is_whole(self) -> bool:
        """True: all of them are looked at."""
        return True

    def steps(self, test: Predicate) -> IndexSteps:
        """Report that no index rules out any."""
        del test
        return IndexSteps(0, 0, len(self._packs), len(self._packs))

    def trailers(self) -> list[tuple[str, Trailer]]:
        """Return their trailers."""
        return [(pack.path, pack.trailer) for pack in self._packs]

    def close(self) -> None:
        """Leave them open: who has opened them closes them."""
