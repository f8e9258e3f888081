"""Reports syncs: those that are over, and those that go on for ever."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice

from sdb import notes, sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.errors import NotFoundError, SdbError, UsageError
from sdb.lake.names import is_lake_input
from sdb.packfile.write.malformed import outcome
from sdb.table.format.keys import TableKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sdb.cli.spark import Choice
    from sdb.table.catalog.root import TableRoot
    from sdb.table.sync.result import Synced

_MOST_COUNTED = 1000


def tell(synced: Synced, *, dry_run: bool, verbose: bool, quiet: bool) -> None:  # noqa: C901
    """Report what has become of the inputs of a table, on standard error."""
    name = f"{synced.database}/{synced.table}"
    for reject in synced.rejected:
        _say(f"{name}: rejecting object: path {reject.uri} etag {reject.etag} {reject.reason}")
    if quiet:
        return
    if any(": line " in reject.reason for reject in synced.rejected):
        dotted = f"{synced.database}.{synced.table}"
        _say(
            f"{name}: sdb alter {dotted} --input PATTERN --on-error skip takes the other records,"
            " with keep also the text of those (on_error in the definition)"
        )
    _tell_others(name, synced)
    if synced.retirement:
        verb = "would go" if dry_run else "went"
        _say(f"{name}: {synced.retirement} {verb}: older than the table keeps")
    if dry_run:
        for uri in synced.taken:
            _say(f"{name}: would take {uri}")
        for uri in synced.deleted:
            _say(f"{name}: would delete the rows of {uri}")
        return
    if not (verbose or sys.stderr.isatty()):
        return
    if synced.sources:
        _tell_sources(name, synced)
        return
    if synced.rejected:
        failed = sizes.counted(len(synced.rejected), "input")
        _say(f"{name}: {failed} failed: tried again after a change, or with --retry (sdb inputs)")
    if synced.version is not None and (synced.taken or not synced.rejected):
        text = f"{name}: successfully scanned {synced.text_bytes} bytes"
        inputs = sizes.counted(len(synced.taken), "input")
        text += f", {sizes.counted(synced.rows, 'row')} of {inputs}, version {synced.version}"
        _say(text)


def _tell_sources(name: str, synced: Synced) -> None:
    """Report the versions of Delta and Iceberg tables that were taken."""
    for taken in synced.sources:
        rows = f"{taken.rows:,} rows in, {taken.rows_removed:,} out"
        what = f"version {taken.source_version} of {taken.source}"
        _say(f"{name}: {what}: {rows}, version {taken.version}")


def _tell_others(name: str, synced: Synced) -> None:
    """Report malformed records, and inputs that changed or were passed over."""
    for count, is_kept in ((synced.skipped, False), (synced.kept_records, True)):
        if count:
            _say(f"{name}: {outcome(count, is_kept=is_kept)}")
    keeps = "the table keeps its rows"
    replaced = tuple(uri for uri in synced.replaced if not is_lake_input(uri))
    for what, uris, fate in (
        ("changed", synced.changed, f"{keeps}; --changed replace takes the new ones"),
        ("changed", replaced, "its rows make room for the new ones"),
        ("vanished", synced.vanished, f"{keeps}; --vanished delete removes them"),
    ):
        if uris:
            more = f" and {len(uris) - 1:,} more" if uris[1:] else ""
            _say(f"{name}: {uris[0]}{more} {what} after it was taken: {fate}")
    for uri, before in synced.renamed:
        same = f"the same content as {before}, which was taken and is gone"
        _say(f"{name}: {uri} has {same}: its rows are not taken twice")
    if synced.passed:
        inputs = f"{len(synced.passed):,} input{'s' if synced.passed[1:] else ''}"
        text = f"passed over {inputs} with temporary names, such as {synced.passed[0]}"
        _say(f"{name}: {text}; a pattern that has the ending or the dot itself takes them")


@contextmanager
def syncs_of(
    choice: Choice | None, *, threads: int | None, quiet: bool
) -> Iterator[Callable[..., Synced]]:
    """Yield what syncs a table: this program, or Spark, which is stopped in the end.

    * ``choice``: How Spark packs; None: this program packs.
    * ``quiet``: Whether not to tell what an earlier run has left.
    """
    if choice is None:
        from sdb.table.sync.sync import sync_table

        yield partial(sync_table, threads=threads)
        return
    if threads is not None:
        hint = "--conf spark.task.cpus=N"
        raise UsageError("the threads of a task are its processors in Spark", hint=hint)
    from sdb.cli.spark import settings
    from sdb.spark.bulk.sync import SparkSyncs

    with SparkSyncs(
        master=choice.master,
        conf=settings(choice.conf),
        tasks=choice.tasks,
        target_bytes=choice.target_bytes(),
    ) as syncs:

        def sync(root: TableRoot, database: str, table: str, **options: Any) -> Synced:  # noqa: ANN401
            done = syncs.sync(root, database, table, **options)
            if done.resumed and not quiet:
                what = f"{sizes.counted(done.resumed, 'packfile')} of an earlier run taken as is"
                _say(f"{database}/{table}: {what}, {done.packed:,} packed")
            return done.synced

        yield sync


def sync_tables(
    sync: Callable[..., Synced],
    names: tuple[TableRoot, str, list[str]],
    *,
    progress: str,
    dry_run: bool,
    verbose: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of a sync
) -> tuple[list[Synced], list[SdbError]]:
    """Sync tables one after the other, and tell of each.

    * ``progress``: See :class:`sdb.cli.meter.Meter`.
    * ``dry_run, verbose, quiet``: Whether only to tell what would be done, and how much to tell.
    * ``options``: Others of :func:`sdb.table.sync.sync.sync_table`.
    """
    synced_tables: list[Synced] = []
    failures: list[SdbError] = []
    root, database, tables = names
    for table in tables:
        try:
            with Meter(f"syncing {table}", progress, quiet=quiet) as meter:
                synced = sync(root, database, table, dry_run=dry_run, progress=meter, **options)
        except SdbError as error:
            is_gone = isinstance(error, NotFoundError)
            if is_gone and not root.has(TableKeys(database, table).definition):
                notes.warn(f"{database}/{table}: its definition has just gone, nothing is taken")
            elif is_gone and len(tables) > 1 and _is_dropped(root, database, table):
                notes.warn(f"{database}/{table}: it was dropped, nothing is taken")
            else:
                failures.append(error)
            continue
        synced_tables.append(synced)
        tell(synced, dry_run=dry_run, verbose=verbose, quiet=quiet)
        if not quiet and synced.is_nothing:
            tell_nothing(root, database, table, verbose=verbose)
    return synced_tables, failures


def fitting_tables(root: TableRoot, database: str, pattern: str, *, is_pattern: bool) -> list[str]:
    """Return the tables to sync.

    * ``is_pattern``: Whether no table may fit: the original does not mind.
    """
    from sdb.table.sync.sync import tables_to_sync

    tables = tables_to_sync(root, database, pattern)
    if not tables and not is_pattern:
        raise nothing_to_sync(root, database, pattern)
    if not tables:
        below = f"{database} below {root.location}"
        notes.warn(f"no table of {below} has a definition and fits {pattern!r}")
    return tables


def nothing_to_sync(root: TableRoot, database: str, pattern: str) -> SdbError:
    """Return the error for a database or table that has no definition."""
    from sdb.cli.render.tables import databases_of

    databases_of(root, database)
    keys = TableKeys(database, pattern) if set(pattern).isdisjoint("*?[") else None
    if keys is None:
        where = f"{database} below {root.location}"
        what = f"no table of {where} has a definition"
        return NotFoundError(what, hint="sdb ls lists them")
    if not root.has(keys.index):
        return root.absent(keys)
    what = f"{database}.{pattern} below {root.location} has no definition: no inputs belong to it"
    return NotFoundError(what, hint=f"sdb create {database}.{pattern} --input PATTERN")


def tell_nothing(root: TableRoot, database: str, table: str, *, verbose: bool) -> None:
    """Report why a sync has found nothing: a pattern that finds no input at all, or nothing new."""
    from sdb.cli.render.fitting import nothing
    from sdb.table.definition.cache import read_definition
    from sdb.table.inputs.fitting import fitting_inputs

    name, counted = f"{database}/{table}", 0
    with suppress(SdbError):  # a folder that has just gone, say: the next sync tells of it
        for rule in read_definition(root, TableKeys(database, table)).inputs:
            inputs_fitting = fitting_inputs(root, rule.pattern, most=_MOST_COUNTED)
            counted += inputs_fitting.count
            if not inputs_fitting.count and not inputs_fitting.passed:
                _say(f"{name}: {rule.pattern} finds nothing: {nothing(root, rule.pattern)}")
        if counted and (verbose or sys.stderr.isatty()):
            known = "more than " * (counted >= _MOST_COUNTED) + sizes.counted(counted, "input")
            _say(f"{name}: nothing new: {known} known already{_failed(root, database, table)}")


def _failed(root: TableRoot, database: str, table: str) -> str:
    """Report how many of the inputs that are known have failed; empty: none of the first ones."""
    from sdb.table.catalog.handle import find_table

    head = find_table(root, database, table)
    known = () if head is None else islice(head.inputs.walk(), _MOST_COUNTED)
    failed = sum(entry.is_failed and not is_lake_input(entry.path) for entry in known)
    return f", of which {failed:,} failed (sdb inputs, sdb sync --retry)" if failed else ""


def _is_dropped(root: TableRoot, database: str, table: str) -> bool:
    from sdb.table.catalog.handle import find_table

    head = find_table(root, database, table)
    return head is not None and head.is_dropped


def _say(text: str) -> None:
    output.say(output.plain(text), to=sys.stderr)
