"""Packfiles of a table whose blocks are read whole, and compared with their digests."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.read import blocks
from sdb.table.packfiles.lazy import TablePackfile


class CheckedPackfile(TablePackfile):
    """A packfile of a table that checks what it reads by the trailer, as an open packfile does.

    The index has no digests of blocks. The trailer that has them is read with the first block.
    """

    def read_block(self, number: int) -> bytes:
        """Read the compressed bytes of a block.

        Raises `NotFoundError` or `CorruptError` as
        :meth:`sdb.packfile.read.blocks.BlockReader.read_block` does.
        """
        block = super().read_block(number)
        trailer = self.whole_trailer()
        try:
            if trailer.blocks != self.trailer.blocks or trailer.offset != self.trailer.offset:
                raise CorruptError("its blocks are not those that the index has")  # noqa: TRY301
            blocks.check(block, trailer.sparse.digest(number))
        except CorruptError as error:
            raise self.blame(error, number) from None
        return block
