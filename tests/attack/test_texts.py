"""A long symbol that is referenced everywhere: a megabyte that stands for 137 GB of text."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.attack import craft
from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.conftest import Limited

MIB = 1 << 20
ALIGN = MIB
LONG = b"x" * (512 << 10)
A, TEXT = 10, 11
REFERENCE = craft.symbol(TEXT)
TABLE = craft.table(b"a", LONG)
ROOM = ALIGN - len(TABLE) - 16


def in_one_row(kind: int = craft.LIST) -> bytes:
    """A row with a list, or a struct, of nothing but the long text: 137 GB of it."""
    item = REFERENCE if kind == craft.LIST else craft.put_varuint(A) + REFERENCE
    count = 260_000 if kind == craft.LIST else 170_000
    return craft.members((A, craft.value(kind, item * min(count, ROOM // len(item) - 8))))


def in_each_row() -> bytes:
    """How many rows with the long text: 68 GB of it."""
    row = craft.members((A, REFERENCE))
    return row * (ROOM // len(row))


CONTENT = {
    "rows": in_each_row(),
    "list": in_one_row(),
    "struct": in_one_row(craft.STRUCT),
}


@pytest.fixture(params=["zstd", "zion+zstd"])
def algorithm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(path: Path, name: str, algorithm: str = "zstd") -> None:
    content = CONTENT[name]
    if algorithm == "zstd":
        chunk = craft.plain_chunk(TABLE + content)
    elif name == "rows":
        field = craft.put_varuint(A) + REFERENCE
        count = ROOM // (len(field) + 1)
        chunk = craft.zion_rows(TABLE + b"\x01\x0e" * count, {14: field * count})
    else:
        body = content[head_of(content) :]
        chunk = craft.zion_rows(TABLE + b"\xc1\x0e", {14: body})
    path.write_bytes(craft.packfile([[chunk]], algorithm=algorithm))


def head_of(row: bytes) -> int:
    """Length of the header of a long struct."""
    at = 1
    while not row[at] & 0x80:
        at += 1
    return at + 1


QUERIES = [
    ("json", "SELECT * FROM {}"),
    ("csv", "SELECT * FROM {}"),
    ("arrow", "SELECT a FROM {}"),
    ("json", "SELECT a FROM {} ORDER BY a LIMIT 3"),
    ("json", "SELECT COUNT(DISTINCT a) AS n FROM {}"),
    ("json", "SELECT a, COUNT(*) AS n FROM {} GROUP BY a"),
]


@pytest.mark.parametrize(
    ("name", "form"), [("list", "json"), ("struct", "json"), ("list", "arrow"), ("struct", "arrow")]
)
def test_a_row_is_refused(
    tmp_path: Path, limited: Limited, name: str, form: str, algorithm: str
) -> None:
    source = tmp_path / "long.zion"
    write(source, name, algorithm)
    assert source.stat().st_size < 10_000 + len(LONG)
    ended = limited("unpack", "--fmt", form, "-o", "out", source, memory_bytes=3 << 30)
    if (name, form) == ("struct", "arrow"):
        # Of fields of one name the first counts.
        assert ended.code == 0, ended.errors
        return
    assert ended.code == 6, ended.errors
    assert "of text" in ended.errors
    assert not (tmp_path / "out").exists()
    assert ended.peak_bytes < 700 * MIB


@pytest.mark.slow
@pytest.mark.parametrize("name", ["list", "rows"])
@pytest.mark.parametrize(("form", "query"), QUERIES)
def test_queries(tmp_path: Path, limited: Limited, name: str, form: str, query: str) -> None:
    source = tmp_path / "long.zion"
    write(source, name, "zion+zstd")
    text = query.format(f"'{source}'")
    ended = limited(
        "query", "--fmt", form, "-j", 2, "-o", "out", text, memory_bytes=6 << 30, seconds=100
    )
    if ended.code == 0:
        # Few rows of the long text: a place at the top, or one group, may be had without all of it.
        assert name == "rows"
        assert "LIMIT" in query or "GROUP BY" in query or "DISTINCT" in query
        assert 0 < (tmp_path / "out").stat().st_size < 4 * len(LONG)
    else:
        assert ended.code == 6, ended.errors
        assert "of text" in ended.errors
        assert not (tmp_path / "out").exists()
    assert ended.peak_bytes < 2048 * MIB


@pytest.mark.slow
def test_rows_of_a_column_are_refused_as_one_table(tmp_path: Path, limited: Limited) -> None:
    source = tmp_path / "long.zion"
    write(source, "rows", "zion+zstd")
    for form in ("arrow", "parquet"):
        ended = limited("unpack", "--fmt", form, "-o", "out", source, memory_bytes=4 << 30)
        assert ended.code == 6, ended.errors
        assert "of text" in ended.errors
        assert ended.peak_bytes < 2048 * MIB


def test_rows_come_out_line_by_line(tmp_path: Path, algorithm: str) -> None:
    """Any number of short rows may be long lines: they are written in bounded memory."""
    source = tmp_path / "long.zion"
    write(source, "rows", algorithm)
    process = subprocess.Popen(
        [*COMMAND, "unpack", "--fmt", "json", str(source)],
        stdout=subprocess.PIPE,
        env=environment(),
        cwd=tmp_path,
    )
    assert process.stdout is not None
    line = b'{"a": "%s"}\n' % LONG
    peak = 0
    for number in range(400):
        assert process.stdout.read(len(line)) == line, number
    peak = resident_bytes(process.pid)
    process.stdout.close()
    process.wait()
    assert peak < 300 * MIB


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:  # noqa: PTH123 - no file on a disk
        item = next(line for line in status if line.startswith("VmHWM"))
    return int(item.split()[1]) * 1024


def test_all_lines_are_there(tmp_path: Path, limited: Limited) -> None:
    """More than one piece of text of one chunk, then another chunk, with and without a limit."""
    text = b"y" * 5000
    count = 20_000
    row = craft.members((A, REFERENCE))
    numbered = [
        craft.table(b"a", text) + row * count + craft.members((A, craft.integer(n)))
        for n in range(3)
    ]
    source = tmp_path / "three.zion"
    chunks = [craft.plain_chunk(chunk) for chunk in numbered]
    source.write_bytes(craft.packfile([chunks[:2], chunks[2:]], algorithm="zstd"))
    line = b'{"a": "%s"}\n' % text
    expected = b"".join(line * count + b'{"a": %d}\n' % n for n in range(3))
    for threads in (1, 3):
        ended = limited("unpack", "--fmt", "json", "-j", threads, source, memory_bytes=2 << 30)
        assert ended.code == 0
        assert ended.output == expected
    ended = limited("unpack", "--fmt", "json", "--limit", count + 2, source, memory_bytes=2 << 30)
    assert ended.output == expected[: len(line) * (count + 1) + len(b'{"a": 0}\n')]


def test_symbols_of_a_block(tmp_path: Path, limited: Limited) -> None:
    """Tables that add to each other stop at four times the size of a chunk."""
    name = b"z" * (ALIGN - 100)
    chunks = [craft.plain_chunk(craft.table(name, marker=at == 0) + b"\xd0") for at in range(5)]
    source = tmp_path / "tables.zion"
    source.write_bytes(craft.packfile([chunks[:4]], algorithm="zstd"))
    assert limited("validate-file", source).code == 0
    assert limited("unpack", "--fmt", "json", source).output == b"{}\n" * 4
    source.write_bytes(craft.packfile([chunks], algorithm="zstd"))
    assert source.stat().st_size < 2_000
    ended = limited("unpack", "--fmt", "json", "-o", "out", source)
    assert ended.code == 6
    assert "the limit is 4194304" in ended.errors


def test_rows_without_fields(tmp_path: Path, limited: Limited) -> None:
    """2 KB that stand for millions of rows: as many as rows with a field would be."""
    source = tmp_path / "empty.zion"
    for shift, rows in ((20, 1 << 20), (24, (1 << 24) // 3)):
        head = craft.table()
        for more in (0, 1):
            count = min(rows, (1 << shift) - len(head)) + more
            chunk = craft.zion_rows(head + bytes(count), {})
            source.write_bytes(craft.packfile([[chunk]], blockshift=shift))
            assert source.stat().st_size < 4096
            ended = limited("query", f"SELECT COUNT(*) AS n FROM '{source}'")
            unpacked = limited("unpack", "--fmt", "json", "-o", "out", "--force", source)
            codes = (ended.code, unpacked.code)
            assert codes == ((6, 6) if more else (0, 0)), ended.errors + unpacked.errors
            if more:
                assert "chunk 0" in ended.errors
            else:
                assert ended.output == b'{"n": %d}\n' % count
