"""Tables as commands name them, and who is at work on them."""

from __future__ import annotations

import os

from sdb.cli.values import table_root
from sdb.errors import UsageError

_SUFFIX = ".zion"
_WORDS_OF_TABLE = 2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from sdb.cli.parameters import Context
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.query.catalog.tablefiles import NamedPackfiles
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.schema.columns import TableSchema


def named_table(name: str) -> tuple[str, str, str]:
    """Split ``DB.TABLE[@REF]`` into the database, the table and the reference, which may be empty.

    Raises `UsageError` if it has another form.
    """
    from sdb.table.format.versionref import split_reference

    table, reference = split_reference(name)
    database, dot, table = table.partition(".")
    if not dot:
        expected = "DB.TABLE or DB TABLE, with @REF behind it for a version"
        raise UsageError(f"no table given: {name!r} alone is a database", expected=expected)
    return database, table, reference


def joined_table(name: str, *words: str | None, at: str = "") -> tuple[str, list[str]]:
    """Return ``DB.TABLE[@REF]`` of a command line that may have it in two words, and other words.

    The table is two words if the first one has no dot: names of databases with a dot in them take
    the commands of the original, which have nothing behind the table.

    * ``words``: What follows on the name; None where the command line ends.
    * ``at``: The version that an option names, if it does.

    Raises `UsageError` if there is no table, a word more than the command takes, or two versions
    are named.
    """
    joined, rest = _joined(name, *words)
    return referring(joined, at) if at else joined, rest


def _joined(name: str, *words: str | None) -> tuple[str, list[str]]:
    others = [word for word in words if word is not None]
    if "." in name.partition("@")[0]:
        if len(others) == len(words):
            what = f"{name!r} is the table, and {others[-1]!r} one word too many"
            raise UsageError(what, hint="--help shows what the command takes")
        return name, others
    if not others:
        named_table(name)
    return f"{name}.{others[0]}", others[1:]


def branch_of(name: str, branch: str) -> tuple[str, str, str]:
    """Return the database, the table and the branch that ``DB.TABLE[@BRANCH]`` is to be changed on.

    Raises `UsageError` if an option names another branch.
    """
    database, table, behind = named_table(name)
    if behind and branch not in {"main", behind}:
        raise UsageError(f"{name} is not the branch {branch}")
    return database, table, behind or branch


def referring(name: str, reference: str) -> str:
    """Return ``DB.TABLE@REF`` of a table, and of the word behind it that names its version.

    Raises `UsageError` if the table has one already.
    """
    if named_table(name)[2]:
        what = f"two versions are named: {name} and {reference}"
        raise UsageError(what, expected="one of them")
    return f"{name}@{reference.removeprefix('@')}"


def table_of(name: str, rest: str | None) -> tuple[str, str]:
    """Return the database and the table that ``DB.TABLE`` or ``DB TABLE`` name.

    Raises `UsageError` if they have another form.
    """
    database, table, reference = version_of(name, rest)
    if reference:
        raise UsageError(f"{name} is a version of a table", expected="DB.TABLE")
    return database, table


def version_of(name: str, rest: str | None, at: str = "") -> tuple[str, str, str]:
    """Return the database, the table and the version that ``DB.TABLE[@REF]`` or ``DB TABLE`` name.

    A dot in one of two words stays: databases and tables of the original may have one.

    * ``at``: The version that an option names, if it does.

    Raises `UsageError` if they have another form, or two versions are named.
    """
    from sdb.table.format.versionref import split_reference

    if rest is None:
        database, table, reference = named_table(name)
    else:
        database, (table, reference) = name, split_reference(rest)
    if reference and at:
        what = f"two versions are named: {database}.{table}@{reference} and --at {at}"
        raise UsageError(what, expected="one of them")
    return database, table, reference or at


