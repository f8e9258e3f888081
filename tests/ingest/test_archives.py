"""Compressions and archives that others use: their rows, in bounded memory, or what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import tracemalloc
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

import sdb
from sdb.errors import (
    CorruptError,
    InputError,
    SdbError,
    SdbWarning,
    UnsupportedError,
)
from sdb.packfile.inputs import archives
from sdb.spark.bulk.attempt import Options, Work, attempt
from sdb.spark.bulk.plan import measure, plan
from sdb.table.definition.create import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINES = b"".join(b'{"id":%d}\n' % number for number in range(1000))
IDS = list(range(1000))


def lz4(data: bytes) -> bytes:
    return subprocess.run(["lz4", "-B4", "-c"], input=data, capture_output=True, check=True).stdout


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "bz2": bz2.compress}
if shutil.which("lz4"):
    COMPRESSIONS["lz4"] = lz4
OUTER: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


def ids(*sources: Path, **options: Any) -> list[Any]:
    packed = sources[0].parent / "packed.zion"
    sdb.pack(sources, packed, overwrite=True, **options)
    with sdb.open(packed) as packfile:
        return [row.get("id") for row in packfile.rows()]


def tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_compressions_are_read(tmp_path: Path, kind: str) -> None:
    compress = COMPRESSIONS[kind]
    path = tmp_path / f"x.json.{kind}"
    path.write_bytes(compress(LINES))
    assert ids(path) == IDS
    path.write_bytes(compress(LINES[:5000]) + compress(LINES[5000:]))
    assert ids(path) == IDS
    csv = tmp_path / f"x.csv.{kind}"
    csv.write_bytes(compress(b"id\n1\n2\n"))
    assert ids(csv) == [1, 2]
    plain = tmp_path / "plain.json"
    plain.write_bytes(b'{"id":-1}\n')
    assert ids(plain, path, plain) == [-1, *IDS, -1]
    with path.open("rb") as file:
        assert ids(plain, file) == [-1, *IDS]


@pytest.mark.parametrize("kind", [*COMPRESSIONS, "gz", "zst"])
def test_what_is_cut_off_gives_the_rows_before_where_it_may(tmp_path: Path, kind: str) -> None:
    compress = COMPRESSIONS.get(kind) or OUTER[f".{kind}"]
    lines = b"".join(b"%d,%d\n" % (number, number * 7919 % 10007) for number in range(200_000))
    whole = compress(b"id,x\n" + lines)
    path = tmp_path / f"x.csv.{kind}"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(CorruptError, match="cut off") as caught:
        ids(path)
    assert "--on-error skip" in str(caught.value.hint)
    with pytest.warns(SdbWarning, match=r"x\.csv\.\w+: .*cut off.*rows before"):
        got = ids(path, on_error=lambda _: None)
    assert got == list(range(len(got)))
    assert len(got) > 1000


@pytest.mark.parametrize("kind", ["gz", "zst", "xz", "bz2"])
def test_zeros_behind_the_last_member_are_no_damage(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.json.{kind}"
    data = OUTER[f".{kind}"](LINES)
    for zeros in (1, 4, 512, 3 << 20):
        path.write_bytes(data + bytes(zeros))
        assert ids(path) == IDS
    path.write_bytes(data + bytes(512) + data)
    assert ids(path) == IDS * 2
    path.write_bytes(data + b"garbage" * 10)
    with pytest.raises(CorruptError):
        ids(path)
    with pytest.warns(SdbWarning, match="rows before"):
        assert ids(path, on_error=lambda _: None) == IDS


FILES = {
    "a.json": LINES,
    "folder/b.csv": b"id\n7\n",
    "c.json.gz": gzip.compress(b'{"id":8}'),
    "d.json.xz": lzma.compress(b'{"id":9}'),
    "__MACOSX/._a.json": b"\0\1",
    "in/day=1/e.json": b'{"id":10}',
}
FOUND = [*IDS, 7, 8, 9, 10]


@pytest.mark.parametrize("suffix", OUTER)
def test_files_of_tars_are_inputs(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.tar{suffix}"
    path.write_bytes(OUTER[suffix](tar(FILES)))
    assert ids(path) == FOUND
    assert ids(path, path) == FOUND * 2


def test_files_of_zips_are_inputs(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(FILES))
    assert ids(path) == FOUND
    result = sdb.pack([path], tmp_path / "y.zion")
    assert result.inputs == 5
    with sdb.open(tmp_path / "y.zion") as packfile:
        assert [row.get("day") for row in packfile.rows()][-1] == 1


@pytest.mark.parametrize("make", [tar, zipped])
def test_errors_name_the_file_of_an_archive(
    tmp_path: Path, make: Callable[[dict[str, bytes]], bytes]
) -> None:
    path = tmp_path / "x.archive"
    path.write_bytes(make({"a.json": b'{"id":1}', "b.json": b'{"id":}'}))
    with pytest.raises(InputError, match=r"x\.archive!b\.json.*line 1"):
        ids(path)
    path.write_bytes(make({"a.json": b'{"id":1}', "b.txt": b"nothing known"}))
    with pytest.raises(InputError, match=r"x\.archive!b\.txt: unknown format"):
        ids(path)
    path.write_bytes(make({}))
    with pytest.raises(SdbError):
        ids(path)
    path.write_bytes(make({"a.zip": zipped({"b": b""})}))
    with pytest.raises(UnsupportedError, match=r"a\.zip: is an archive in another"):
        ids(path)


def test_damaged_archives_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (zipped(FILES), tar(FILES), gzip.compress(tar(FILES))):
        for cut in (len(data) // 3, len(data) // 2, len(data) - 30):
            path.write_bytes(data[:cut])
            try:
                got = ids(path)
            except SdbError as error:
                assert "\n" not in str(error)  # noqa: PT017 - the rows may be whole
            else:
                assert got == FOUND


def test_encrypted_zips_are_named(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.json": LINES}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.zip!a\.json: is encrypted") as caught:
        ids(path)
    assert "unzip -p" in str(caught.value.hint)


def test_what_others_unpack_names_the_command(tmp_path: Path) -> None:
    for magic, command in ((b"\x1f\x9d\x90", "zcat"), (b"7z\xbc\xaf\x27\x1c", "7z x -so")):
        path = tmp_path / "x.bin"
        path.write_bytes(magic + b"\1" * 100)
        with pytest.raises(SdbError) as caught:
            ids(path)
        assert str(caught.value.hint).startswith(command)


@pytest.mark.parametrize("kind", ["xz", "bz2"])
def test_bombs_are_read_piece_by_piece(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.json.{kind}"
    path.write_bytes(COMPRESSIONS[kind](bytes(60 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(SdbError):
            ids(path)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_headers_of_tars_are_bounded(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    path = tmp_path / "x.tar"
    path.write_bytes(info.tobuf() + bytes(1 << 20))
    with pytest.raises(CorruptError, match="header"):
        ids(path)


def member(name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a file of a tar, or a header for others."""
    info = tarfile.TarInfo(name)
    info.size, info.type = len(data), kind
    return info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def pax(name: str, value: str, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Return a header that says something of the next file, or of all."""
    record = f" {name}={value}\n"
    length = len(record)
    while len(f"{length}{record}") > length:
        length += 1
    return member("pax", f"{length}{record}".encode(), kind)


A, B = member("a.json", LINES), member("b.json", b'{"id":-1}\n')
END = bytes(1024)
DAMAGED = {
    "cut in a header": A + B[:100],
    "bad header": A + b"\xff" * 512 + B + END,
    "cut in a file": A + B[:515],
    "file beyond the end": A + pax("size", str(10**14)) + B + END,
    "negative size": A + pax("size", "-5") + B + END,
    "names behind names": A + member("././@LongLink", b"x\0", tarfile.GNUTYPE_LONGNAME) * 5000 + B,
    "headers behind headers": A + pax("comment", "x") * 5000 + B,
    "headers for all files": A
    + b"".join(pax(f"k{n}", "v" * 500_000, tarfile.XGLTYPE) + B for n in range(4)),
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_tar_gives_the_files_before_where_it_may(
    tmp_path: Path, data: bytes, suffix: str
) -> None:
    path = tmp_path / f"x.tar{suffix}"
    path.write_bytes(OUTER[suffix](data))
    with pytest.raises(CorruptError, match=r"x\.tar.*: the tar is damaged or cut off") as caught:
        ids(path)
    assert "\n" not in str(caught.value)
    with pytest.warns(SdbWarning, match="the rows before that are packed"):
        got = ids(path, on_error=lambda _: None)
    assert got[:1000] == IDS


def test_a_tar_without_an_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(A + B)
    with pytest.warns(SdbWarning, match=r"x\.tar: the tar has no end") as warned:
        assert ids(path) == [*IDS, -1]
    assert len(warned) == 1
    path.write_bytes(A + END + b"garbage" * 100)
    with pytest.warns(SdbWarning, match=r"x\.tar: there is text behind the end"):
        assert ids(path) == IDS


@pytest.mark.parametrize("suffix", OUTER)
def test_tars_that_were_joined_are_read_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.tar{suffix}"
    path.write_bytes(OUTER[suffix](A + END + bytes(8192)) + OUTER[suffix](B + END))
    assert ids(path) == [*IDS, -1]


def test_names_in_archives_lead_nowhere(tmp_path: Path) -> None:
    """They name inputs in messages, and nothing is written to them."""
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    path = folder / "x.tar"
    link = tarfile.TarInfo("l.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    latin = member("caf?.json", b'{"id":3}').replace(b"?", b"\xe9")
    header = bytearray(latin[:512])
    header[148:156] = b"%06o\0 " % (sum(header[:148] + header[156:]) + 8 * 32)
    out = b"".join(
        [
            member("../../etc/x.json", b'{"id":1}'),
            member("/etc/y.json", b'{"id":2}'),
            link.tobuf(),
            bytes(header) + latin[512:],
            END,
        ]
    )
    path.write_bytes(out)
    assert ids(path) == [1, 2, 3]
    path = folder / "x.zip"
    path.write_bytes(zipped({"../../x.json": b'{"id":1}', "/etc/y.json": b'{"id":2}'}))
    assert ids(path) == [1, 2]
    assert sorted(each.name for each in tmp_path.rglob("*.*")) == ["packed.zion", "x.tar", "x.zip"]


def test_archives_of_too_many_files_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_FILES", 50)
    path = tmp_path / "x"
    for make in (tar, zipped):
        path.write_bytes(make({f"{number}.json": b'{"id":1}' for number in range(50)}))
        assert len(ids(path)) == 50
        path.write_bytes(make({f"{number}.json": b'{"id":1}' for number in range(51)}))
        with pytest.raises(UnsupportedError, match="more than 50 files") as caught:
            ids(path)
        assert "pack the folder" in str(caught.value.hint)


def test_what_is_compressed_again_and_again_is_refused(tmp_path: Path) -> None:
    data = LINES
    for count in range(1, 500):
        data = lzma.compress(data, preset=0)
        path = tmp_path / "x.json.xz"
        path.write_bytes(data)
        if count <= 3:
            assert ids(path) == IDS
    with pytest.raises(UnsupportedError, match="compressed more than 3 times"):
        ids(path)
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(gzip.compress(LINES)))
    with pytest.raises(InputError, match="gzip inside of gzip") as caught:
        ids(path)
    assert str(caught.value.hint).startswith("zcat ")


def test_a_zip_without_its_list_names_what_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(FILES)[:-30])
    with pytest.raises(CorruptError, match="the list at the end of the zip") as caught:
        ids(path)
    assert "zip -FF" in str(caught.value.hint)


@pytest.mark.parametrize(("name", "make"), [("x.zip", zipped), ("x.tar.gz", tar)])
def test_an_archive_is_one_input_of_a_table(
    tmp_path: Path, name: str, make: Callable[[dict[str, bytes]], bytes]
) -> None:
    """Its files come once, are replaced together, and go together."""
    path, lake = tmp_path / "in" / name, sdb.connect(tmp_path)
    path.parent.mkdir()
    lake.create("d.t", f"in/*.{name.partition('.')[2]}")

    def put(files: dict[str, bytes]) -> None:
        data = make(files)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    def found() -> list[object]:
        return sorted(row["id"] for row in lake.table("d.t").rows())

    put(FILES)
    assert lake.sync("d.t").taken == (f"file://in/{name}",)
    assert found() == sorted(FOUND)
    assert lake.sync("d.t").is_nothing
    put({"a.json": b'{"id":70}\n', "b.json": b'{"id":71}\n'})
    assert lake.sync("d.t", changed="replace").replaced == (f"file://in/{name}",)
    assert found() == [70, 71]
    put({"a.json": b'{"id":70}\n', "b.json": b"{no"})
    (rejected,) = lake.sync("d.t", changed="replace").rejected
    assert "b.json" in rejected.reason
    assert found() == [70, 71]
    path.unlink()
    lake.sync("d.t", vanished="delete")
    assert found() == []


def test_files_of_an_archive_have_the_fields_of_its_folders(tmp_path: Path) -> None:
    """Folders beside the archive and options of the definition hold for all its files."""
    folder, lake = tmp_path / "in" / "day=3", sdb.connect(tmp_path)
    folder.mkdir(parents=True)
    (folder / "x.zip").write_bytes(zipped({"a.json": b'{"id":1}\nno\n', "b.json": b'{"id":2}'}))
    lake.create("d.t", definition_of(["in/day=*/*.zip"], on_error="keep"))
    with pytest.warns(SdbWarning, match="x.zip!a.json: line 2"):
        lake.sync("d.t")
    rows = [{"id": 1, "day": 3}, {"message": "no", "day": 3}, {"id": 2, "day": 3}]
    assert list(lake.table("d.t").rows()) == rows


def test_tasks_of_spark_take_the_files_of_archives(tmp_path: Path) -> None:
    """A task packs all files of an archive, as a command does."""
    (tmp_path / "x.zip").write_bytes(zipped(FILES))
    (task,) = plan(measure([tmp_path / "x.zip"]), tasks=1)
    outcome = attempt(Work(str(tmp_path), uuid.uuid4().hex, Options()), task)
    (tmp_path / outcome.name).rename(tmp_path / "out.zion")  # which no job has published
    with sdb.open(tmp_path / "out.zion") as packfile:
        assert [row["id"] for row in packfile.rows()] == FOUND
