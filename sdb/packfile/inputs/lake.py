"""Data files of Delta and Iceberg tables as inputs: the rows that a version has of each."""

from __future__ import annotations

from sdb import notes
from sdb.errors import InputError, UsageError, text_of
from sdb.lake.names import lake_name
from sdb.lake.rows import LakeRows
from sdb.packfile.inputs.arrowrows import encoded
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.inputs.openlake import open_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.lake.model import LakeTable, LakeVersion
    from sdb.lake.names import LakeName
    from sdb.store.base import Location

_WORDS = {"delta": "a Delta table", "iceberg": "an Iceberg table"}


def input_of(rows: LakeRows, name: str, defaults: bytes | None = None) -> Input:
    """Return an input with the rows of a data file."""

    def pieces() -> Generator[bytes]:
        try:
            yield from encoded(rows.batches(), keep_nulls=True)
        except InputError as error:
            raise error.within(name, path=name) from None

    def stored() -> tuple[int, bytes]:
        return rows.file.size_bytes, b""

    return Input(name, "ion", defaults=defaults, source=pieces, stored=stored)


def named_lake(
    location: Location,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    hints: bytes | None = None,
) -> LakeName | None:
    """Return the table of another system that a name stands for; None: it is that of a file.

    Raises `UsageError` if it is one, and has a format or hints.
    """
    name = lake_name(text_of(location))
    if name is not None and (format is not None or hints is not None):
        what = "a format" if format is not None else "hints"
        raise UsageError(f"{name}: {what} cannot be given for {_WORDS[name.kind]}")
    return name


def version_of(name: LakeName) -> tuple[LakeTable, LakeVersion]:
    """Open a table, and return the version that a name stands for.

    Raises `NotFoundError` if there is no such table or version; `CorruptError` or
    `UnsupportedError` if its metadata are damaged, or need what this program cannot do.
    """
    table = open_named(name)
    return table, table.at(name.version)


def inputs_of_version(name: LakeName, table: LakeTable, version: LakeVersion) -> list[Input]:
    """Return an input for each data file of a version, sorted by path; one at least.

    * ``name``: The name of the version, for messages.
    """
    inputs = [
        input_of(LakeRows(table.folder, file, version.columns), f"{name}/{path}")
        for path, file in sorted(version.files.items())
    ]
    return inputs or [Input(str(name), "ion", source=_nothing, stored=lambda: (0, b""))]


def lake_inputs(name: LakeName) -> list[Input]:
    """Return the inputs of the version that a name stands for, and say which one it is."""
    table, version = version_of(name)
    if name.version is None:
        notes.tell(f"{name}: version {version.version}", is_detail=False)
    return inputs_of_version(name, table, version)


def _nothing() -> Generator[bytes]:
    yield from ()
