"""The protocol of what says which versions and files a mirror has: the log of its format."""

from __future__ import annotations

from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from sdb.lake.columntypes import Columns

    LogAction: TypeAlias = "dict[str, Any]"


class MirrorLog(Protocol):
    """The log of a mirror. What a commit does is said in the actions of Delta, in all formats."""

    @property
    def version(self) -> int:
        """Number of the newest commit that was read; -1: the mirror is empty."""

    @property
    def files(self) -> dict[str, LogAction]:
        """The ``add`` of each file, by its path."""

    @property
    def transactions(self) -> dict[str, int]:
        """The newest version of each table that is mirrored in it."""

    @property
    def metadata(self) -> LogAction:
        """The newest ``metaData``."""

    def refresh(self) -> None:
        """Read the commits that are newer."""

    def prepare(self, columns: Columns) -> None:
        """Make the place for files, where it is not there."""

    def place(self, path: str) -> str:
        """Return where a file is."""

    def takes_schemas(self) -> bool:
        """Return whether commits may have the columns of schemas, also other ones than before."""

    def put(self, actions: list[LogAction]) -> bool:
        """Commit, if nothing was committed since; False: something was, or may have been."""

    def tend(self) -> None:
        """Do what follows on a commit now and then, such as a checkpoint."""

    def flaw(self) -> tuple[str, str] | None:
        """Return why nothing can be written to it, and a hint; None: it can."""

    def refusal(self) -> str:
        """Return why a column cannot get another type; empty: it can."""
