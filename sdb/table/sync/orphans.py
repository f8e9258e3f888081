"""Packfiles that a sync has packed which was killed before its commit.

Their names tell which inputs in which versions they were packed from, and how, so that the next
sync takes them instead of packing again.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import blake2b

from sdb.errors import CorruptError, NotFoundError
from sdb.packfile.trailer.read import read_trailer
from sdb.table.format import contentid, etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.sync.packing import PackedInputs, directory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdb.store.base import Reader
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.newinputs import NewInput

_MARKED = re.compile(r"[A-Z2-7]{32}-[A-Z2-7]{24}\.zion")
_READERS = 16


def input_mark(inputs: Sequence[NewInput], options: Mapping[str, object]) -> str:
    """Give what tells a packfile of inputs from all others.

    Parameters
    ----------
    inputs : sequence of NewInput
        The inputs, in the order of their rows.
    options : mapping
        How they are packed.

    Returns
    -------
    str
        The id of a commit for :func:`sdb.table.packfiles.pack.pack_rows`.
    """
    facts: list[object] = [sorted((name, repr(value)) for name, value in options.items())]
    facts += [[one.uri, one.etag, one.rule.format, one.rule.hints] for one in inputs]
    constants = [] if inputs[0].partition is None else inputs[0].partition.constants
    facts += [repr(constants)]
    return f"inputs-{blake2b(json.dumps(facts).encode(), digest_size=20).hexdigest()}"


def find_left(
    root: TableRoot,
    keys: TableKeys,
    handle: TableHandle | None,
    new: Sequence[NewInput],
    options: Mapping[str, object],
) -> list[PackedInputs]:
    """Find packfiles of inputs that nobody has committed. The end of each one is read.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    handle : TableHandle or None
        The table, whose packfiles are none of them.
    new : sequence of NewInput
        The inputs that are to be packed, as they are now.
    options : mapping
        How they would be packed.

    Returns
    -------
    list of PackedInputs
        Packfiles of some of them, no input twice.
    """
    above = root.place("")
    found = [
        one.location.removeprefix(above)
        for one in root.store.below(root.place(f"{keys.folder}/data"))
        if _MARKED.fullmatch(one.name)
    ]
    if not found:
        return []
    if handle is not None:
        known = {one.key for one in handle.descriptors()}
        found = [key for key in found if key not in known]
    wanted = {one.uri: one for one in new if not one.flaw}

    def read(key: str) -> PackedInputs | None:
        try:
            with closing(root.open(key)) as reader:
                return _read(keys, key, reader, wanted, options)
        except (CorruptError, NotFoundError):
            return None

    left: list[PackedInputs] = []
    seen: set[str] = set()
    with ThreadPoolExecutor(_READERS) as pool:
        for one in pool.map(read, sorted(found)):
            uris = set() if one is None else {each.uri for each in one.inputs}
            if one is not None and seen.isdisjoint(uris):
                seen |= uris
                left.append(one)
    return left


def _read(
    keys: TableKeys,
    key: str,
    reader: Reader,
    wanted: Mapping[str, NewInput],
    options: Mapping[str, object],
) -> PackedInputs | None:
    """Read the end of a packfile; None: it is not of inputs as they are now."""
    trailer = read_trailer(reader, key)
    content, provenance = contentid.of_trailer(trailer), trailer.sparse.provenance()
    if content is None or provenance is None or not provenance.complete:
        return None
    if any(one.name not in wanted for one in provenance.origins):
        return None
    inputs = [wanted[one.name] for one in provenance.origins]
    if (
        not inputs
        or keys.content(directory_of(inputs[0]), content, input_mark(inputs, options)) != key
    ):
        return None
    etag = reader.etag or etags.of_content(reader.pieces(0, reader.size_bytes))
    told = Descriptor(key, etag, reader.size_bytes, slim(trailer))
    rows = sum(one.rows for one in provenance.origins)
    text = sum(one.text_bytes for one in provenance.origins)
    return PackedInputs(tuple(inputs), (), told, rows, text, reader.size_bytes)
