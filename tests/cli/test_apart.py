"""What a command writes never takes the place of what it reads, by whatever name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.store.aliasing import same

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = b'{"a": 1}\nnope\n{"a": 2}\n'
SPELLINGS = ["events.json", "./events.json", "deep/../events.json", "soft", "hard", "file://{}"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.json").write_bytes(BROKEN)
    (tmp_path / "deep").mkdir()
    (tmp_path / "soft").symlink_to("deep/../events.json")
    os.link(tmp_path / "events.json", tmp_path / "hard")
    (tmp_path / "good.json").write_bytes(b'{"a": 1}\n')
    sdb.pack([tmp_path / "good.json"], tmp_path / "old.zion")
    (tmp_path / "soft.zion").symlink_to("old.zion")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(run: Any, folder: Path, *words: str, **options: Any) -> None:
    before = contents(folder)
    done = run(*(word.replace("{}", str(folder / "events.json")) for word in words), **options)
    assert (done.returncode, done.stdout) == (2, b""), done.stderr
    assert done.stderr.startswith(b"sdb: ")
    assert contents(folder) == before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("force", [["--force"], []])
def test_quarantine_is_no_input(run: Any, folder: Path, spelling: str, force: list[str]) -> None:
    words = ["--on-error", f"quarantine:{spelling}", *force, "events.json"]
    refused(run, folder, "pack", "-o", "x.zion", *words)
    refused(run, folder, "append", "old.zion", *words)


@pytest.mark.parametrize("name", ["x.zion", "./x.zion", "deep/../x.zion", "soft.zion", "old.zion"])
@pytest.mark.parametrize("force", [["--force"], []])
def test_quarantine_is_no_output(run: Any, folder: Path, name: str, force: list[str]) -> None:
    target = "x.zion" if name.endswith("x.zion") else "old.zion"
    words = ["--on-error", f"quarantine:{name}", *force]
    refused(run, folder, "pack", *words, "-o", target, "events.json")
    refused(run, folder, "append", *words, "-o", target, "old.zion", "events.json")
    if target == "old.zion":
        refused(run, folder, "append", *words, "old.zion", "events.json")


def test_quarantine_is_no_other_file_that_is_read(run: Any, folder: Path) -> None:
    (folder / "hints").write_bytes(b'{"a": "int"}')
    words = ["-o", "x.zion", "--hints", "hints", "--on-error", "quarantine:hints", "--force"]
    refused(run, folder, "pack", *words, "events.json")


def test_quarantine_is_not_what_is_redirected(run: Any, folder: Path) -> None:
    before = (folder / "events.json").read_bytes()
    words = ["pack", "-o", "x.zion", "-f", "json", "--force", "-"]
    with (folder / "events.json").open("rb") as file:
        done = run(*words, "--on-error", "quarantine:hard", stdin=file)
    assert done.returncode == 2, done.stderr
    assert (folder / "hard").read_bytes() == before
    with (folder / "out.zion").open("wb") as file:
        words = ["pack", "-o", "-", "--force", "events.json", "--on-error", "quarantine:out.zion"]
        assert run(*words, stdout=file).returncode == 2


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_output_is_no_input(run: Any, folder: Path, spelling: str) -> None:
    words = ["--force", "--on-error", "skip", "-o", spelling]
    refused(run, folder, "pack", *words, "events.json")
    refused(run, folder, "append", *words, "old.zion", "events.json")


@pytest.mark.parametrize("name", ["old.zion", "soft.zion", "deep/../old.zion"])
def test_rows_do_not_replace_their_packfile(run: Any, folder: Path, name: str) -> None:
    refused(run, folder, "unpack", "--force", "--fmt", "json", "-o", name, "old.zion")
    refused(run, folder, "query", "--force", "--fmt=json", "-o", name, "SELECT * FROM 'old.zion'")
    refused(run, folder, "query", "--force", "-o", name, "SELECT a FROM '*.zion'")
    refused(run, folder, "describe-file", "--force", "--html", name, "old.zion")
    (folder / "q.sql").write_bytes(b"SELECT * FROM 'old.zion'")
    refused(run, folder, "query", "--force", "-o", "q.sql", "-f", "q.sql")


def test_append_knows_its_packfile_by_any_name(run: Any, folder: Path) -> None:
    for name in ["./old.zion", "soft.zion"]:
        assert run("append", "-q", "-o", name, "old.zion", "good.json").returncode == 0
    assert sdb.open(folder / "old.zion").trailer.rows == 3
    assert (folder / "soft.zion").is_symlink()


def test_devices_are_no_files(run: Any) -> None:
    words = ["--on-error", "quarantine:/dev/null", "-o", "/dev/null", "--force"]
    assert run("pack", *words, "events.json").returncode == 0


def test_the_library_too(folder: Path) -> None:
    with pytest.raises(errors.UsageError, match="is an input"):
        sdb.pack([folder / "good.json"], folder / "good.json", overwrite=True)
    with pytest.raises(errors.UsageError, match="is an input"):
        sdb.append(
            folder / "old.zion", [folder / "good.json"], output=folder / "good.json", overwrite=True
        )


def test_urls_are_compared_as_they_are() -> None:
    assert same("s3://bucket/a.json", "s3://bucket/a.json")
    assert same("s3://bucket/x/a.json", "s3://bucket/**/*.json")
    assert not same("s3://bucket/a.json", "s3://bucket/b.json")
    assert not same("s3://bucket/a.json", "a.json")