def single_table(context: Context, words: list[str], at: str) -> TableHandle | None:
    """Open the table that is all that words name; None: they name packfiles.

    Files and folders of the names count before a table, as in queries.
    """
    if len(words) > _WORDS_OF_TABLE or not all(map(_may_be_table, words)):
        return None
    from sdb.query.catalog.tablefiles import tables_named
    from sdb.store.url import is_pattern, store_of, under
    from sdb.table.catalog.handle import open_table

    folder = context.root
    is_dotted = ["." in word.partition("@")[0] for word in words]
    if len(words) == 1:
        if is_pattern(words[0], folder) or not (is_dotted[0] and tables_named(words[0], folder)):
            return None
    elif all(is_dotted):
        return None
    else:
        for location in (under(folder, word) for word in words):
            store = store_of(location)
            if store.has(location) or store.is_folder(location):
                return None
    database, table, reference = version_of(words[0], words[1] if words[1:] else None, at)
    return open_table(table_root(context), database, table, at=reference)


def opened_table(context: Context, name: str) -> TableHandle:
    """Open the table that ``DB.TABLE[@REF]`` names."""
    from sdb.table.catalog.handle import open_table

    database, table, reference = named_table(name)
    return open_table(table_root(context), database, table, at=reference)


def database_and_pattern(root: TableRoot, name: str, pattern: str | None) -> tuple[str, str]:
    """Return the database and the pattern for tables that ``DB [PATTERN]`` or ``DB.TABLE`` name.

    Raises `UsageError` if a version or branch of a table is named.
    """
    if "@" in (pattern or name):
        raise UsageError(f"{pattern or name} is a version of a table", expected="DB.TABLE")
    if pattern is not None:
        return name, pattern
    database, dot, table = name.partition(".")
    # A database of the original may have a dot in its name.
    return (database, table) if dot and name not in root.databases() else (name, "*")


def tables_on_branch(
    root: TableRoot, name: str, pattern: str | None, branch: str
) -> tuple[str, str, str]:
    """Return the database, the pattern and the branch; of one table it may stand behind the name.

    Raises `UsageError` if an option names another branch.
    """
    named = name if pattern is None else f"{name}.{pattern}"
    if "@" in named:
        return branch_of(named, branch)
    return *database_and_pattern(root, name, pattern), branch


def listed_place(context: Context, what: str | None) -> tuple[Context, str | None, str | None]:
    """Return the root, the database and the pattern of tables that the word of `sdb ls` means.

    It is a root if it looks like one, or is a folder, unless the root has a database of that name.
    """
    from sdb.store.url import store_of

    if what is None:
        return context, None, None
    is_path = "/" in what or what in {".", ".."}
    if is_path or (not context.own and store_of(what).is_folder(what)):
        database = what.partition(".")[0]
        if is_path or database not in table_root(context).databases():
            return context.at(what), None, None
    database, _, table = what.partition(".")
    return context, database, table or None


def check_has_rows(root: TableRoot, database: str, table: str) -> None:
    """Check that a table is more than a definition, which can be neither dropped nor renamed.

    Raises `UsageError` if it is no more.
    """
    from sdb.table.catalog.handle import find_table
    from sdb.table.format.keys import TableKeys

    definition = TableKeys(database, table).definition
    if find_table(root, database, table) is None and root.has(definition):
        what = f"{database}.{table} has no rows yet, it is only a definition"
        raise UsageError(what, hint=f"removing {root.place(definition)} is all that it takes")


def is_view(root: TableRoot, database: str, table: str, *, dropped: bool = False) -> bool:
    """Return whether a name is that of a view, and of no table.

    * ``dropped``: Whether one that was dropped is meant, too.
    """
    from sdb.table.catalog.handle import find_table
    from sdb.table.catalog.views import find_name
    from sdb.table.format.keys import TableKeys

    head = find_table(root, database, table)
    if head is not None and (dropped or not head.is_dropped):
        return False
    read = find_name(root, TableKeys(database, table))
    if read is None:
        return False
    return read.view.newest is not None or (dropped and bool(read.view.versions))


def quoted(database: str, table: str) -> str:
    """Write the name of a table as statements have it."""
    parts = (part.replace("\\", "\\\\").replace('"', '\\"') for part in (database, table))
    return ".".join(f'"{part}"' for part in parts)


