"""Few values of the rows of a packfile, with the numbers of these rows."""

from __future__ import annotations

from itertools import accumulate

from sdb.errors import CorruptError
from sdb.packfile.rewrite.rewrite import rows_of_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.read.reader import Packfile

ROW: tuple[int, list[str], str] = (0, [], "row")
"""The lane with the numbers of rows, from 0 on."""


class RowScan:
    """Scans of an open packfile: only what they ask for is decoded."""

    def __init__(self, pack: Packfile) -> None:
        self._pack = pack
        self.rows = rows_of_blocks(pack)
        self.firsts = list(accumulate(self.rows, initial=0))

    def batches(
        self,
        blocks: Sequence[int],
        lanes: Sequence[tuple[int, list[str], str]],
        predicate: Any = None,  # noqa: ANN401 - as the stub has it
    ) -> list[pa.RecordBatch]:
        """Return lanes of the rows of some blocks, of those for which a predicate is TRUE.

        Raises `CorruptError` if a block is damaged.
        """
        if not blocks:
            return []
        import pyarrow as pa

        from sdb import _core

        pack = self._pack
        source: Any = (
            lambda at: pack.place_block(blocks[at]),
            [pack.blocks[number].chunks for number in blocks],
            pack.trailer.algorithm,
            pack.trailer.align_bytes,
            lambda error, at: (
                pack.blame(error, blocks[at]) if isinstance(error, CorruptError) else error
            ),
        )
        origins = [(pack.path, [self.firsts[number] for number in blocks])]
        wanted: Any = list(lanes)
        scan = _core.LaneScan([source], wanted, predicate=predicate, origins=origins)
        try:
            return list(pa.RecordBatchReader.from_stream(scan))
        except Exception:
            if scan.failure is not None:
                raise scan.failure from None
            raise
