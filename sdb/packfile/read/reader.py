"""Packfiles that are open for reading."""

from __future__ import annotations

from itertools import islice

from sdb import bounds, errors, instants, ion, sizes
from sdb.packfile.prune import unknownfields
from sdb.packfile.prune.selection import time_path
from sdb.packfile.read.blocks import BlockReader
from sdb.packfile.trailer.read import read_trailer
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any, Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.choices import RowChoice, SearchChoice
    from sdb.packfile.read.fields import FieldDescription
    from sdb.packfile.read.fieldstats import Statistics
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.timeindex import TimeIndex
    from sdb.store.base import Location


class Packfile(BlockReader):
    """A packfile, open for reading. Use :func:`sdb.open` to get one.

    Opening reads only the trailer; blocks are read when rows are.

    Examples
    --------
    >>> with sdb.open("events.zion") as packfile:
    ...     rows = list(packfile.rows(fields=["type"], since="2015-01-01T01:05", limit=10))
    ...     table = packfile.to_arrow(fields=["id", "type"])
    >>> rows[0], table.num_rows
    ({'type': 'WatchEvent'}, 1000)
    """

    @property
    def time_indexes(self) -> dict[Path, TimeIndex]:
        """The time index of each indexed path."""
        return dict(self.trailer.sparse.indices)

    @property
    def constants(self) -> dict[str, object]:
        """Fields that have the same value in every row."""
        return dict(self.trailer.sparse.constants)

    @property
    def fields(self) -> tuple[FieldDescription, ...]:
        """The fields with types and numbers of rows, as far as the trailer has them."""
        from sdb.packfile.read.fields import inventory

        return inventory([(self.path, self.trailer)]).fields

    def field_stats(self, *, match: str | None = None, threads: int | None = None) -> Statistics:
        """Summarise the values of the fields, see :func:`sdb.field_stats`."""
        from sdb.packfile.read.fieldstats import scan

        bounds.THREADS.check(threads)
        statistics = scan([self], threads=threads)
        return statistics if match is None else statistics.matching(match)

    def time_index(self, field: str | Sequence[str] | None = None) -> TimeIndex:
        """Return the time index of a path.

        Parameters
        ----------
        field : str or sequence of str, optional
            The path, as in ``"payload.pushed_at"``; without it the obvious one.

        Returns
        -------
        TimeIndex
            The index.

        Raises
        ------
        NotFoundError
            The path is not indexed.
        UsageError
            No path is given, and there is not one obvious path.
        """
        path = time_path(self.trailer, field)
        try:
            return self.trailer.sparse.indices[path]
        except KeyError:
            raise errors.NotFoundError(
                f"{self.path} has no time index for {'.'.join(path)}", path=self.path
            ) from None

    def rows(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        blocks: str | Sequence[int] | None = None,
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts, one block at a time.

        Strings and symbols come as `str`, timestamps as aware datetimes.

        Parameters
        ----------
        fields : sequence of str, optional
            Names of the top-level fields to decode; all if not given.
        since, until : str or datetime, optional
            Only rows with a time from `since` on and before `until`.
        time_field : str or sequence of str, optional
            Path of that time; without it the obvious one.
        blocks : str or sequence of int, optional
            Only these blocks, as in ``"0,3-5"``.
        limit : int, optional
            Maximum number of rows.

        Yields
        ------
        dict
            A row.

        Raises
        ------
        CorruptError
            A block that cannot be decoded.
        UsageError, NotFoundError
            See :func:`sdb.packfile.prune.selection.select`.
        """
        bounds.ROWS.check(limit)
        selection = self.select(since=since, until=until, time_field=time_field, blocks=blocks)
        unknownfields.warn_unknown_fields([(self.path, self.trailer)], fields, time_field)
        return islice(self.selected_rows(selection, fields), limit)

    def selected_rows(
        self, selection: Selection, fields: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a selection; see :meth:`rows`."""
        from sdb import _core
        from sdb.packfile.read.ahead import block_readers

        algorithm, align_bytes = self.trailer.algorithm, self.trailer.align_bytes
        names = None if fields is None else list(fields)
        (read,) = block_readers([(self, selection.blocks)], may_stop=True)
        for number in selection.blocks:
            block = read(number)
            try:
                yield from _core.rows(
                    block,
                    algorithm,
                    align_bytes,
                    names,
                    selection.time_filter,
                    matcher=selection.matcher,
                    verify=self._verify,
                )
            except errors.CorruptError as error:
                raise self.blame(error, number) from None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over all rows."""
        return self.rows()

    def __len__(self) -> int:
        """Return the number of rows, which most trailers have; else rows are counted."""
        rows = self.trailer.rows
        return sum(1 for _ in self.rows(fields=[])) if rows is None else rows

    def __bool__(self) -> bool:
        """Return True: a packfile without rows is a packfile."""
        return True

    def to_arrow(
        self,
        *,
        fields: Sequence[str] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        time_field: str | Sequence[str] | None = None,
        blocks: str | Sequence[int] | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows into an Arrow table. The arguments are those of :meth:`rows`.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        from sdb.packfile.read import arrow

        bounds.ROWS.check(limit)
        selection = self.select(since=since, until=until, time_field=time_field, blocks=blocks)
        unknownfields.warn_unknown_fields([(self.path, self.trailer)], fields, time_field)
        return arrow.table(self, selection, fields=fields, limit=limit)

    def head(self, rows: int = 10) -> list[dict[str, Any]]:
        """Read the first rows; see :meth:`rows`."""
        return list(self.rows(limit=rows))

    def tail(self, rows: int = 10) -> list[dict[str, Any]]:
        """Read the last rows, in the order of the file; no block before them is decoded."""
        from sdb.packfile.read.tailscan import last

        return last(self.select(), rows, self.selected_rows)

    def grep(
        self,
        patterns: str | Iterable[str],
        **choice: Unpack[SearchChoice],
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the rows in which a text matches.

        Parameters
        ----------
        patterns : str or iterable of str
            Regular expressions, any of which may match.
        fields, fixed, ignore_case, invert, since, until, time_field, limit, strict
            As in :func:`sdb.grep`.
        """
        from sdb.packfile.read.search import search

        asked = search(patterns, **choice)
        files = [(self.path, self.trailer)]
        unknownfields.warn_unknown_fields(
            files, asked.fields, asked.time_field, strict=asked.strict
        )
        return islice(self.selected_rows(asked.selection(self)), asked.limit)

    def to_polars(self, **choice: Unpack[RowChoice]) -> pl.DataFrame:
        """Read rows into a data frame of polars.

        Parameters
        ----------
        fields, since, until, time_field, blocks, limit
            As in :meth:`rows`.
        """
        from sdb.packfile.read.dataframes import as_polars

        return as_polars(self.to_arrow(**choice))

    def to_pandas(self, **choice: Unpack[RowChoice]) -> pd.DataFrame:
        """Read rows into a data frame of pandas.

        Parameters
        ----------
        fields, since, until, time_field, blocks, limit
            As in :meth:`rows`.
        """
        from sdb.packfile.read.dataframes import as_pandas

        return as_pandas(self.to_arrow(**choice))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand all rows to any library that speaks the Arrow C stream interface."""
        from sdb.packfile.read.arrow import stream as begin

        stream = begin(self, self.select())
        return stream.__arrow_c_stream__(requested_schema)

    def _as_input(self) -> str:
        """Return the packfile as an input of :func:`sdb.pack` and others."""
        return self.path

    def __repr__(self) -> str:
        """Show the path and what it holds."""
        rows = "rows not counted" if self.trailer.rows is None else f"{self.trailer.rows:,} rows"
        blocks = f"{len(self.blocks):,} block{'' if len(self.blocks) == 1 else 's'}"
        return f"<Packfile {self.path}: {rows} in {blocks}, {sizes.human(self.size_bytes)}>"

    def _repr_html_(self) -> str:
        return _facts_table(self)


def open_packfile(
    location: Location, *, verify: bool = True, name: str = "", whole_bytes: int = 0
) -> Packfile:
    """Open the packfile at a location; see :func:`sdb.packfile.read.resolve.open_one`.

    * ``verify``: Whether blocks with a wrong checksum or digest are errors. Turn it off only to
      rescue what is left of a damaged file: values may be wrong then.
    * ``name``: What it is called, if not by its location.
    * ``whole_bytes``: Its size, if all of it is wanted at once; on S3 that takes one request.

    Returns: The open file; close it, or use it in a ``with`` statement.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        The file cannot be opened.
    CorruptError
        It is no packfile, or a damaged one.

    Examples
    --------
    >>> sdb.open("events.zion").trailer.algorithm      # doctest: +SKIP
    'zion+zstd'
    """
    path = name or errors.text_of(location)
    reader = url.open_read(location, head_bytes=whole_bytes)
    try:
        return Packfile(path, reader, read_trailer(reader, path), verify=verify)
    except BaseException:
        reader.close()
        raise


def _facts_table(pack: Packfile) -> str:
    """Return the facts of a packfile as HTML, for notebooks."""
    import html

    trailer = pack.trailer
    facts = [
        ("rows", "not counted" if trailer.rows is None else f"{trailer.rows:,}"),
        ("blocks", f"{len(trailer.blocks):,} of {trailer.chunks:,} chunks"),
        ("size", f"{sizes.human(pack.size_bytes)} ({trailer.packed_as})"),
        ("decompressed", sizes.human(trailer.decompressed_bytes)),
    ]
    facts += [(name, _fact_text(value)) for name, value in trailer.sparse.constants.items()]
    facts += [
        (".".join(path), f"{instants.text(index.first_us)} to {instants.text(index.last_us)}")
        for path, index in trailer.sparse.indices.items()
    ]
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<table><caption>{html.escape(pack.path)}</caption><tbody>{rows}</tbody></table>"


def _fact_text(value: object) -> str:
    us = ion.instant_to_us(value)
    return instants.text(us) if us is not None else str(value)
