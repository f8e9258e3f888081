"""Packfiles that a sync has packed which was killed before its commit.

Their names are marked with the inputs and versions they were packed from, and how, so that the next
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
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.format.keys import era_of
from sdb.table.packfiles.conformance import is_applied
from sdb.table.sync.packing import PackedInputs, directory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdb.store.base import Reader
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.work import NewInput

_MARKED = re.compile(r"[A-Z2-7]{32}-[A-Z2-7]{24}(\.e[0-9]+)?\.zion")
_READERS = 16


def input_mark(inputs: Sequence[NewInput], options: Mapping[str, object]) -> str:
    """Return the mark in the name of a packfile of inputs."""
    facts: list[object] = [sorted((name, repr(value)) for name, value in options.items())]
    facts += [
        [new_input.uri, new_input.etag, new_input.rule.format, new_input.rule.hints]
        for new_input in inputs
    ]
    facts += [new_input.rule.times for new_input in inputs if new_input.rule.times]
    facts += [repr(new_input.defaults) for new_input in inputs if new_input.defaults]
    constants = [] if inputs[0].partition is None else inputs[0].partition.constants
    facts += [repr(constants)]
    return f"inputs-{blake2b(json.dumps(facts).encode(), digest_size=20).hexdigest()}"


def find_orphans(
    root: TableRoot,
    keys: TableKeys,
    handle: TableHandle | None,
    new: Sequence[NewInput],
    options: Mapping[str, object],
) -> list[PackedInputs]:
    """Find packfiles of inputs that were never committed. The end of each one is read.

    * ``new``: The inputs that are to be packed, as they are now.
    """
    schema = None if handle is None else handle.schema
    if is_applied(schema):  # they may have been packed before it was set
        return []
    above = root.place("")
    orphans = [
        entry.location.removeprefix(above)
        for entry in root.store.below(root.place(f"{keys.folder}/data"))
        if _MARKED.fullmatch(entry.name)
        and era_of(entry.name) == (0 if schema is None else schema.era)
    ]
    if not orphans:
        return []
    if handle is not None:
        known_keys = {descriptor.key for descriptor in handle.descriptors()}
        orphans = [key for key in orphans if key not in known_keys]
    wanted = {new_input.uri: new_input for new_input in new if not new_input.flaw}

    def read(key: str) -> PackedInputs | None:
        try:
            with closing(root.open(key)) as reader:
                return _read(keys, key, reader, wanted, options)
        except (CorruptError, NotFoundError):
            return None

    with ThreadPoolExecutor(_READERS) as pool:
        taken = [packed for packed in pool.map(read, sorted(orphans)) if packed is not None]
    left: list[PackedInputs] = []
    seen: set[str] = set()
    # Of one that was cut by the ages of its rows the parts count.
    for packed in sorted(taken, key=lambda packed: len(packed.inputs)):
        uris = {each.uri for each in packed.inputs}
        if seen.isdisjoint(uris):
            seen |= uris
            left.append(packed)
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
    content, provenance = etags.of_trailer(trailer), trailer.sparse.provenance()
    if content is None or provenance is None or not provenance.complete:
        return None
    if any(origin.name not in wanted for origin in provenance.origins):
        return None
    # The files of an archive are one input.
    inputs = [wanted[name] for name in dict.fromkeys(origin.name for origin in provenance.origins)]
    if not inputs:
        return None
    mark, directory = input_mark(inputs, options), directory_of(inputs[0])
    if keys.content(directory, content, mark, era=era_of(key)) != key:
        return None
    etag = reader.etag or etags.of_content(reader.pieces(0, reader.size_bytes))
    descriptor = Descriptor(key, etag, reader.size_bytes, slim(trailer))
    rows = sum(origin.rows for origin in provenance.origins)
    text = sum(origin.text_bytes for origin in provenance.origins)
    return PackedInputs(tuple(inputs), (), descriptor, rows, text, reader.size_bytes)
