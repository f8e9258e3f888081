"""Packfiles that words of a command line mean: files, and those of tables and their versions.

A word is the name of a table if it looks like one, ``db.table``, ``db.table@12`` or a pattern like
``db.*``, and there is no such file: a file counts before a table, as in queries.
"""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial

from sdb import notes
from sdb.errors import NotFoundError, UnsupportedError, UsageError
from sdb.packfile.read.resolve import PackfileReference, resolve
from sdb.query.catalog.dataset import TableName
from sdb.query.catalog.locations import database_and_table
from sdb.query.catalog.storedtable import TableSource, same_table, stored_head
from sdb.store.url import is_pattern, store_of, under
from sdb.table.catalog.handle import dropped
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import split_reference
from sdb.table.packfiles.checked import CheckedPackfile
from sdb.table.packfiles.lazy import OpenObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from sdb.packfile.read.reader import Packfile
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.packfiles.lazy import TablePackfile
    from sdb.table.schema.columns import TableSchema


class NamedPackfiles:
    """The packfiles that words mean; versions that are read are kept from being collected.

    * ``root``: Folder or URL where relative paths and tables are; the current folder when empty.
    """

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._objects = OpenObjects()
        self._sources: list[TableSource] = []
        self._names: list[str] = []

    def __enter__(self) -> Self:
        """Return it, for a `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close what is open, and let collectors have the versions that were read."""
        self._objects.close()
        for source in self._sources:
            source.close()

    @property
    def schemas(self) -> dict[str, TableSchema]:
        """The schemas of the tables that were resolved, by the names that users gave them."""
        return {
            name: source.schema
            for name, source in zip(self._names, self._sources, strict=True)
            if source.schema is not None
        }

    def resolve(self, words: Iterable[str]) -> list[PackfileReference]:
        """Return the packfiles, those of a table under the name of the table.

        Raises `NotFoundError` if there is neither such a file nor such a table or version; the hint
        tells what is near; `AccessError`, `CorruptError` or `UsageError` if something cannot be
        read, or is damaged, or names no version.
        """
        references: list[PackfileReference] = []
        for word in words:
            tables = tables_named(word, self._root)
            if tables:
                for name in tables:
                    references += self._of_table(name)
                continue
            location = under(self._root, word)
            store = store_of(location)
            is_there = store.has(location) is not False or store.is_folder(location)
            if not is_there and not is_pattern(word, self._root):
                self._raise_if_nothing(word)
            try:
                references += resolve([word], root=self._root or None)
            except NotFoundError:
                self._raise_if_nothing(word)
                raise
        return references

    def _raise_if_nothing(self, word: str) -> None:
        error = nothing_named(word, self._root)
        if error is not None:
            raise error

    def _of_table(self, name: str) -> list[PackfileReference]:
        source = TableSource(open_named(name, self._root))
        self._sources.append(source)
        self._names.append(name)
        packs: list[TablePackfile] = source.packs()  # type: ignore[assignment]
        return [
            PackfileReference(
                pack.path, name, pack.size_bytes, opener=partial(self._opened, source.handle, pack)
            )
            for pack in packs
        ]

    def _opened(self, handle: TableHandle, pack: TablePackfile, verify: bool) -> Packfile:  # noqa: FBT001
        if not verify:
            what = f"{handle.name} is a table: only packfiles are read without being verified"
            raise UsageError(what, hint=f"{pack.path} is the packfile")
        return CheckedPackfile(handle.root, pack.descriptor, self._objects)


def tables_named(word: str, root: str) -> list[str]:
    """Return the tables that a word names, with their versions; none: it means files.

    A word that is the name of a file and of a table means the file, which a warning tells.
    Raises `UsageError` if there is nothing behind the @.
    """
    if "/" in word or "." not in word.partition("@")[0]:
        return []
    if is_pattern(word, root):
        return tables_fitting(word, root)
    names = database_and_table(TableName("file", (word,), (0, 0)), root)
    location = under(root, word)
    is_folder = store_of(location).path_of(location) and store_of(location).is_folder(location)
    if names is None or is_folder:
        _warn_of_table(word, root)
        return []
    return [word] if stored_head(root, *names) is not None else []


def tables_fitting(word: str, root: str) -> list[str]:
    """Return the tables that a pattern like ``db.*@tag`` names, sorted; dropped ones are none.

    Returns: None if it is no such pattern, or files fit it.
    """
    if "/" in word or "." not in word.partition("@")[0] or not is_pattern(word, root):
        return []
    with suppress(NotFoundError):
        resolve([word], root=root or None)
        return []
    pattern, reference = split_reference(word)
    database, _, table = pattern.partition(".")
    opened = table_root(root)
    behind = f"@{reference}" if reference else ""
    names = [
        (db, name)
        for db in opened.databases()
        if fnmatchcase(db, database)
        for name in opened.tables(db)
        if fnmatchcase(name, table)
    ]
    heads = [(".".join(name), stored_head(root, *name)) for name in names]
    return [f"{name}{behind}" for name, head in heads if head is not None and not head.is_dropped]


def open_named(name: str, root: str) -> TableHandle:
    """Open the version of a table that a name like ``db.table@12`` means.

    Raises `NotFoundError` if there is no such table or version, or the table was dropped.
    """
    table, reference = split_reference(name)
    database, _, table = table.partition(".")
    head = stored_head(root, database, table)
    if head is None:
        raise table_root(root).absent(TableKeys(database, table))
    handle = head.at(reference) if reference else head
    if handle.is_dropped:
        raise dropped(head.root, head.keys, handle.state)
    return handle


def nothing_named(word: str, root: str) -> NotFoundError | UnsupportedError | None:
    """Return the error for a word that means neither a file nor a table; None: only files do."""
    if "/" in word or word.endswith(".zion"):
        return None
    opened = table_root(root)
    name = word.partition("@")[0]
    if is_pattern(word, root):
        if "." not in name:
            return None
        message = f"neither a file nor a table matches {word}"
        return NotFoundError(message, path=word, hint="sdb ls lists the tables")
    if "." not in name:
        near = same_table(root, name)
        hint = f"did you mean the table {near}?" if near else None
        message = f"there is no file or folder {word}"
        return NotFoundError(message, path=word, hint=hint) if near else None
    database, _, table = name.partition(".")
    try:
        error = opened.absent(TableKeys(database, table))
    except UsageError:  # no such name
        return None
    if error.message.startswith("there is "):
        error.message = f"there is no file {word}, and {error.message.removeprefix('there is ')}"
    return error


def _warn_of_table(word: str, root: str) -> None:
    """Warn if a word that is the name of a file is that of a table, too."""
    if word.endswith(".zion"):
        return
    database, _, table = word.partition("@")[0].partition(".")
    if stored_head(root, database, table) is not None:
        notes.warn(f"{word} is a file or folder here; the table is {database}.{table}@main")
