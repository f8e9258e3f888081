"""`docs/architecture.md` names what is there, and all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMES = set(re.findall(r"`([^`\n]+)`", PAGE))
RUST, BINDINGS = ROOT / "rust/zion/src", ROOT / "rust/py/src"
MOST_FILES = 5
FILE = re.compile(r"[\w*./]+(\.(rs|py|pyi|md)|/)|\w+(/\w+)+")
# Where a name on the page may begin.
PLACES = [ROOT, ROOT / "sdb", ROOT / "sdb/packfile/trailer", RUST, BINDINGS]


def is_there(name: str) -> bool:
    return any(next(item.glob(name.rstrip("/")), None) for item in PLACES)


def test_every_file_on_the_page_exists() -> None:
    files = {name for name in NAMES if FILE.fullmatch(name)}
    assert len(files) > 60
    assert sorted(name for name in files if not is_there(name)) == []


def test_every_name_in_a_file_is_in_it() -> None:
    named = re.findall(r"`(\w+)` (?:in|of) `([\w/]+\.py)`", PAGE)
    assert len(named) > 5
    for name, file in named:
        (path,) = (above / file for above in (ROOT, ROOT / "sdb") if (above / file).exists())
        assert re.search(rf"\b{name}\b", path.read_text()), (name, file)


def test_words_lead_to_the_code_that_answers_a_question() -> None:
    table = PAGE.partition("## Where to look")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    rows = [row for row in rows[1:] if row[1] != "its own words"]
    assert len(rows) >= 10
    sources = [*(ROOT / "sdb").rglob("*.py"), *RUST.rglob("*.rs")]
    texts = {path: path.read_text().lower() for path in sources}
    for _, words, _, code in rows:
        hits = [path for path, text in texts.items() if words.lower() in text]
        names = re.findall(r"`([\w./]+/[\w.]+)`", code)
        meant = [above / name for name in names for above in PLACES if (above / name).exists()]
        assert 0 < len(hits) <= MOST_FILES, words
        assert any(path == at or at in path.parents for path in hits for at in meant), words


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert len(links) > 3
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        (ROOT / "sdb", "**/__init__.py"),
        (RUST, "*.rs"),
        (RUST, "*/mod.rs"),
        (RUST / "ingest", "*/mod.rs"),
        (BINDINGS, "*.rs"),
    ],
    ids=["packages", "files", "modules", "inputs", "bindings"],
)
def test_everything_is_on_the_page(folder: Path, pattern: str) -> None:
    places = [path for path in folder.glob(pattern) if path.name != "lib.rs"]
    packed = {path.parent if path.name in {"__init__.py", "mod.rs"} else path for path in places}
    base = ROOT / "sdb" if folder == ROOT / "sdb" else BINDINGS if folder == BINDINGS else RUST
    names = {str(path.relative_to(base)) for path in packed - {folder}}
    assert len(names) > 3
    assert sorted(names - NAMES) == []
