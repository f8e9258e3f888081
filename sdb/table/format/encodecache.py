"""Lists of packfiles as indexes store them; what an earlier one had is made no second time."""

from __future__ import annotations

from sdb import ion
from sdb.table.format.descriptor import Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_KEPT = 2_048


class EncodedPackfiles:
    """Descriptors as they were decoded, and as they were encoded for the symbols in use then."""

    __slots__ = ("_decoded", "_kept")

    def __init__(self) -> None:
        # One object, so that threads that write different tables do not mix them.
        self._kept: tuple[list[str], dict[int, tuple[Descriptor, bytes, list[str]]]] = ([], {})
        self._decoded: dict[str, tuple[object, Descriptor]] = {}

    def decode(self, value: object) -> Descriptor:
        """Read the struct of a packfile, unless one that is equal was read before.

        Raises
        ------
        CorruptError
            See :meth:`sdb.table.format.descriptor.Descriptor.from_struct`.
        """
        key = value.get("path") if isinstance(value, dict) else None
        if not isinstance(key, str):
            return Descriptor.from_struct(value)
        known = self._decoded.get(key)
        if known is not None and known[0] == value:
            return known[1]
        found = Descriptor.from_struct(value)
        if len(self._decoded) >= _MOST_KEPT:
            self._decoded = {}
        self._decoded[key] = (value, found)
        return found

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
