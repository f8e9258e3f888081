"""One run of a mirror, shared by what plans, writes and counts its files."""

from __future__ import annotations

from collections import Counter

from sdb import notes
from sdb.exchange.mirrorfiles import is_ours, mark_in, marked, opened_packfile
from sdb.exchange.packcolumns import columns_of
from sdb.records import changing_record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any, TypeVar

    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.lake.columntypes import Columns
    from sdb.lake.footer import ParquetFile
    from sdb.lake.mirrorlog import MirrorLog
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

    _Result = TypeVar("_Result")

COLUMNS = "sdb.columns"
"""Property of a mirror: the fields of rows that its columns are."""
SCHEMA = "sdb.schema"
"""Property of a mirror: a digest of the columns of the schema that its columns are."""


@changing_record
class MirrorRun:
    """A run of :meth:`sdb.exchange.mirror.TableMirror.update`.

    * ``name``: The table.
    * ``location``: The mirror.
    * ``is_restart``: Whether what is there is replaced.
    * ``columns``: Columns of packfiles that are known, by the marks of these.
    """

    name: str
    location: str
    log: MirrorLog
    is_restart: bool
    threads: int | None
    progress: Progress | None
    columns: dict[str, Columns] = field(repr=False)
    counts: Counter[str] = field(default_factory=Counter)
    _done_bytes: int = 0
    _total_bytes: int = 0

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of the mirror, which its metadata have."""
        properties: dict[str, Any] = self.log.metadata.get("configuration", {})
        return properties

    @property
    def had_schema(self) -> bool:
        """True if the newest commit of the mirror has the columns of a schema."""
        return SCHEMA in self.properties

    def begin(self, steps: Iterable[MirrorStep]) -> None:
        """Count the bytes of the packfiles of commits, for progress."""
        self._done_bytes = 0
        self._total_bytes = sum(
            descriptor.size_bytes for step in steps for descriptor in step.added.values()
        )

    def present(
        self, handle: TableHandle, packs: dict[str, Descriptor]
    ) -> Iterator[tuple[str, Columns]]:
        """Yield the columns of packfiles."""
        for mark, descriptor in packs.items():
            known = self.columns.get(mark)
            if known is None:
                with opened_packfile(handle, descriptor) as pack:
                    known = columns_of(pack)
            yield mark, known

    def staying(self, step: MirrorStep) -> tuple[dict[str, str], dict[str, Descriptor]]:
        """Return the files of the mirror by their marks, and the packfiles of those that stay."""
        wanted = marked(step.handle.descriptors())
        paths = {mark_in(path): path for path in self.log.files if is_ours(path)}
        return paths, {mark: wanted[mark] for mark in paths if mark in wanted}

    def counted(
        self, packs: dict[str, Descriptor], results: Iterable[_Result]
    ) -> Iterator[_Result]:
        """Yield what was made of packfiles, and show how far it is."""
        for descriptor, result in zip(packs.values(), results, strict=True):
            self._done_bytes += descriptor.size_bytes
            if self.progress is not None:
                self.progress(self._done_bytes, max(self._total_bytes, self._done_bytes))
            yield result

    def count(self, file: ParquetFile) -> None:
        """Count a file of the mirror, if it was written now."""
        if file.is_new:
            self.counts["files"] += 1
            self.counts["rows"] += file.rows
            self.counts["bytes"] += file.size_bytes

    def note_renewed(self, files: Collection[str], why: str, how: str) -> None:
        """Say that files are written again.

        * ``why``: What asks for that.
        * ``how``: What they have then.
        """
        if files and not self.is_restart:
            count = f"{len(files):,} file{' is' if len(files) == 1 else 's are'}"
            notes.warn(f"{self.location}: {why}: {count} written again with {how}, in one commit")
