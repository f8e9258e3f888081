"""The glossary: short, and of the names that the code has."""

from __future__ import annotations

import re

from tests.examples import ROOT

ROWS = re.findall(
    r"^\| (?!term)([^|-][^|]*) \| ([^|]*) \| ([^|]*)\|$",
    (ROOT / "docs/glossary.md").read_text(),
    re.MULTILINE,
)


def test_it_has_at_most_sixty_terms_of_a_sentence_each() -> None:
    assert 40 < len(ROWS) <= 60
    assert len({term for term, _, _ in ROWS}) == len(ROWS)
    assert [meaning for _, meaning, _ in ROWS if not re.fullmatch(r"[A-Z].*[.]", meaning)] == []
    assert [meaning for _, meaning, _ in ROWS if ". " in meaning] == []


def test_its_classes_are_in_the_package() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "sdb").rglob("*.py"))
    classes = set(re.findall(r"^class (\w+)", code, re.MULTILINE))
    named = {name.strip().strip("`") for _, _, name in ROWS} - {""}
    assert len(named) > 15
    assert named - classes == set()