def tell_pending(handle: TableHandle) -> None:
    """Write a line to standard error if a transaction under way may change a table."""
    if handle.joint is None or not handle.joint.is_pending:
        return
    from sdb.cli import output

    key = handle.joint.state.transaction
    output.note(f"{handle.name}: the transaction {key} is under way, and does not count yet")


def named_versions(root: TableRoot, database: str, table: str, kind: str, *, as_json: bool) -> None:
    """List the tags or the branches of a table."""
    from sdb import instants
    from sdb.cli import output
    from sdb.table.catalog.handle import open_table
    from sdb.table.catalog.refs import refs

    named = [ref for ref in refs(open_table(root, database, table)) if ref.kind == kind]
    if as_json:
        output.say_json({"table": f"{database}.{table}", kind: [ref.as_dict() for ref in named]})
        return
    width = max((len(ref.name) for ref in named), default=0)
    for ref in named:
        version = "-" if ref.version is None else str(ref.version)
        at = instants.text(ref.at_us, fraction=False)
        output.say(output.plain(f"{ref.name:{width}}  {version:>6}  {at}"))


def author() -> str:
    """Return who is at work: ``SDB_AUTHOR``, or the name of the user."""
    return os.environ.get("SDB_AUTHOR") or os.environ.get("LOGNAME") or os.environ.get("USER") or ""


def partition_values(assignments: list[str]) -> dict[str, object]:
    """Read values of partition fields, ``FIELD=VALUE`` each.

    Raises `UsageError` if one has another form, or a field has two.
    """
    values: dict[str, object] = {}
    for assignment in assignments:
        field, mark, value = assignment.partition("=")
        if not mark or field in values:
            flaw = "the field has two values" if mark else "no value"
            raise UsageError(
                f"--partition {assignment}: {flaw}", expected="FIELD=VALUE, one for a field"
            )
        values[field] = value
    return values


def at_version(words: list[str], at: str) -> list[str]:
    """Return tables with the version that an option names, if it does.

    Raises `UsageError` if a word cannot be a table, or has a version already.
    """
    for word in words if at else ():
        if not _may_be_table(word):
            raise UsageError(f"--at {at} is a version, and {word} is no table", expected="DB.TABLE")
    return [referring(word, at) for word in words] if at else words


class Sources:
    """Finds what words mean; versions of tables that are read are kept from being collected.

    Tables are looked for only where a word may be one: what finds them takes long to load.
    """

    def __init__(self, context: Context, *, reading: RawReading | None = None) -> None:
        """Find words below a folder or URL; with `reading` also inputs that are no packfiles."""
        self.root = context.root
        self._reading = reading
        self._named: NamedPackfiles | None = None

    def __enter__(self) -> Self:
        """Return it, for a `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is open."""
        if self._named is not None:
            self._named.close()

    def resolve(self, words: Sequence[str]) -> list[PackfileReference]:
        """Return the packfiles, see :meth:`sdb.query.catalog.tablefiles.NamedPackfiles.resolve`."""
        if any(map(_may_be_table, words)):
            from sdb.query.catalog.tablefiles import NamedPackfiles

            self._named = NamedPackfiles(self.root)
            return self._packed(self._named.resolve(words))
        from sdb.packfile.read.resolve import resolve

        return self._packed(resolve(words, root=self.root or None))

    def _packed(self, references: list[PackfileReference]) -> list[PackfileReference]:
        """Have inputs that are no packfiles packed when their references are opened."""
        if self._reading is None or all(each.name.endswith(_SUFFIX) for each in references):
            return references
        from sdb.query.catalog.ondemand import packed_reference

        return [packed_reference(each, self._reading) for each in references]

    @property
    def schemas(self) -> dict[str, TableSchema]:
        """The schemas of the tables that were resolved, by their names."""
        return {} if self._named is None else self._named.schemas

    def tell_stored(self, what: str) -> None:
        """Write a note that rows are those that are stored, where a table has a schema."""
        if self.schemas:
            from sdb import notes

            listed = ", ".join(self.schemas)
            notes.warn(
                f"{listed} has a schema: {what} rows as they are stored, and not its columns"
            )


def _may_be_table(word: str) -> bool:
    return "/" not in word and not word.endswith(_SUFFIX)
