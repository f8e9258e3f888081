"""ETags of answers, from what the plan of a query leaves to be read.

A tag covers whatever the rows depend on: the statement with its parameters, stars and times written
out, the format, the version of this program, and of each scan the packfiles and block ranges that
are left, in their order. A packfile is known by its key, ETag and size: no other content ever has
them. The other packfiles of a table count where the plan has looked at them: in the columns that
stars stand for, in the field that times are in, in warnings, and in notes where an answer has them.
"""

from __future__ import annotations

import hashlib
import json
import time
from base64 import b32encode

from sdb.lru import LruCache
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.run.api import PlannedQuery
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.versions import THROUGH
from sdb.records import record, replace
from sdb.serve.hiding import Hiding
from sdb.serve.problems import HttpError
from sdb.store.url import store_of
from sdb.table.format.keys import joined
from sdb.table.packfiles.lazy import TablePackfile
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.run.api import QueryPlan
    from sdb.serve.access import Rights
    from sdb.serve.queries import AskedQuery
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings
    from sdb.table.catalog.handle import TableHandle

_LETTERS = 32
_FORMAT = 4
"""Another number when answers of the same rows become other bytes."""


@record
class Tag:
    """Facts of an answer before a row is read."""

    text: str  # with quotes around it; empty: the answer has none
    why: str  # why it has none
    versions: tuple[str, ...]  # the versions that it is of, as ``web.gha@57``
    is_pinned: bool  # whether all tables are named by the numbers of their versions
    warnings: list[str]  # what may mislead
    blocks: int  # to read
    all_blocks: int
    scan_bytes: int  # of these blocks, decompressed
    hiding: Hiding  # what answers do not tell
    # The versions of the indexes that it stays with, by location; None: it depends on more
    indexes: dict[str, str | None] | None
    query: PlannedQuery | None  # which runs; None where a tag was kept

    def close(self) -> None:
        """Close the tables of its query, if that does not run."""
        if self.query is not None:
            self.query.close()


_SETTLED_SECONDS = 0.1
"""An index that was written this long ago has a version that no later one has.

Files are told apart by their times, which tick every few milliseconds, and by their numbers, which
are used again.
"""


def _request_of(query: AskedQuery, settings: ServerSettings, running: Running) -> QueryRequest:
    return QueryRequest(
        query.statement,
        root=settings.root,
        period=query.period,
        at=query.at,
        now_us=query.now_us,
        threads=settings.query_threads,
        memory_bytes=settings.query_memory_bytes,
        typed=query.form.is_typed,
        visible=running.rights.reads,
        cancellation=running.cancellation,
    )


def tag_of(query: AskedQuery, settings: ServerSettings, running: Running) -> Tag:
    """Plan a query, and return the tag of its answer.

    Raises `SdbError` if the query has no meaning, or names what is not there.
    """
    wants_notes = query.form.has_notes or query.wants_end
    planned = PlannedQuery(_request_of(query, settings, running), with_notes=wants_notes)
    try:
        return _tag_of(query, settings, running, planned)
    except BaseException:
        planned.close()
        raise


def _tag_of(
    query: AskedQuery, settings: ServerSettings, running: Running, planned: PlannedQuery
) -> Tag:
    plan = planned.plan
    parts = [part for table in plan.tables for part in table.parts]
    _check_explained(query, plan, running.rights)
    why = _reason(query, plan, parts)
    hiding = _hiding(plan, settings.root, running.rights)
    rows = running.limits.rows or settings.rows
    text = "" if why else f'W/"{digest(query, plan, rows, hiding)}"'
    return Tag(
        text,
        why,
        _versions(plan, running.rights),
        _is_pinned(query, plan),
        hiding.texts(plan.warnings),
        sum(part.block_count for part in parts),
        sum(part.pack.block_count for part in parts),
        sum(part.decompressed_bytes for part in parts),
        hiding,
        _indexes(query, plan),
        planned,
    )


def _hiding(plan: QueryPlan, root: str, rights: Rights) -> Hiding:
    """Return what an answer does not tell: tables that only a view or a stored query may read."""
    views = [(used.view.database, used.view.view) for used in plan.views]
    pairs = {*views, *((database, table) for database, table, _ in plan.opened)}
    hidden = tuple(sorted(pair for pair in pairs if not rights.knows(*pair)))
    known = [joined(database, view) for database, view in views if rights.knows(database, view)]
    is_stored = rights.asker is not None and not rights.asker.is_admin and bool(rights.asker.name)
    instead = known[0] if known else "what the query reads"
    return Hiding(root, hidden, rights.knows, instead, hides_query=is_stored)


def _check_explained(query: AskedQuery, plan: QueryPlan, rights: Rights) -> None:
    """Check that a plan that is asked for shows no table which only a view may read.

    Raises `HttpError` if it does.
    """
    if query.statement.explain is not None and plan.views:
        hidden = [pair for *pair, _ in plan.opened if not rights.reads(*pair)]
        if hidden:
            what = "the plan shows tables below a view, which the token may not read"
            raise HttpError(403, what, code="forbidden", hint="run the query without EXPLAIN")


def _versions(plan: QueryPlan, rights: Rights) -> tuple[str, ...]:
    """Return the versions of tables and views that an answer is of, as far as they may be seen."""
    names = {
        _version(handle)
        for (database, table, _), handle in plan.opened.items()
        if handle and rights.knows(database, table)
    }
    names |= {
        f"{used.view.name}@{used.version.version}"
        for used in plan.views
        if rights.knows(used.view.database, used.view.view)
    }
    return tuple(sorted(names - {""}))


