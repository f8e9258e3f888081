"""Upkeep: what `sdb maintain` does for a table, as its definition says."""

from __future__ import annotations

from sdb import durations
from sdb.errors import InputError, UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

FLAGS = ("sync", "compact", "expire", "collect")
MEMBERS = (*FLAGS, "grace", "changed")
CHANGED = ("keep", "replace", "fail")
DEFAULT_GRACE = "24h"
_MOST_GRACE_SECONDS = 36_525 * 86_400


@record
class UpkeepPolicy:
    """Policy of `sdb maintain` for a table; a member that only `sdb` knows.

    Attributes
    ----------
    sync : bool
        Whether new inputs are taken.
    compact : bool
        Whether small packfiles are merged, and those of a clustered table sorted.
    expire : bool
        Whether versions leave the history that the policy of versions does not keep.
    collect : bool
        Whether objects are deleted that no version needs.
    grace : str
        How long readers may go on reading what has expired or was replaced, as in ``24h``.
    changed : str
        ``keep``, ``replace`` or ``fail``: what becomes of the rows of inputs that have changed
        after they were taken, also where `sdb sync` is not told; empty: it does not say.
    """

    sync: bool = False
    compact: bool = True
    expire: bool = True
    collect: bool = True
    grace: str = DEFAULT_GRACE
    changed: str = ""

    @property
    def grace_seconds(self) -> float:
        """The grace time in seconds."""
        return durations.seconds(self.grace)

    @classmethod
    def of_members(cls, flags: Mapping[str, bool], grace: str, changed: str = "") -> Self:
        """Return the policy of what a definition says.

        * ``flags``: Those of the members that are true or false, as far as they are there.
        * ``grace, changed``: A span of time, and one of `CHANGED`; empty: not given.

        Raises `InputError` if the grace time is no span of time, or `changed` is not one of its
        values.
        """
        grace = grace or DEFAULT_GRACE
        try:
            seconds = durations.seconds(grace)
        except UsageError as error:
            raise InputError(f"invalid upkeep.grace: {error.message}") from None
        if seconds > _MOST_GRACE_SECONDS:
            raise InputError(f"invalid upkeep.grace: {grace[:40]!r} is too long")
        if changed and changed not in CHANGED:
            message = f"invalid upkeep.changed: {changed[:40]!r}"
            raise InputError(message, expected=" or ".join(CHANGED))
        return cls(**flags, grace=grace, changed=changed)

    def members(self) -> list[tuple[str, str]]:
        """Return the members that are not the usual ones, as texts of JSON."""
        usual = UpkeepPolicy()
        flags = [
            (name, "true" if getattr(self, name) else "false")
            for name in FLAGS
            if getattr(self, name) != getattr(usual, name)
        ]
        texts = [
            (name, f'"{getattr(self, name)}"')
            for name in ("grace", "changed")
            if getattr(self, name) != getattr(usual, name)
        ]
        return flags + texts


# Exports: the mirrors of a table that `sdb maintain` keeps up, as its definition says.

FORMATS = ("delta", "iceberg")
EXPORT_MEMBERS = ("format", "to", "squash")


@record
class ExportPolicy:
    """A mirror of a table; a member that only `sdb` knows.

    Attributes
    ----------
    format : str
        ``delta`` or ``iceberg``.
    to : str
        An s3:// URL, or a folder: relative paths start at the root. Of Iceberg a catalog, and the
        table in it.
    squash : bool
        Whether all versions that are new become one commit.
    """

    format: str
    to: str
    squash: bool = False

    def location(self, root: str) -> str:
        """Return where the mirror is.

        * ``root``: Folder or URL of the root.
        """
        if self.format == "iceberg" or "://" in self.to or self.to.startswith("/"):
            return self.to
        return f"{root.rstrip('/')}/{self.to}"

    def flaws(self) -> list[str]:
        """Report what is wrong with it; nothing: it is good."""
        flaws = []
        if self.format not in FORMATS:
            flaws.append(f"exports.format {self.format[:40]!r}: expected {' or '.join(FORMATS)}")
        if self.format == "iceberg":
            if "." not in self.to.rpartition("/")[2] or "/" not in self.to:
                flaws.append(f"exports.to {self.to[:60]!r}: expected CATALOG/NAMESPACE.TABLE")
            return flaws
        scheme, mark, path = self.to.partition("://")
        if not self.to:
            flaws.append("exports.to is missing: no place to export to")
        elif mark and scheme not in {"s3", "file"}:
            flaws.append(f"exports.to {self.to[:60]!r}: expected a folder, or s3://")
        elif not mark and self.to.split("/")[0] in {"db", "..", "."}:
            flaws.append(
                f"exports.to {self.to[:60]!r} leads to the tables of the root, or out of it"
            )
        elif mark and not path:
            flaws.append(f"exports.to {self.to[:60]!r} names no folder")
        return flaws
