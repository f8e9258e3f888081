"""Lists of packfiles as indexes store them; what an earlier index had is not encoded again."""

from __future__ import annotations

from sdb import ion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.descriptor import Descriptor

_MOST_KEPT = 2_048


class EncodedPackfiles:
    """Descriptors as they were encoded last, for the symbols that were in use then."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        # One object, so that threads that write different tables do not mix them.
        self._kept: tuple[list[str], dict[int, tuple[Descriptor, bytes, list[str]]]] = ([], {})

    def encode(self, descriptors: Sequence[Descriptor], symbols: list[str]) -> bytes:
        """Encode a list of packfiles, see :func:`sdb.ion.encode`.

        Parameters
        ----------
        descriptors : sequence of Descriptor
            The packfiles.
        symbols : list of str
            The symbols from number 10 on; new ones are added.

        Returns
        -------
        bytes
            The list, the same as without what is kept.
        """
        before, kept = self._kept
        if before != symbols or len(kept) + len(descriptors) > _MOST_KEPT:
            before, kept = self._kept = (list(symbols), {})
        items: list[bytes] = []
        first: list[str] | None = None
        for one in descriptors:
            found = kept.get(id(one))
            if found is None or found[0] is not one:
                table = list(symbols)
                data = ion.encode(one.struct(), table)
                found = kept[id(one)] = (one, data, first if table == first else table)
            if first is None:
                first = found[2]
            elif first is not found[2] and first != found[2]:
                # Its symbols have other numbers in the whole list.
                return ion.encode([each.struct() for each in descriptors], symbols)
            items.append(found[1])
        symbols[:] = first or symbols
        return ion.joined_list(items)
