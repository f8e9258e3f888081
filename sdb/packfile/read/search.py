"""Searches: patterns, and where in packfiles they are looked for."""

from __future__ import annotations

from sdb import bounds
from sdb.packfile.prune.ngrams import wanted
from sdb.packfile.prune.predicate import Anywhere, Either
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from typing import Any

    from sdb._core import Matcher
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath


def search(
    patterns: str | Iterable[str],
    *,
    fields: Sequence[str] | None = None,
    fixed: bool = False,
    ignore_case: bool = False,
    invert: bool = False,
    **choice: Any,  # noqa: ANN401 - attributes of `Search`
) -> Search:
    """Prepare a search; see :func:`sdb.packfile.export.grep.grep` for what it takes."""
    from sdb import _core

    names = None if fields is None else tuple(fields)
    texts = [patterns] if isinstance(patterns, str) else list(patterns)
    matcher = _core.Matcher(
        texts,
        fixed=fixed,
        ignore_case=ignore_case,
        invert=invert,
        fields=None if names is None else list(names),
    )
    predicate: Predicate = Anywhere()
    if not invert:
        paths: list[FieldPath] = [()] if names is None else [(name,) for name in names]
        each = [
            wanted(path, texts, fixed=fixed, ignore_case=ignore_case, is_deep=True)
            for path in paths
        ]
        predicate = each[0] if len(each) == 1 else Either(tuple(each))
    asked = Search(matcher, predicate, names, **choice)
    bounds.ROWS.check(asked.limit)
    bounds.THREADS.check(asked.threads)
    return asked


@record
class Search:
    """A search: patterns, and where in each packfile they are looked for."""

    matcher: Matcher  # what rows must have
    predicate: Predicate  # what a block must have for any such row
    fields: tuple[str, ...] | None = None  # the top-level fields that are searched; None: all
    # Times that the rows must have
    since: str | datetime | None = None
    until: str | datetime | None = None
    time_field: str | Sequence[str] | None = None  # path of that time
    limit: int | None = None  # maximum number of rows of all files together
    threads: int | None = None  # how many threads decode; None: one for each processor
    strict: bool = False  # whether a field that no row has is an error

    def selection(self, pack: Packfile) -> Selection:
        """Choose the blocks of a packfile, and what their rows must have."""
        chosen = pack.select(
            since=self.since,
            until=self.until,
            time_field=self.time_field,
            predicate=self.predicate,
        )
        return replace(chosen, matcher=self.matcher)
