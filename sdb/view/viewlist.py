"""Views for people: a list of them with their queries, and the versions of one."""

from __future__ import annotations

from sdb import instants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.catalog.views import View
    from sdb.table.format.view import ViewVersion


def listed(views: Iterable[View]) -> str:
    """List views: a line of facts each, and the query as it was written below."""
    parts = []
    for view in views:
        newest = view.newest
        facts = [f"version {newest.version:,}", instants.text(newest.at_us), newest.author]
        facts += [f"dialect {newest.dialect}"] if newest.dialect else []
        parts.append(f"{view.name}  {'  '.join(filter(None, facts))}\n{_indented(newest.text)}")
    return "\n".join(parts)


def versions(listed_versions: Sequence[ViewVersion]) -> str:
    """List the versions of a view, each with its query."""
    parts = []
    for version in listed_versions:
        facts = [instants.text(version.at_us), version.operation, version.author, version.message]
        facts += [f"dialect {version.dialect}"] if version.dialect else []
        text = _indented(version.text) if version.text else ""
        parts.append(f"{version.version:>4}  {'  '.join(filter(None, facts))}\n{text}")
    return "".join(parts)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
