"""Files of a mirror: their names, and the packfiles that they are made of."""

from __future__ import annotations

import json
import re
from base64 import b32encode
from contextlib import contextmanager
from hashlib import blake2b

from sdb.table.catalog.leases import hold
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.exchange.schemacolumns import Layout
    from sdb.lake.columntypes import Columns
    from sdb.packfile.read.reader import Packfile
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_FILE = re.compile(r"[^/]+-[a-z2-7]{16}-[a-z2-7]{16}\.parquet")


def mark_of(descriptor: Descriptor) -> str:
    """Return the part of a file's name that stands for a packfile: its content id, and its key."""
    stem = descriptor.name.rpartition(".")[0] or descriptor.name
    return f"{stem}-{digest_of(f'{descriptor.key} {descriptor.etag}')}"


def fields_path(mark: str, layout: Columns, names: dict[str, str]) -> str:
    """Return the name of a file with the fields of rows as columns."""
    columns = {names[name]: kind for name, kind in layout.items()}
    renamed = [name for name in layout if names[name] != name]
    return f"{mark}-{digest_of(json.dumps([columns, renamed]))}.parquet"


def columns_path(mark: str, layout: Layout) -> str:
    """Return the name of a file with the columns of a schema, in whatever order they are."""
    return f"{mark}-{digest_of(json.dumps(['schema', sorted(layout.items())]))}.parquet"


def digest_of(text: str) -> str:
    """Return a digest of a text, as names of files have it."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return b32encode(digest).decode().lower()


def mark_in(path: str) -> str:
    """Return the part of the name of a file that stands for its packfile."""
    return path.rpartition("-")[0]


def is_ours(path: str) -> bool:
    """Return whether a file has a name that mirrors give."""
    return _FILE.fullmatch(path) is not None


def marked(packfiles: Iterable[Descriptor]) -> dict[str, Descriptor]:
    """Return packfiles by the parts of names of files that stand for them."""
    return {mark_of(packfile): packfile for packfile in packfiles}


@contextmanager
def opened_packfile(handle: TableHandle, descriptor: Descriptor) -> Iterator[Packfile]:
    """Open a packfile of a version with its whole trailer."""
    objects = OpenObjects(1)
    try:
        yield whole_packfile(handle.root, descriptor.checked(), objects)
    finally:
        objects.close()


@contextmanager
def held(handle: TableHandle) -> Iterator[None]:
    """Keep the packfiles of a version from being collected while they are read."""
    lease = hold(handle)
    try:
        yield
    finally:
        lease.release()
