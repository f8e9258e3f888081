"""Values nested deeper than any stack: commands end with rows, or with an error that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attack import craft

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.conftest import Limited

ALIGN = 1 << 20
LEVELS = 500
A = 10


def write(path: Path, depth: int, *, of_structs: bool) -> None:
    """Write a packfile with one row of this many levels, itself the first, after a flat one."""
    deep = (
        craft.nested(craft.STRUCT, depth - 1, craft.put_varuint(A), craft.NULL)
        if of_structs
        else craft.nested(craft.LIST, depth - 1, inner=craft.NULL)
    )
    rows = craft.members((A, craft.integer(1))) + craft.members((A, deep))
    chunk = craft.plain_chunk(craft.table(b"a") + rows)
    path.write_bytes(craft.packfile([[chunk]], algorithm="zstd"))


@pytest.fixture(params=[False, True], ids=["lists", "structs"])
def of_structs(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("depth", [LEVELS, LEVELS + 1, 24_000, 150_000])
def test_append(tmp_path: Path, limited: Limited, depth: int, *, of_structs: bool) -> None:
    source = tmp_path / "deep.zion"
    write(source, depth, of_structs=of_structs)
    before = source.read_bytes()
    (tmp_path / "more.json").write_bytes(b'{"a": "new"}\n')
    # Full tables, and so other numbers for the names, follow where the rows fill the chunk.
    ended = limited("append", source, "more.json")
    if depth <= LEVELS:
        assert ended.code == 0, ended.errors
        assert limited("validate-file", source).code == 0
        assert limited("unpack", "--fmt", "json", source).output.count(b"\n") == 3
        return
    assert ended.code == 6, ended.errors
    assert f"a row is nested deeper than {LEVELS} levels" in ended.errors
    assert source.read_bytes() == before


def test_append_to_rows_that_fill_the_chunk(tmp_path: Path, limited: Limited) -> None:
    """Old rows that get a separate table are carried over to other symbols."""
    deep = craft.members(
        (A, craft.nested(craft.STRUCT, LEVELS - 1, craft.put_varuint(11), craft.NULL))
    )
    filler = craft.members((12, craft.value(craft.STRING, b"x" * (ALIGN - 20_000))))
    chunk = craft.table(b"a", b"b", b"c") + filler + deep
    source = tmp_path / "full.zion"
    source.write_bytes(craft.packfile([[craft.plain_chunk(chunk)]], algorithm="zstd"))
    row = b'{"d": "%s"}\n' % (b"y" * 30_000)
    (tmp_path / "more.json").write_bytes(row * 3)
    ended = limited("append", source, "more.json")
    assert ended.code == 0, ended.errors
    assert limited("validate-file", source).code == 0
    rows = limited("unpack", "--fmt", "json", source).output.splitlines()
    assert rows[1] == b'{"a": ' + b'{"b": ' * (LEVELS - 1) + b"null" + b"}" * LEVELS


def test_validate_file(tmp_path: Path, limited: Limited, *, of_structs: bool) -> None:
    source = tmp_path / "deep.zion"
    write(source, LEVELS, of_structs=of_structs)
    assert limited("validate-file", source).code == 0
    write(source, 100_000, of_structs=of_structs)
    ended = limited("validate-file", source)
    assert ended.code == 1
    actual = ended.output.decode() + ended.errors
    assert actual.count(f"nested deeper than {LEVELS} levels") == 1, actual


@pytest.mark.parametrize("command", ["unpack", "head"])
def test_rows_come_out(tmp_path: Path, limited: Limited, command: str, *, of_structs: bool) -> None:
    source = tmp_path / "deep.zion"
    depth = 100_000
    write(source, depth, of_structs=of_structs)
    arguments = ("--fmt", "json") if command == "unpack" else ()
    ended = limited(command, *arguments, source)
    assert (ended.code, ended.errors) == (0, "")
    bracket = b'{"a": ' if of_structs else b"["
    assert ended.output.splitlines()[1].count(bracket) == depth - 1 + of_structs


FORMS = ["table", "csv", "tsv", "markdown", "ion", "arrow", "parquet"]


@pytest.mark.parametrize(
    ("form", "query"),
    [(form, "SELECT * FROM {}") for form in FORMS]
    + [(form, "SELECT a, 1 AS b FROM {} ORDER BY b") for form in ("csv", "ion")],
)
def test_forms_of_output(tmp_path: Path, limited: Limited, form: str, query: str) -> None:
    source = tmp_path / "deep.zion"
    write(source, 100_000, of_structs=True)
    text = query.format(f"'{source}'")
    ended = limited("query", "--fmt", form, "-o", "out", text, memory_bytes=4 << 30)
    if form in {"csv", "tsv", "markdown"}:  # lines of JSON to cells, at any depth
        assert ended.code == 0, ended.errors
        assert (tmp_path / "out").read_bytes().count(
            b'"a""' if form != "markdown" else b'"a"'
        ) > 99_000
        return
    # What is written with its types is read as it is by other commands, which refuse the file.
    assert ended.code == (6 if form in {"ion", "arrow", "parquet"} else 8), ended.errors
    assert "nested" in ended.errors.splitlines()[0]
    assert not (tmp_path / "out").exists()
