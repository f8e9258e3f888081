"""Every format of the registry is recognised, parsed, documented and offered."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sdb
from sdb import formats
from sdb._core import Packer
from sdb.cli import complete
from sdb.cli.shell import suggestions
from sdb.packfile.inputs.inputs import recognise

DOCS = Path(__file__).parents[2] / "docs"
INPUTS = [form for form in formats.FORMATS if form.is_input]
MARKED = [form for form in INPUTS if form.magic]


@pytest.mark.parametrize("form", INPUTS, ids=lambda form: form.name)
def test_inputs_are_documented(form: formats.Format) -> None:
    page = (DOCS / "inputs.md").read_text()
    table = page.partition("## Formats")[2].partition("\ngzip")[0]
    name = f"`{(*form.suffixes, form.name)[0]}`"
    if form.is_log:  # these have a separate table, but for those that are CSV and TSV
        logs = page.partition("## Logs")[2]
        rows = [row for row in logs.splitlines() if row.startswith(f"| {name}")]
    else:
        rows = [row for row in table.splitlines() if name in row]
    assert len(rows) == 1 or name in {"`w3c`", "`zeek`", "`postgres-csv`"}
    assert not rows or form.title in rows[0]
    rows = rows or [page]
    assert all(f"`{suffix}`" in rows[0] for suffix in form.suffixes)
    if form.magic.isalnum():
        assert form.magic.decode() in rows[0]
    elif form.magic:
        assert form.magic.hex(" ").upper() in rows[0]


@pytest.mark.parametrize("form", INPUTS, ids=lambda form: form.name)
def test_inputs_are_parsed_and_offered(form: formats.Format) -> None:
    hints = b"{}" if form.takes_hints and form.name == "json" else None
    with Packer(algorithm="zstd") as packer:
        pattern = ":(?P<line>.*)" if form.name == formats.PATTERN else ""
        packer.begin("input", form.parser + pattern, "none", hints)
    for named in (form.name, *form.suffixes):
        assert formats.input_named(named + pattern) == (form.name + pattern, "none")
    option: Any = SimpleNamespace(metavar="SUFFIX")
    offers = complete.offers(option)
    assert offers is not None
    words = [word + "(?P<line>.*)" * word.endswith(":") for word in offers("")]
    assert any(formats.input_named(word)[0] == form.name + pattern for word in words)
    for suffix in form.suffixes:
        assert suggestions.is_input(f"events{suffix}")


@pytest.mark.parametrize(
    "form", [form for form in INPUTS if form.magic], ids=lambda form: form.name
)
def test_inputs_are_recognised_by_their_magic(tmp_path: Path, form: formats.Format) -> None:
    path = tmp_path / "without a suffix"
    path.write_bytes(form.magic)
    assert recognise(path).format == form.parser


def test_outputs_of_results_are_documented() -> None:
    (writer,) = set(formats.WRITERS) - {"unpack", "grep", "rows", "shown"}  # their --help is made
    listed = ", ".join(f'"{name}"' for name in formats.written_by(writer))
    assert f"{{{listed}}}" in (sdb.Result.write.__doc__ or "")


def test_suffixes_of_outputs_and_compressions_are_documented() -> None:
    common = (DOCS / "cli.md").read_text().partition("\n## sdb ")[0]
    for form in formats.FORMATS:
        if form.writers:
            assert [suffix for suffix in form.suffixes if f"`{suffix}`" not in common] == []
    for compression in formats.COMPRESSIONS:
        assert compression.name in (DOCS / "inputs.md").read_text()
        assert f"`{compression.suffix}`" in common


def test_writers_are_those_that_are_named() -> None:
    assert frozenset().union(*(form.writers for form in formats.FORMATS)) == set(formats.WRITERS)
    assert len({suffix for form in formats.FORMATS for suffix in form.suffixes}) == sum(
        len(form.suffixes) for form in formats.FORMATS
    )
