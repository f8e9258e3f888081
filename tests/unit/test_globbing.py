"""Patterns find each file once, whatever links there are."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import errors
from sdb.spark.options.files import FileChoice
from sdb.spark.read.listing import listed
from sdb.store.local.globbing import matching

if TYPE_CHECKING:
    from pathlib import Path


def plant(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def found(root: Path, pattern: str) -> list[str]:
    return [os.path.relpath(path, root) for path in matching(f"{glob.escape(str(root))}/{pattern}")]


def test_loops_of_links_lead_nowhere(tmp_path: Path) -> None:
    plant(tmp_path, "a.zion", "x/b.zion", "x/y/c.zion", "z/d.zion")
    (tmp_path / "x/loop").symlink_to(tmp_path)
    (tmp_path / "x/y/up").symlink_to("..")
    (tmp_path / "x/y/self").symlink_to("self")
    (tmp_path / "z/across").symlink_to("../x")
    assert found(tmp_path, "**/*.zion") == ["a.zion", "x/b.zion", "x/y/c.zion", "z/d.zion"]
    assert found(tmp_path, "**/**/*.zion") == ["a.zion", "x/b.zion", "x/y/c.zion", "z/d.zion"]
    assert found(tmp_path, "**/y/*.zion") == ["x/y/c.zion"]


def test_links_to_folders_elsewhere_are_followed(tmp_path: Path) -> None:
    plant(tmp_path / "disk", "e/f.zion")
    root = plant(tmp_path / "logs", "a.zion")
    (root / "0").symlink_to(tmp_path / "disk")
    (root / "1").symlink_to(tmp_path / "disk")
    assert found(root, "**/*.zion") == ["0/e/f.zion", "a.zion"]


@pytest.mark.parametrize(
    "pattern",
    [
        "**/*.zion",
        "**",
        "x/**",
        "**/y/**/*.zion",
        "x/**/c.zion",
        "*",
        "*/*.zion",
        "**/.h*",
        "**.zion",
        "[[]*/**/g*",
    ],
)
def test_without_links_the_answer_is_that_of_glob(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(
        tmp_path,
        "a.zion",
        "x/b.zion",
        "x/y/c.zion",
        "x/y/z/y/d.zion",
        ".hidden/e.zion",
        "x/.hf",
        "[q]/w/g.zion",
    )
    monkeypatch.chdir(tmp_path)
    by_glob = glob.glob(pattern, recursive=True)  # noqa: PTH207 - the very function
    expected = sorted({path for path in by_glob if (tmp_path / path).is_file()})
    assert expected
    assert matching(pattern) == expected
    assert found(tmp_path, pattern) == expected


def test_a_folder_that_may_not_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "a.zion", "x/b.zion")
    (tmp_path / "x").chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    user = os.geteuid()
    if user == 0:  # root may list every folder
        os.seteuid(65534)
    try:
        with pytest.raises(errors.AccessError, match="listing x"):
            matching("**/*.zion")
    finally:
        os.seteuid(user)


def test_rows_of_files_below_a_loop_come_once(tmp_path: Path) -> None:
    source = plant(tmp_path, "rows.json") / "rows.json"
    source.write_text('{"a": 1}\n' * 4)
    (tmp_path / "logs/deep").mkdir(parents=True)
    sdb.pack([source], tmp_path / "logs/deep/rows.zion")
    (tmp_path / "logs/deep/loop").symlink_to(tmp_path / "logs")
    pattern = str(tmp_path / "logs/**/*.zion")
    with sdb.sql(f"SELECT COUNT(*) AS n FROM '{pattern}'") as result:
        assert list(result) == [{"n": 4}]
    assert listed([pattern], FileChoice()) == [str(tmp_path / "logs/deep/rows.zion")]
