"""Exports: the mirrors of a table that `sdb maintain` keeps up, as its definition says."""

from __future__ import annotations

from sdb.records import record

FORMATS = ("delta", "iceberg")
MEMBERS = ("format", "to", "squash")


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
