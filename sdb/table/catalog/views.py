"""Views: found by name, listed, and their versions looked up."""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, NotFoundError, SdbError, UnsupportedError
from sdb.records import field, record
from sdb.table.format.keys import TableKeys, flaw_of_name, joined
from sdb.table.format.versionref import (
    MAIN,
    BeforeFirstError,
    ExpiredError,
    UnknownReferenceError,
    parse_reference,
)
from sdb.table.format.view import MAX_BYTES, ViewObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot, Visible
    from sdb.table.format.versionref import Given
    from sdb.table.format.view import ViewVersion


@record
class FoundName:
    """The object of a name, as it was read."""

    view: ViewObject  # what it says
    reader: Reader = field(repr=False)  # the version of the object, closed


@record
class View:
    """A view as its object was when it was read.

    Attributes
    ----------
    database, view : str
        Its names.
    newest : ViewVersion
        Its newest version, which has its text.
    versions : tuple of ViewVersion
        Its versions, the oldest first.
    """

    database: str
    view: str
    newest: ViewVersion
    versions: tuple[ViewVersion, ...] = field(repr=False)
    # The object, and the version of it that was read
    location: str = field(default="", repr=False)
    read_version: str = field(default="", repr=False)
    # Where the index of a table of that name would be, and the version of one that was dropped
    table_location: str = field(default="", repr=False)
    table_version: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its name with that of the database: ``db.view``."""
        return joined(self.database, self.view)

    def at(self, reference: Given) -> tuple[ViewVersion, int]:
        """Return the version that a reference means, and the moment as of which it reads.

        * ``reference``: As of a table; a view has no tags and branches. A number means the moment
          at which that version was made; a time means itself.

        Returns: The version, and the moment in microseconds since 1970.
        Raises `BeforeFirstError`, `ExpiredError` or `UnknownReferenceError` if there is no such
        version, or the view was dropped then.
        """
        wanted = parse_reference(reference)
        if wanted.kind in {"name", "tag", "branch"} or wanted.branch != MAIN:
            hint = "name the branch or tag behind the tables that it reads"
            text = wanted.text or wanted.name
            what = f"{self.name} is a view: it has no tags and branches, and so no {text!r}"
            raise UnknownReferenceError(what, hint=hint)
        meant = self._meant(wanted.kind, wanted.number)
        if meant is None:
            first, last = self.versions[0], self.versions[-1]
            hint = f"it has the versions {first.version} to {last.version}: sdb log {self.name}"
            message = f"{self.name} has no version {wanted.text or wanted.number}"
            if wanted.kind == "time":
                raise BeforeFirstError(f"{self.name} was not there at {wanted.text}", hint=hint)
            is_expired = wanted.kind == "version" and 0 < wanted.number < first.version
            raise (ExpiredError if is_expired else UnknownReferenceError)(message, hint=hint)
        if meant.is_dropped:
            raise UnknownReferenceError(
                f"the view {self.name} was dropped in its version {meant.version}",
                hint=f"sdb log {self.name} lists its versions",
            )
        return meant, wanted.number if wanted.kind == "time" else meant.at_us

    def _meant(self, kind: str, number: int) -> ViewVersion | None:
        if kind == "time":
            before = [version for version in self.versions if version.at_us <= number]
            return before[-1] if before else None
        wanted = number if kind == "version" else self.newest.version - number
        at = wanted - self.versions[0].version
        return self.versions[at] if 0 <= at < len(self.versions) else None

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        newest = self.newest.as_dict()
        return {"database": self.database, "view": self.view, **newest}


def find_name(root: TableRoot, keys: TableKeys) -> FoundName | None:
    """Read the object of a name; None: it is not there.

    Raises `CorruptError` or `UnsupportedError` if it is damaged, or of a later format.
    """
    try:
        reader = root.open(keys.view)
    except NotFoundError:
        return None
    try:
        if reader.size_bytes > MAX_BYTES:
            raise CorruptError(f"{keys.view} is {reader.size_bytes:,} bytes; too big")
        data = reader.read(0, reader.size_bytes)
    finally:
        reader.close()
    try:
        return FoundName(ViewObject.decode(data, root.keyring), reader)
    except (CorruptError, UnsupportedError) as error:
        raise error.within(f"reading {keys.view}", path=keys.view) from None


def find_view(root: TableRoot, database: str, view: str) -> View | None:
    """Find a view by its name; None: there is no such view.

    Raises `CorruptError` or `UnsupportedError` if its object is damaged, or of a later format.
    """
    if flaw_of_name(database) or flaw_of_name(view):
        return None
    keys = TableKeys(database, view)
    read = find_name(root, keys)
    if read is None or read.view.newest is None:
        return None
    versions = read.view.versions
    places = root.place(keys.view), read.reader.version, root.place(keys.index)
    return View(database, view, read.view.newest, versions, *places)


def view_names(root: TableRoot, database: str | None = None) -> list[tuple[str, str]]:
    """Return the names that may be those of views, by database and view, sorted."""
    databases = root.named_folders("views") if database is None else [database]
    return sorted(
        (name, entry.name)
        for name in databases
        if not flaw_of_name(name)
        for entry in root.store.list(root.place(f"views/{name}"))
        if not flaw_of_name(entry.name)
    )


def views(
    root: TableRoot, database: str | None = None, *, visible: Visible | None = None
) -> Iterator[View]:
    """Iterate over the views below a root, or those of one database; damaged ones are left out.

    Each is read when it is its turn, and none that is not visible.
    """
    for names in view_names(root, database):
        if visible is not None and not visible(*names):
            continue
        try:
            view = find_view(root, *names)
        except SdbError as error:
            notes.warn(f"left out: {error.message}")
            continue
        if view is not None:
            yield view
