"""Commits of versions in columns that are the fields of their rows."""

from __future__ import annotations

import json

from sdb import notes
from sdb.delta.schema import schema_text
from sdb.errors import UnsupportedError
from sdb.exchange.mirrorfiles import fields_path, marked, opened_packfile
from sdb.exchange.mirrorrun import COLUMNS
from sdb.exchange.packcolumns import observed_columns
from sdb.exchange.parquetfile import write_packfile
from sdb.lake.columntypes import (
    bounded,
    chosen_columns,
    fits,
    joined_columns,
    layout_of,
    published,
    texts,
)
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import ThreadPoolExecutor

    from sdb.exchange.mirrorcommit import MirrorCommits
    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.exchange.mirrorrun import MirrorRun
    from sdb.lake.columntypes import Columns, ColumnType
    from sdb.lake.footer import ParquetFile
    from sdb.lake.mirrorlog import LogAction
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor


class WiderError(Exception):
    """A packfile has values that its trailer does not tell of."""


@record
class FieldCommits:
    """Makes the commits of some versions, which have their columns together.

    * ``fields``: The columns of what is mirrored and of what comes, by the fields of rows.
    * ``columns``: Those of the mirror: the ones that have a value in any row, typed.
    """

    run: MirrorRun
    commits: MirrorCommits
    fields: Columns
    columns: Columns

    @classmethod
    def of(
        cls, run: MirrorRun, commits: MirrorCommits, steps: Iterable[MirrorStep]
    ) -> FieldCommits:
        """Look at the packfiles of versions, and say which columns are not what the fields are."""
        fields = _joined_columns(run, steps)
        made = cls(run, commits, fields, chosen_columns(fields))
        made._note_texts()
        return made

    def actions(self, step: MirrorStep, pool: ThreadPoolExecutor) -> list[LogAction]:
        """Write the files of a version, and return the actions of its commit."""
        stored = json.dumps(self.fields, ensure_ascii=False, separators=(",", ":"))
        is_wider = self.run.properties.get(COLUMNS) != stored
        added = dict(step.added)
        replaced: list[str] = []
        changed = self._changed_types() if is_wider and not self.run.is_restart else {}
        if changed and (refusal := self.run.log.refusal()):
            text = ", ".join(changed.values())
            raise UnsupportedError(f"{self.run.location}: {text}: {refusal}")
        if changed or self.run.is_restart or self.run.had_schema:
            renewed, replaced = self._renewed(step, changed)
            added |= renewed
        files = self._written(step, added, pool)
        metadata = None
        if is_wider or self.run.is_restart:
            metadata = self.commits.metadata(schema_text(self.columns), {COLUMNS: stored})
        return self.commits.actions(step, files, replaced, self.columns, metadata)

    def _written(
        self,
        step: MirrorStep,
        added: dict[str, Descriptor],
        pool: ThreadPoolExecutor,
    ) -> list[tuple[str, ParquetFile]]:
        """Write the files of packfiles, and return their paths and what is in them."""
        names = published(self.columns)
        layouts = {mark: layout_of(self.columns, self.run.columns[mark]) for mark in added}

        def write(mark: str) -> tuple[str, ParquetFile]:
            return self._write(step.handle, mark, added[mark], layouts[mark], names)

        return list(self.run.counted(added, pool.map(write, added)))

    def _changed_types(self) -> dict[str, str]:
        """Return the columns of the mirror that get another type, and how."""
        before = chosen_columns(_mirrored_columns(self.run))
        return {
            name: _change(name, kind, self.columns[name])
            for name, kind in before.items()
            if not fits(kind, self.columns[name])
        }

    def _renewed(
        self, step: MirrorStep, changed: dict[str, str]
    ) -> tuple[dict[str, Descriptor], list[str]]:
        """Find the files of the mirror that have columns whose types change, in one commit.

        Returns: Their packfiles, and their paths.
        """
        paths, staying = self.run.staying(step)
        for mark, present in self.run.present(step.handle, staying):
            self.run.columns[mark] = present
        names = published(self.columns)
        renewed: dict[str, Descriptor] = {}
        for mark, descriptor in staying.items():
            layout = layout_of(self.columns, self.run.columns[mark])
            is_other = (self.run.is_restart or self.run.had_schema) and paths[mark] != fields_path(
                mark, layout, names
            )
            if is_other or not changed.keys().isdisjoint(layout):
                renewed[mark] = descriptor
        why = ", ".join(changed.values()) or "the table has no schema any more"
        self.run.note_renewed(renewed, why, "the new types")
        return renewed, [paths[mark] for mark in renewed]

    def _write(
        self,
        handle: TableHandle,
        mark: str,
        descriptor: Descriptor,
        layout: Columns,
        names: dict[str, str],
    ) -> tuple[str, ParquetFile]:
        path = fields_path(mark, layout, names)
        with opened_packfile(handle, descriptor) as pack:
            if not layout:
                what = f"{descriptor.key} has rows without any field, of which no file can be made"
                raise UnsupportedError(what)
            try:
                file = write_packfile(
                    pack, layout, names, self.run.log.place(path), threads=self.run.threads
                )
            except UnsupportedError:
                # Trailers do not tell which integers are above 2^63-1.
                seen = joined_columns(self.run.columns[mark], observed_columns(pack))
                if seen == self.run.columns[mark]:
                    raise
                self.run.columns[mark] = seen
                raise WiderError from None
        self.run.count(file)
        return path, file

    def _note_texts(self) -> None:
        """Say which columns are no more what the fields are, unless they were before."""
        before = {} if self.run.is_restart else chosen_columns(_mirrored_columns(self.run))
        known_names = published(before)
        known_texts = set(texts(before))
        for field_name, name in published(self.columns).items():
            if field_name != name and known_names.get(field_name) != name:
                notes.warn(
                    f"{self.run.name}: {field_name!r} becomes the column {name!r}: other engines "
                    "have no empty names, and do not tell cases apart"
                )
        for path in texts(self.columns):
            if path in known_texts:
                continue
            name = ".".join(path)
            notes.warn(
                f"{self.run.name}: {name} becomes JSON text: its values are of several kinds, or "
                "lie too deep"
            )


def _joined_columns(run: MirrorRun, steps: Iterable[MirrorStep]) -> Columns:
    """Return the columns of what is mirrored and of what comes."""
    columns: Columns = {} if run.is_restart else _mirrored_columns(run)
    known = json.dumps(columns)
    for step in steps:
        packs = step.added
        if run.is_restart or run.had_schema:
            packs = marked(step.handle.descriptors())
        for mark, present in run.present(step.handle, packs):
            run.columns[mark] = present
            columns = joined_columns(columns, present)
    return columns if json.dumps(columns) == known else bounded(columns)


def _mirrored_columns(run: MirrorRun) -> Columns:
    text = run.properties.get(COLUMNS)
    if text is None:
        return {}
    columns: Columns = json.loads(text)
    return columns


def _change(name: str, before: ColumnType, after: ColumnType) -> str:
    if isinstance(before, str) and isinstance(after, str):
        return f"{name} was {before} and becomes {after}"
    return f"the type of {name} changes"