def _is_pinned(query: AskedQuery, plan: QueryPlan) -> bool:
    """Return whether nothing but tables is read, all named by the numbers of their versions."""
    if plan.views or not plan.opened:
        return False
    return all(_is_number(at or query.at) for _, _, at in plan.opened)


def digest(query: AskedQuery, plan: QueryPlan, rows: int, hiding: Hiding) -> str:
    """Return the letters of a tag.

    * ``rows``: How many rows at most are in answers that are bounded.
    * ``hiding``: What notes in the answer do not tell.
    """
    import duckdb

    hasher = hashlib.sha256()
    form = [query.form.name, query.wants_end, rows if query.form.is_bounded else None]
    if query.form.name == "html":  # the page shows the query as it was written
        form.append(query.statement.text)
    engine = [_FORMAT, VERSION, duckdb.__version__]
    head = [*engine, *form, plan.text, query.at, plan.warnings, plan.notes, *hiding.tables]
    hasher.update(json.dumps(head).encode("utf-8", "surrogatepass"))
    if hiding.tables:  # else who guesses which blocks are left could prove it by the tag
        for handle in plan.opened.values():
            hasher.update(b"" if handle is None else handle.data)
    for table in plan.tables:
        hasher.update(b"\0table\0" + repr((table.name, table.times)).encode("utf-8", "replace"))
        for part in table.parts:
            if part.intervals:
                for piece in _identity(part):
                    hasher.update(piece)
    return b32encode(hasher.digest()).decode().lower()[:_LETTERS]


def _identity(part: PackfileScan) -> Iterator[bytes]:
    """Iterate over what is the same as long as the rows of a part of a packfile are."""
    pack = part.pack
    assert isinstance(pack, TablePackfile)  # noqa: S101 - the others have no tag
    descriptor = pack.descriptor
    facts = (descriptor.key, descriptor.etag, descriptor.size_bytes, part.intervals)
    yield b"\0part\0" + repr(facts).encode("utf-8", "replace")


def _reason(query: AskedQuery, plan: QueryPlan, parts: list[PackfileScan]) -> str:
    """Return why an answer has no tag; empty: it has one."""
    if not query.is_now_set and (query.counts or plan.depends_on_now):
        return "it depends on the present: ask with now="
    nodes = visitor.nodes(plan.statement)
    if any(isinstance(node, ast.Select) and node.sample is not None for node in nodes):
        return "its rows are chosen by chance"
    if query.statement.explain is not None or query.statement.described is not None:
        return "it tells of what is stored, not of rows"
    if any(not isinstance(part.pack, TablePackfile) for part in parts):
        return "it reads a table about tables"
    return ""


def _indexes(query: AskedQuery, plan: QueryPlan) -> dict[str, str | None] | None:
    """Return the indexes that say all of what a plan depends on; None: other objects do too.

    Those are transactions that are in an index, versions other than the newest, and the lists of
    tables that patterns are compared with.
    """
    nodes = visitor.nodes(plan.statement)
    if any(isinstance(node, ast.CallTable) and node.name != THROUGH for node in nodes):
        return None
    versions: dict[str, str | None] = {}
    for used in plan.views:  # a table goes before a view of its name
        view = used.view
        versions |= {view.location: view.read_version, view.table_location: view.table_version}
    views = {(used.view.database, used.view.view) for used in plan.views}
    for (database, table, at), handle in plan.opened.items():
        if handle is None and (database, table) in views:
            continue
        if handle is None or at or query.at:
            return None
        state = handle.state
        if handle.joint is not None or (state is not None and state.transaction):
            return None
        versions[handle.root.place(handle.keys.index)] = handle.reader.version
    known = [location for location, version in versions.items() if version is not None]
    return versions if known and all(map(_is_settled, known)) else None


def _is_settled(location: str) -> bool:
    """Return whether an index was written so long ago that its version says all."""
    store = store_of(location)
    if store.is_remote:
        return True
    entry = store.head(location)
    return entry is not None and time.time() - entry.modified_us / 1e6 > _SETTLED_SECONDS


def _is_number(at: tuple[str, str | int] | str | None) -> bool:
    """Return whether a version is named by its number, which never moves."""
    kind, value = at if isinstance(at, tuple) else ("ANY", at)
    return kind in {"ANY", "VERSION"} and str(value).isdigit()


def _version(handle: TableHandle) -> str:
    state = handle.state
    return "" if state is None else f"{handle.name}@{state.version}"


def is_current(tag: Tag) -> bool:
    """Return whether the indexes are those that a tag is of: a look at each, over a network too."""
    return tag.indexes is not None and all(
        store_of(location).version(location) == version for location, version in tag.indexes.items()
    )


class TagCache:
    """Tags of queries that were asked before, as long as the tables that they name stay.

    Planning takes milliseconds, a look at the indexes of its tables much less. Only tables whose
    newest versions are named, and not in a transaction, are known again by their indexes.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._known: LruCache[str, Tag] = LruCache(most_entries=most)

    def get(self, key: str) -> Tag | None:
        """Return the tag that a query had; see :func:`is_current`."""
        return self._known.get(key)

    def put(self, key: str, tag: Tag) -> None:
        """Keep the tag of a query, if it can be known again."""
        if tag.indexes is not None and tag.text:
            self._known.put(key, replace(tag, query=None))
