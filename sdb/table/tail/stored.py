"""Positions in log files as the inputs of a version have them."""

from __future__ import annotations

from sdb.table.format.inputtree import InputsTree, StoredInputs
from sdb.table.format.positions import SAMPLE_BYTES, SCHEME, LogPosition, digest, is_position
from sdb.table.tail.logtext import has_position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sdb.table.format.inputtree import InputNodeRef
    from sdb.table.tail.lines import FileLines


class StoredPositions:
    """Reads the positions that versions of a table have; nodes of their trees are read once.

    * ``fetch``: Returns the content of an object by key and ETag.
    """

    def __init__(self, fetch: Callable[[str, str], bytes]) -> None:
        self._fetch = fetch
        self._root: tuple[InputNodeRef, ...] = ()
        self._in_nodes: dict[str, str] = {}

    def of(self, inputs: StoredInputs) -> dict[str, str]:
        """Return those of a version, by their keys."""
        if inputs.root != self._root:
            tree = InputsTree(StoredInputs(inputs.root), self._fetch)
            self._root, self._in_nodes = inputs.root, dict(_positions(tree))
        journal = {entry.path: entry.etag for entry in inputs.journal or ()}
        return self._in_nodes | {key: etag for key, etag in journal.items() if is_position(key)}


def is_overtaken(taken: Sequence[FileLines], stored: Mapping[str, str], host: str) -> bool:
    """Return whether another machine has taken more of a file that both can see.

    * ``stored``: The positions that the table has.
    * ``host``: This machine.
    """
    by_head = {
        digest(some.piece.head): some for some in taken if len(some.piece.head) == SAMPLE_BYTES
    }
    for key, etag in stored.items():
        head = etag.partition('"head":"')[2].partition('"')[0]
        some = by_head.get(head)
        if some is None or key == some.file.key:
            continue
        position, text = LogPosition.from_text(etag), some.file.opened()
        is_further = position.host != host and position.offset > some.file.cursor.offset
        if is_further and text is not None and has_position(text, position):
            return True
    return False


def _positions(tree: InputsTree) -> Iterator[tuple[str, str]]:
    for entry in tree.walk(SCHEME):
        if not is_position(entry.path):
            return
        yield entry.path, entry.etag
