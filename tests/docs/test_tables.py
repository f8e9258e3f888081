"""The members of a version in docs/tables.md are those that its codec declares, of these types."""

from __future__ import annotations

import re
from pathlib import Path

from sdb.table.format import view
from sdb.table.format.history import HistoryRef, PastVersion, VersionPointer
from sdb.table.format.state import VersionChanges, VersionState

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
SECTION = PAGE.partition("## The state of a version\n")[2].partition("\n## ")[0]
INSIDE = {
    "parent": VersionPointer,
    "changes": VersionChanges,
    "history": PastVersion,
    "older": HistoryRef,
}


def rows() -> dict[str, str]:
    """Return the types that the page has for members, by name."""
    types = {}
    for line in SECTION.splitlines():
        if line.startswith("| `"):
            names, kinds = (cell.strip() for cell in line.split("|")[1:3])
            listed = re.findall(r"`([^`]+)`", names)
            parts = kinds.split(", ") if kinds.count(", ") == len(listed) - 1 else []
            types |= dict(zip(listed, parts or [kinds] * len(listed), strict=True))
    return types


def kind(text: str) -> str:
    """Return what a codec calls a type: without notes and the members of structs."""
    plain = re.sub(r" \[\d+\]", "", text)
    plain = re.sub(r"\bversions?\b", "struct", plain)
    plain = re.sub(r"structs? (of (?=`)|like ).*", "struct", plain)
    return plain.replace("structs", "struct")


def members(text: str) -> set[str]:
    """Return the members of a struct, which the note of its type lists."""
    number = re.findall(r"\[(\d+)\]", text)[-1]
    note = re.search(rf"^{number}\. (.*?)\.$", SECTION, re.MULTILINE | re.DOTALL)
    assert note is not None
    return set(re.findall(r"`([^`]+)`", note[1].split(".\n")[0]))


def test_the_members_of_a_version_are_those_of_its_codec() -> None:
    declared = {member.wire: member.codec.kind for _, member in VersionState.layout.members}
    assert len(declared) > 30
    assert {name: kind(text) for name, text in rows().items()} == {"format": "int"} | declared


def test_the_members_of_structs_in_it_are_those_of_their_codecs() -> None:
    types = rows()
    for name, codec in INSIDE.items():
        assert members(types[name]) == codec.layout.names, name


def test_the_members_of_a_view_are_those_of_its_codecs() -> None:
    section = PAGE.partition("## Views\n")[2].partition("\n## ")[0]
    rows_of_views = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert rows_of_views == view.StoredView.layout.names
    for number, codec in (("1", view.ViewVersion), ("2", view.NameClaim)):
        note = re.search(rf"^{number}\. Of (.*?)\.$", section, re.MULTILINE | re.DOTALL)
        assert note is not None
        first = re.sub(r" \(.*?\)", "", note[1].split(".\n")[0])
        assert set(re.findall(r"`([^`]+)`", first)) == codec.layout.names
