"""The result of a sync: which inputs came in, which failed, and which are not what they were."""

from __future__ import annotations

from sdb.records import field_names, record, replace
from sdb.sizes import counted


@record
class Retired:
    """The rows that a retention policy has taken out of a table, or would."""

    packfiles: int = 0  # number of packfiles that went as they were: all of their rows were too old
    rewritten: int = 0  # number of those that were written again without some of their rows
    rows: int = 0  # number of rows that went, as far as it is known

    def __bool__(self) -> bool:
        """Return whether anything went."""
        return bool(self.packfiles or self.rewritten)

    def __add__(self, other: Retired) -> Retired:
        """Return both."""
        return Retired(
            self.packfiles + other.packfiles,
            self.rewritten + other.rewritten,
            self.rows + other.rows,
        )

    def __str__(self) -> str:
        """Write it for people.

        >>> print(Retired(2, 1, 1234))
        1,234 rows (all of 2 packfiles and some of 1 packfile)
        """
        numbers = (("all", self.packfiles), ("some", self.rewritten))
        parts = [f"{share} of {counted(count, 'packfile')}" for share, count in numbers if count]
        return f"{counted(self.rows, 'row')} ({' and '.join(parts)})"


NOTHING = Retired()


@record
class RejectedInput:
    """An input that has no rows in the table.

    Attributes
    ----------
    uri, etag : str
        The input.
    reason : str
        What is wrong with it.
    """

    uri: str
    etag: str
    reason: str


@record
class SourceVersion:
    """A version of a Delta or Iceberg table that was taken.

    Attributes
    ----------
    source : str
        The pattern that names the table.
    source_version : int
        Its version; of Iceberg the id of the snapshot.
    version : int
        The version that it became.
    rows, rows_removed : int
        Number of rows that came in, and that went.
    """

    source: str
    source_version: int
    version: int
    rows: int
    rows_removed: int

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "source": self.source,
            "source_version": self.source_version,
            "version": self.version,
            "rows": self.rows,
            "rows_removed": self.rows_removed,
        }


@record
class Synced:
    """The result of a sync of one table.

    Attributes
    ----------
    database, table : str
        Its names.
    version : int or None
        The last version that it made; None: there was nothing to do, or nothing was to be done.
    taken : tuple of str
        URIs of inputs whose rows came in, or would have.
    rows, text_bytes : int
        Numbers of rows and of bytes of text that came in.
    rejected : tuple of RejectedInput
        Inputs that failed now.
    changed, vanished : tuple of str
        URIs of inputs whose rows are those of another content, or of none that is there.
    replaced, deleted : tuple of str
        URIs of inputs that were changed, or vanished, and whose old rows went, or would have.
    rows_removed : int
        Number of these rows.
    retired, retired_rewritten, retired_rows : int
        Numbers of packfiles that went before, or would have, because the retention policy keeps no
        row of theirs; of those that were written again without some of their rows; and of all these
        rows.
    passed : tuple of str
        URIs of inputs that were passed over: they have temporary names.
    renamed : tuple of tuple
        URIs of inputs that were taken under another name, and that name; they have no rows anew.
    sources : tuple of SourceVersion
        Versions of Delta and Iceberg tables that were taken, one version here for each.
    skipped, kept_records : int
        Numbers of malformed records that were passed over, and that are rows of their text.
    """

    database: str
    table: str
    version: int | None
    taken: tuple[str, ...]
    rows: int
    text_bytes: int
    rejected: tuple[RejectedInput, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    rows_removed: int = 0
    retired: int = 0
    passed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    sources: tuple[SourceVersion, ...] = ()
    retired_rewritten: int = 0
    retired_rows: int = 0
    skipped: int = 0
    kept_records: int = 0

    @property
    def retirement(self) -> Retired:
        """The rows that the retention policy took out before."""
        return Retired(self.retired, self.retired_rewritten, self.retired_rows)

    def after(self, retired: Retired) -> Synced:
        """Return the result of a sync, and of what the retention policy took out before."""
        numbers = retired.packfiles, retired.rewritten, retired.rows
        return replace(
            self, retired=numbers[0], retired_rewritten=numbers[1], retired_rows=numbers[2]
        )

    @property
    def is_nothing(self) -> bool:
        """Return whether nothing was to be done, and no input is other than it was."""
        counts = self.taken, self.rejected, self.changed, self.vanished, self.deleted, self.renamed
        return self.version is None and not (any(counts) or self.retirement or self.passed)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "database": self.database,
            "table": self.table,
            "version": self.version,
            "taken": list(self.taken),
            "rows": self.rows,
            "text_bytes": self.text_bytes,
            "rejected": [
                {"path": rejected.uri, "etag": rejected.etag, "reason": rejected.reason}
                for rejected in self.rejected
            ],
            "changed": list(self.changed),
            "vanished": list(self.vanished),
            "replaced": list(self.replaced),
            "deleted": list(self.deleted),
            "rows_removed": self.rows_removed,
            "retired": self.retired,
            "retired_rewritten": self.retired_rewritten,
            "retired_rows": self.retired_rows,
            "passed": list(self.passed),
            "renamed": [{"path": uri, "taken_as": before} for uri, before in self.renamed],
            "sources": [taken.as_dict() for taken in self.sources],
            "skipped": self.skipped,
            "kept": self.kept_records,
        }

    def followed_by(self, later: Synced) -> Synced:
        """Return the result of two syncs of one table together."""
        both = {
            name: getattr(self, name) + getattr(later, name)
            for name in field_names(Synced)
            if name not in {"database", "table", "version"}
        }
        version = self.version if later.version is None else later.version
        return Synced(self.database, self.table, version, **both)
