"""States of inputs: taken, failed, and what has become of them since."""

from __future__ import annotations

import enum

from sdb.errors import NotFoundError
from sdb.lake.names import file_uri, is_lake_input, is_position_uri
from sdb.records import record
from sdb.table.format import etags
from sdb.table.format.lakepositions import LakePosition
from sdb.table.format.positions import LogPosition, is_position
from sdb.table.inputs.lakes import open_lake_input
from sdb.table.inputs.places import InputBounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.inputtree import TakenInput

_LOCAL = "file://"
_GONE = "its table has other files now, and its rows were deleted"


class InputState(enum.Enum):
    """The state of an input."""

    TAKEN = "taken"
    """Its rows are in the table."""
    FAILED = "failed"
    """It could not be read, and has no rows in the table."""
    CHANGED = "changed"
    """It has another content now than when it was read."""
    TAILED = "tailed"
    """A log file that is followed: the lines up to its position are in the table."""
    VANISHED = "vanished"
    """It is not there any more."""


@record
class InputStatus:
    """An input that a table knows.

    Attributes
    ----------
    path : str
        Its full URI.
    etag : str
        Its ETag when it was read.
    number : int
        Number of the packfile with its rows, for people only; negative: it failed.
    state : InputState
        Its state.
    reason : str
        Why it failed, if the table has recorded it; of a log file how far it was taken.
    """

    path: str
    etag: str
    number: int
    state: InputState
    reason: str = ""

    @property
    def line(self) -> str:
        """The line of the original."""
        return f"{self.path} {self.etag} {self.number}"

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        facts: dict[str, object] = {
            "path": self.path,
            "etag": self.etag,
            "number": self.number,
            "state": self.state.value,
        }
        return facts | {"reason": self.reason} if self.reason else facts


def input_states(
    handle: TableHandle, *, seek: str = "", check: bool = False
) -> Iterator[InputStatus]:
    """Iterate over the inputs of a table, in the order of their paths.

    * ``check``: Whether to look for what has changed or vanished: on S3 by listing the folders of
      the inputs, elsewhere by reading them.

    Yields: An input. A file that a Delta or Iceberg table does not have any more has vanished, also
    without `check`. One that failed and has changed since is failed.
    Raises `CorruptError` if a node of the inputs tree is missing or damaged and `OutsideError` if
    an input that is looked for leads out of the root.
    """
    present = _Present(handle)
    reasons = handle.state.failures if handle.state is not None else {}
    for entry in handle.inputs.walk(seek):
        if is_position(entry.path):
            position = LogPosition.from_text(entry.etag)
            reason = f"{position.offset:,} bytes of {position.path}"
            facts = (entry.path, entry.etag, entry.number, InputState.TAILED, reason)
            yield InputStatus(*facts)
            continue
        if is_position_uri(entry.path) and entry.etag.startswith("{"):
            version = LakePosition.from_text(entry.etag).version
            reason = f"version {version}"
            yield InputStatus(entry.path, entry.etag, entry.number, InputState.TAKEN, reason)
            continue
        if entry.is_failed and is_lake_input(entry.path):
            facts = (entry.path, entry.etag, entry.number, InputState.VANISHED, _GONE)
            yield InputStatus(*facts)
            continue
        state = InputState.FAILED if entry.is_failed else InputState.TAKEN
        if check and not entry.is_failed:
            state = present.state(entry)
        reason = reasons.get(entry.path, "") if entry.is_failed else ""
        yield InputStatus(entry.path, entry.etag, entry.number, state, reason)


class _Present:
    """Compares inputs with what is there now."""

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._lakes: dict[str, str] | None = None
        self._root = handle.root
        self._bounds = InputBounds(handle.root)
        self._folder: str | None = None
        self._listed: dict[str, str] = {}

    def state(self, entry: TakenInput) -> InputState:
        """Report what has become of an input that was taken."""
        if is_lake_input(entry.path):
            return self._state_in_lake(entry)
        local = entry.path.startswith(_LOCAL)
        location = self._root.place(entry.path.removeprefix(_LOCAL)) if local else entry.path
        if not self._bounds.has(location):
            raise self._bounds.refusal(f"the input {entry.path!r}", location)
        etag = self._etag_of_content(location) if local else self._listed_etag(location)
        if etag is None:
            return InputState.VANISHED
        return InputState.TAKEN if etag == entry.etag else InputState.CHANGED

    def _state_in_lake(self, entry: TakenInput) -> InputState:
        """Report what has become of a file of a Delta or Iceberg table."""
        if self._lakes is None:
            paths = [taken.path for taken in self._handle.inputs.walk()]
            positions = [path for path in paths if is_position_uri(path)]
            self._lakes = {
                file_uri(pattern, path): f'"{file.identity}"'
                for pattern in [position.rpartition("/")[0] for position in positions]
                for path, file in open_lake_input(self._root, pattern).at().files.items()
            }
        etag = self._lakes.get(entry.path)
        if etag is None:
            return InputState.VANISHED
        return InputState.TAKEN if etag == entry.etag else InputState.CHANGED

    def _listed_etag(self, location: str) -> str | None:
        """Find an object in the listing of its folder: inputs come folder by folder."""
        from sdb.store.url import store_of

        folder = location.rpartition("/")[0]
        if folder != self._folder:
            entries = store_of(folder).list(folder)
            self._folder, self._listed = (
                folder,
                {entry.location: entry.version for entry in entries},
            )
        return self._listed.get(location)

    def _etag_of_content(self, location: str) -> str | None:
        from sdb.store.url import open_read

        try:
            reader = open_read(location)
        except NotFoundError:
            return None
        return etags.of_opened(reader)
