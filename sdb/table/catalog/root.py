"""Roots: the folder or bucket that has tables, and the keys for what is in it."""

from __future__ import annotations

import os
import re

from sdb import notes
from sdb.errors import AccessError, CorruptError, NotFoundError, UnsupportedError, UsageError
from sdb.records import field, record, replace
from sdb.store.base import child
from sdb.store.schemes import plain
from sdb.store.url import absolute, atomic_write, check_scheme, is_server, store_of
from sdb.table.format import etags
from sdb.table.format import keys as names
from sdb.table.format.signature import Keyring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from sdb.store.base import Location, Reader, Store

    Visible: TypeAlias = "Callable[[str, str], bool]"
    """Whether a table may be seen, by its database and name."""

MAX_OBJECT_BYTES = 64 << 20
"""No list of packfiles or inputs is larger: the original begins a new one at 256 KiB."""

_MEANT = 0.6
_OWN = ("db/", "views/", "queries/")


@record
class TableRoot:
    """A place with tables. Use :func:`table_root` to get one."""

    location: str  # folder or URL that keys are relative to
    store: Store = field(repr=False)  # the store that it is in
    keyring: Keyring = field(repr=False)  # the keys for its indexes
    # Where patterns of definitions may find inputs besides: see :mod:`sdb.table.inputs.places`
    allowed_inputs: tuple[str, ...] = ()
    # Tables and views that errors may suggest; None: all
    visible: Visible | None = field(default=None, repr=False)

    def allowing(self, places: Location | Iterable[Location]) -> TableRoot:
        """Return the same root with more places that inputs may be read from."""
        return replace(self, allowed_inputs=(*self.allowed_inputs, *allowed_places(places)))

    def key_start(self, folder: str) -> int:
        """Return where keys begin in the locations of objects below the key of a folder."""
        return len(self.place(folder)) - len(folder)

    def place(self, key: str) -> str:
        """Return the path or URL of an object by its key.

        Raises `AccessError` if it is one of a table, view or stored query, and behind a symbolic
        link to a place that is not allowed: nobody knows whose objects are there.
        """
        url = child(self.location, key)
        if f"{key}/".startswith(_OWN) and self.store.path_of(url) is not None:
            self._check_links(key)
        return url

    def _check_links(self, key: str) -> None:
        end = key.find("/")
        while True:
            part = child(self.location, key if end < 0 else key[:end])
            path = self.store.path_of(part)
            is_link = path is not None and os.path.islink(path)  # noqa: PTH114 - a string
            if is_link and not is_below(part, map(real_place, self.allowed_inputs)):
                raise AccessError(
                    f"{path} is a symbolic link: what a root consists of is not behind one",
                    path=path,
                    hint=f"{VARIABLE} with the place that it leads to allows it",
                )
            if end < 0:
                return
            end = key.find("/", end + 1)

    def open(self, key: str, *, head_bytes: int = 0, start: int = 0) -> Reader:
        """Open an object; see :meth:`sdb.store.base.Store.open`."""
        return self.store.open(self.place(key), head_bytes=head_bytes, start=start)

    def fetch(self, key: str, etag: str) -> bytes:
        """Read a small object, which must be the one that is meant.

        Raises `CorruptError` if it is missing, too large, or has another ETag.
        """
        try:
            reader = self.open(key)
        except NotFoundError:
            raise CorruptError(f"{key} is missing: the table leads to it", path=key) from None
        try:
            if reader.size_bytes > MAX_OBJECT_BYTES:
                size = f"{reader.size_bytes:,} bytes, the limit is {MAX_OBJECT_BYTES:,}"
                raise CorruptError(f"{key}: {size}", path=key)
            data = reader.read(0, reader.size_bytes)
            actual = reader.etag
        finally:
            reader.close()
        if not actual or etags.is_of_content(etag):
            actual = etags.of_content([data])
        if actual != etag:
            raise CorruptError(f"{key}: ETag changed: {etag} -> {actual}", path=key)
        return data

    def databases(self) -> list[str]:
        """Return the names of the databases, sorted: of all folders that could be one."""
        return self.named_folders("db")

    def tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database that have an index, sorted."""
        names_ = self.folders(database)
        return [table for table in names_ if self.has(names.TableKeys(database, table).index)]

    def folders(self, database: str) -> list[str]:
        """Return the names of the folders of a database that could be tables, sorted."""
        names.check_name(database, "database")
        return self.named_folders(f"db/{database}")

    def named_folders(self, above: str) -> list[str]:
        """Return the names of folders below a key that could be databases or tables, sorted."""
        names_found = []
        for name in self.store.folders(self.place(above)):
            if names.flaw_of_name(name):
                continue
            try:
                self.place(f"{above}/{name}")
            except AccessError as error:
                notes.warn(f"left out: {error.message}")
                continue
            names_found.append(name)
        return names_found

    def has(self, key: str) -> bool:
        """Return whether there is an object; on S3 that is a request."""
        return self.store.version(self.place(key)) is not None

    def absent(self, keys: names.TableKeys) -> NotFoundError | UnsupportedError:
        """Make the error for a table that is not there: a view, or with one that may be meant."""
        from sdb.table.catalog.nearroots import flaw_of_root, hint_for_root
        from sdb.table.catalog.views import find_view

        name = f"{keys.database}.{keys.table}"
        if find_view(self, keys.database, keys.table) is not None:
            message = f"{name} below {self.location} is a view, and no table: it has no rows itself"
            hint = f"sdb query 'FROM {name}' reads it; sdb ls --views shows the tables below it"
            return UnsupportedError(message, path=self.place(keys.view), hint=hint)
        message = f"there is no table {name} below {self.location}"
        if flaw := flaw_of_root(self):
            message = f"there is no table {name}: {flaw}"
            hint = hint_for_root(self)
        elif self.has(keys.definition):
            message = f"the table {name} below {self.location} has a definition, and no rows yet"
            hint = f"sdb sync {name} takes its inputs, and sdb insert {name} FILE others"
        else:
            hint = self._meant(keys)
        return NotFoundError(message, path=self.place(keys.index), hint=hint)

    def _meant(self, keys: names.TableKeys) -> str:
        from difflib import get_close_matches

        databases = [name for name in self.databases() if self.visible is None or self._known(name)]
        if keys.database not in databases:
            near = get_close_matches(keys.database, databases, 1, _MEANT)
            if near and (tables := self._close(keys.table, near[0])):
                return f"did you mean {near[0]}.{tables[0]}?"
            return f"did you mean the database {near[0]}?" if near else _LIST
        near = self._close(keys.table, keys.database)
        return f"did you mean {keys.database}.{near[0]}?" if near else _LIST

    def _close(self, table: str, database: str) -> list[str]:
        from difflib import get_close_matches

        return get_close_matches(table, self._known(database), 1, _MEANT)

    def _known(self, database: str) -> list[str]:
        """Return the names of tables and views of a database that errors may suggest."""
        from sdb.table.catalog.views import views

        visible = self.visible
        tables = [
            name for name in self.tables(database) if visible is None or visible(database, name)
        ]
        return [*tables, *[view.view for view in views(self, database, visible=visible)]]


_LIST = "sdb ls lists them"


def table_root(
    location: Location = "",
    *,
    keyring: Keyring | None = None,
    allow_inputs: Location | Iterable[Location] = (),
) -> TableRoot:
    """Return the root at a location. Nothing is read.

    * ``location``: Folder or URL; the current folder when empty.
    * ``keyring``: The keys; those of the environment if not given.
    * ``allow_inputs``: Places outside of the root where patterns of definitions may find inputs,
      besides those of the environment; see :func:`sdb.table.catalog.root.allowed_places`.

    Raises `UsageError` if a key or an allowed location of inputs in the environment is malformed
    and `UnsupportedError` if it is the address of a server.
    """
    path = plain(os.fspath(location)) or "."
    if is_server(path):
        raise UnsupportedError(
            f"{path} is a server, and this works on the objects of tables themselves",
            hint="run it where the folder or bucket is",
        )
    check_scheme(path)
    store = store_of(path)
    if keyring is None:
        keyring = Keyring.of_root(is_remote=store.is_remote)
    return TableRoot(path, store, keyring, allowed_places(allow_inputs))


def fetch_file(root: TableRoot, key: str, *, folder: Location = "", overwrite: bool = False) -> str:
    """Copy an object into a folder, under its last name.

    * ``folder``: Where to; the current folder when empty.

    Raises `NotFoundError` if there is no such object; `ExistsError` if there is such a file, and
    `overwrite` is off; `UsageError` if the key leads out of the root.
    """
    if flaw := names.flaw_of_key(key):
        raise UsageError(f"the key of an object: {flaw}")
    name = key.rpartition("/")[2]
    target = child(folder, name) if os.fspath(folder) else name
    reader = root.open(key)
    try:
        with atomic_write(target, overwrite=overwrite) as file:
            for piece in reader.pieces(0, reader.size_bytes):
                file.write(piece)
    finally:
        reader.close()
    return target


# Places besides the root where patterns of definitions may find inputs, as they are allowed.

VARIABLE = "SDB_ALLOW_INPUTS"
_FILE = "file://"


def allowed_places(locations: Location | Iterable[Location] = ()) -> tuple[str, ...]:
    """Return the places besides the root that inputs may be read from.

    They are those of a call or command and those of `VARIABLE`. Whatever else shall allow some, as
    a file with settings of the one who runs it, adds them here.

    * ``locations``: Folders, files or URLs; relative paths start at the current folder.

    Raises `UsageError` if one is empty, or a URL of no store.
    """
    if isinstance(locations, str | os.PathLike):
        locations = (locations,)
    # A colon separates paths, and is a part of URLs.
    known = re.split(rf"{re.escape(os.pathsep)}(?!//)", os.environ.get(VARIABLE, ""))
    allowed = []
    for location in (*[os.fspath(location) for location in locations], *filter(None, known)):
        path = location.removeprefix(_FILE)
        if not path or "\0" in path:
            raise UsageError(
                f"{location!r} is no place of inputs", expected="a folder, or s3://bucket"
            )
        check_scheme(path)
        allowed.append(absolute(path))
    return tuple(allowed)


def is_below(location: str, bounds: Iterable[str]) -> bool:
    """Return whether a place, behind all symbolic links, is at or below one of others."""
    real = real_place(location)
    above = [bound.rstrip("/") for bound in bounds]
    return any(real.rstrip("/") == bound or real.startswith(f"{bound}/") for bound in above)


def real_place(location: str) -> str:
    """Return the path behind all symbolic links; URLs of other stores stand for themselves."""
    path = store_of(location).path_of(location)
    return location if path is None or "\0" in path else os.path.realpath(path)
