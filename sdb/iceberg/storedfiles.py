"""The files of an Iceberg table, for pyiceberg: read from our stores, within bounds."""

from __future__ import annotations

from typing import NoReturn

from pyiceberg.io import FileIO, InputFile

from sdb.errors import UnsupportedError
from sdb.lake.access import location_of
from sdb.store.readerfile import ReaderFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.lake.access import LakeFolder
    from sdb.store.base import Reader


class _OpenedFile(ReaderFile):
    """A file that is open; closing it closes the reader, too."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._opened = reader

    def close(self) -> None:
        super().close()
        self._opened.close()


class StoredFile(InputFile):
    """A file that is read from a store."""

    def __init__(self, location: str, folder: LakeFolder, stored: str) -> None:
        super().__init__(location)
        self._folder = folder
        self._stored = stored

    def __len__(self) -> int:
        """Return the size."""
        reader = self._folder.open(self._stored)
        reader.close()
        return reader.size_bytes

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return self._folder.has(self._stored)

    def open(self, seekable: bool = True) -> _OpenedFile:  # noqa: ARG002, FBT001, FBT002
        """Open the file."""
        return _OpenedFile(self._folder.open(self._stored))


class StoreIO(FileIO):
    """The files of a table, some of whose metadata may name a folder that it was moved from.

    * ``written_at``: The location that the metadata have of the table.
    """

    def __init__(self, folder: LakeFolder, written_at: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._above = f"{location_of(written_at).rstrip('/')}/" if written_at else ""

    def resolve(self, uri: str) -> tuple[str, str]:
        """Return the name of a file, below the table if it is there, and where to read it."""
        location = location_of(uri)
        if self._above and location.startswith(self._above):
            path = location[len(self._above) :]
            return path, self._folder.below(path)
        return self._folder.named(location)

    def new_input(self, location: str) -> StoredFile:
        """Return a file to be read."""
        return StoredFile(location, self._folder, self.resolve(location)[1])

    def new_output(self, location: str) -> NoReturn:
        """Refuse to write."""
        raise UnsupportedError(f"{location}: tables of Iceberg are only read")

    def delete(self, location: object) -> NoReturn:
        """Refuse to delete."""
        raise UnsupportedError(f"{location}: tables of Iceberg are only read")
