"""The reference of functions: complete, fresh, and every example gives what it says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import UsageError
from sdb.query.analyze import reference
from sdb.query.analyze.signatures import CASTS, FUNCTIONS
from sdb.query.syntax import aggregatecalls, othernames
from sdb.query.syntax.clauses import lambdas
from sdb.query.syntax.lexer import AGGREGATES
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = reference.entries()
OTHERS = aggregatecalls.SAME_AGGREGATES.keys() | aggregatecalls.WITHIN.keys()


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    page = (ROOT / "docs/sql.md").read_text()
    rows = re.findall(r"^```ndjson\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (folder / "people.json").write_text("".join(rows))
    sdb.pack([folder / "people.json"], folder / "people.zion")
    return folder


def results(entry: reference.FunctionEntry, folder: Path) -> str:
    """Return what the example of an entry gives, as the page writes it."""
    source = "" if " FROM read" in entry.example else " FROM read_file('people.zion')"
    tail = {"aggregates": source, "windows": f"{source} ORDER BY name"}.get(entry.kind, "")
    is_whole = "(*)" in entry.example  # its columns are those of the row
    query = f"SELECT {entry.example}{'' if is_whole else ' AS x'}{tail}"
    with sdb.sql(query, root=str(folder)) as result:
        rows: list[dict[str, Any]] = [
            json.loads(line) for line in b"".join(result.lines()).splitlines()
        ]
    if is_whole:
        return ", ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return ", ".join(
        json.dumps(row["x"], ensure_ascii=False) if "x" in row else "MISSING" for row in rows
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_examples_give_what_they_say(entry: reference.FunctionEntry, people: Path) -> None:
    assert results(entry, people) == entry.result


def test_each_function_has_one_entry() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    wanted = FUNCTIONS.keys() | (AGGREGATES - OTHERS) | {"FIRST", "LAST"}
    wanted |= {f"CAST(x AS {name})" for name in CASTS}
    assert wanted - set(names) == set(), "write a line in sdb/query/analyze/functions.txt"
    assert set(names) - wanted == reference.OF_SYNTAX.keys()


def test_other_spellings_are_those_of_the_parser() -> None:
    listed = {alias.partition("(")[0] for entry in ENTRIES for alias in entry.aliases}
    tables = (othernames.NAMES, othernames.TYPES, othernames.FIELDS, othernames.CASTS)
    tables += (othernames.STARTS, othernames.STRIDES, aggregatecalls.FOREIGN)
    elements = lambdas.NAMES.keys() - set(lambdas.NAMES.values())
    assert listed == set().union(*tables, OTHERS, elements, {"IIF"})
    assert ("LEVENSHTEIN", ("EDIT_DISTANCE",)) in [(e.name, e.aliases) for e in ENTRIES]


def test_the_page_is_fresh() -> None:
    page = (ROOT / "docs/functions.md").read_text()
    assert page == reference.page(), "run python -m sdb.query.analyze.reference > docs/functions.md"


def test_a_pattern_selects() -> None:
    def names(pattern: str) -> list[str]:
        return [entry.name for entry in reference.entries(pattern)]

    regexps = ["REGEXP_LIKE", "REGEXP_EXTRACT", "REGEXP_EXTRACT_ALL", "REGEXP_REPLACE"]
    assert names("regexp") == regexps
    assert names("max_by") == ["ARG_MAX"]
    assert names("geo_tile_?") == ["GEO_TILE_X", "GEO_TILE_Y"]
    assert "GEO_HASH" in names("geography")
    with pytest.raises(UsageError, match="no function matches 'UPER'") as raised:
        names("UPER")
    assert raised.value.hint == "did you mean UPPER?"
