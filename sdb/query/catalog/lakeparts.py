"""Parts of a version of a Delta or Iceberg table that are enough for a query."""

from __future__ import annotations

from sdb.lake.rows import LakeRows
from sdb.packfile.inputs.lake import input_of
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.lake.model import LakeTable, LakeVersion
    from sdb.lake.names import LakeName
    from sdb.packfile.inputs.inputs import Input
    from sdb.query.catalog.lakefields import ChosenFields, LakeFields

SMALL_BYTES = 1 << 20
"""Largest version that is packed as a whole at once."""
KEPT_BYTES = 64 << 20
"""Most bytes of fields that are read of all rows, whatever a condition says, and kept."""
_MOST_SHARE = 0.5  # of the bytes of a version: more are not worth reading alone
_FEW_NAMES = 3


@record
class LakePart:
    """Some fields, or some rows, of a version."""

    fields: ChosenFields
    sources: list[Input]
    what: str  # its name, for people

    @property
    def is_kept(self) -> bool:
        """Return whether other queries may need it, too."""
        return not self.fields.tests

    @property
    def facts(self) -> tuple[object, ...]:
        """Its difference from other parts."""
        return ("fields", *sorted(self.fields.paths or ()))


def parts_of(
    fields: LakeFields, name: LakeName, table: LakeTable, version: LakeVersion
) -> Iterator[LakePart]:
    """Yield parts of a version that may be enough, smaller ones first.

    * ``name``: The name of the version.
    """
    size_bytes = sum(file.size_bytes for file in version.files.values())
    chosen = fields.chosen(version.columns) if size_bytes > SMALL_BYTES else None
    if chosen is None:
        return
    is_whole = chosen.paths is None
    share = 1.0 if is_whole else _share(chosen, table, version)
    if chosen.tests and (is_whole or share * size_bytes > KEPT_BYTES):
        yield _part(chosen, f"rows of {name} that WHERE may take", name, table, version)
    if share < _MOST_SHARE:
        every = replace(chosen, tests=())
        yield _part(every, f"{_listed(every)} of {name}", name, table, version)


def _listed(fields: ChosenFields) -> str:
    names = [".".join(path) for path in sorted(fields.paths or ())]
    if not names:
        return "the number of rows"
    return ", ".join(names) if len(names) <= _FEW_NAMES else f"{len(names)} fields"


def _part(
    fields: ChosenFields, what: str, name: LakeName, table: LakeTable, version: LakeVersion
) -> LakePart:
    shown: set[str] = set()
    sources = []
    for path, file in sorted(version.files.items()):
        rows = LakeRows(
            table.folder,
            file,
            version.columns,
            paths=fields.paths,
            tests=fields.tests,
            shown=shown,
        )
        sources.append(input_of(rows, f"{name}/{path}"))
    return LakePart(fields, sources, what)


def _share(fields: ChosenFields, table: LakeTable, version: LakeVersion) -> float:
    """Return which share of the bytes of a version fields take, by its largest file."""
    largest = max(version.files.values(), key=lambda file: (file.size_bytes, file.path))
    return LakeRows(table.folder, largest, version.columns, paths=fields.paths).share()
