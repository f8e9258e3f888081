"""Empty inputs, and inputs that come twice."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb.errors import SdbWarning
from tests.cli.conftest import SAMPLE


def rows(path: Path) -> int | None:
    with sdb.open(path) as pack:
        return pack.trailer.rows


def test_packing_nothing_warns(run: Any, tmp_path: Path) -> None:
    """As after a ``curl -sf`` that failed."""
    result = run("pack", "-o", "a.zion", "-", data=b"")
    assert result.returncode == 0
    assert result.stderr == b"warning: no rows in standard input: a.zion is empty\n"
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("\n")
    result = run("pack", "--force", "-o", "a.zion", "a.json", "b.json")
    assert result.stderr == b"warning: no rows in a.json and 1 more: a.zion is empty\n"
    assert run("pack", "--force", "-o", "a.zion", SAMPLE).stderr == b""


def test_inputs_that_are_given_twice_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever name: another spelling, a link, a pattern."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.json", "b.json"):
        Path(name).write_text('{"n": 1}\n')
    Path("c.json").symlink_to("a.json")
    Path("d.json").hardlink_to("a.json")
    once = "{} is given more than once: its rows come in as often$"
    for inputs, text in (
        (["a.json", "./a.json"], once.format("./a.json")),
        (["b.json", "c.json", tmp_path / "a.json"], once.format(tmp_path / "a.json")),
        (["b.json", "file://d.json", "a.json"], once.format("a.json")),
        (["b.json", "a.json", "[ab].json"], "a.json is given more than once, and so is 1 other:"),
    ):
        with pytest.warns(SdbWarning, match=text):
            packed = sdb.pack(inputs, "x.zion", overwrite=True)
        assert packed.rows == len(inputs) + (inputs[-1] == "[ab].json")
        with pytest.warns(SdbWarning, match=text):
            assert sdb.append("x.zion", inputs).rows_total == 2 * packed.rows
    sdb.pack(["a.json", "b.json"], "x.zion", overwrite=True)
    sdb.pack([{"n": 1}], "y.zion")
    with pytest.warns(SdbWarning, match=once.format("./x.zion")):
        assert sdb.concat(["x.zion", "y.zion", "./x.zion"], "z.zion").rows_total == 5


def test_an_input_that_was_taken_warns(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(SAMPLE.read_bytes())
    run("pack", "-o", "a.zion", "a.json.gz")
    result = run("append", "--json", "a.zion", "a.json.gz")
    assert result.returncode == 0
    warning = b"warning: a.zion had the rows of a.json.gz already, and has them once more now\n"
    assert result.stderr == warning
    facts = json.loads(result.stdout)
    assert (facts["rows_added"], facts["known"], facts["skipped"]) == (1000, ["a.json.gz"], [])
    assert rows(tmp_path / "a.zion") == 2000


def test_a_job_that_runs_twice_adds_nothing(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    (tmp_path / "a.json").write_text('{"a":1}\n' * 10)
    (tmp_path / "b.json").write_text('{"b":1}\n' * 10)
    run("pack", "-o", path, "a.json")
    for _ in range(2):
        result = run("append", "--skip-known", "a.zion", "a.json", "b.json")
        assert result.returncode == 0
        assert b"left out a.json" in result.stderr
        assert b"warning" not in result.stderr
        assert rows(path) == 20
    assert b"nothing to append" in result.stderr
    before = path.read_bytes()
    assert run("append", "-q", "--skip-known", "a.zion", "a.json").stderr == b""
    assert path.read_bytes() == before


@pytest.mark.parametrize("change", ["name", "size", "content"])
def test_another_input_is_not_taken_for_a_known_one(run: Any, tmp_path: Path, change: str) -> None:
    text = '{"a":1}\n' * 10
    (tmp_path / "a.json").write_text(text)
    run("pack", "-o", "a.zion", "a.json")
    name = "b.json" if change == "name" else "a.json"
    changed = {"size": text + "\n", "content": text.replace("1", "2")}
    (tmp_path / name).write_text(changed.get(change, text))
    result = run("append", "--skip-known", "--json", "a.zion", name)
    assert json.loads(result.stdout)["rows_added"] == 10
    assert result.stderr == b""


def test_pipes_and_packfiles_are_known_too(run: Any) -> None:
    text = gzip.decompress(SAMPLE.read_bytes())
    run("pack", "-o", "a.zion", "-", data=text)
    result = run("append", "--skip-known", "--json", "a.zion", "-", data=text)
    assert json.loads(result.stdout)["skipped"] == ["standard input"]
    other = run("append", "--skip-known", "--json", "a.zion", "-", data=text[: len(text) // 2])
    assert other.returncode in {0, 6}
    run("pack", "-o", "b.zion", "a.zion")
    result = run("append", "--skip-known", "--json", "b.zion", "a.zion")
    assert json.loads(result.stdout)["skipped"] == ["a.zion"]


@pytest.mark.filterwarnings("always::sdb.errors.SdbWarning")
def test_python(tmp_path: Path) -> None:
    path, source = tmp_path / "a.zion", tmp_path / "a.json"
    source.write_text("")
    with pytest.warns(SdbWarning, match="no rows in"):
        sdb.pack(source, path)
    source.write_text('{"a":1}')
    sdb.append(path, source)
    with pytest.warns(SdbWarning, match="had the rows of"):
        sdb.append(path, source)
    result = sdb.append(path, source, skip_known=True)
    assert (result.rows_added, result.rows_total, result.skipped) == (0, 2, (str(source),))


@pytest.mark.parametrize("words", [["a.zion"], ["*.zion"], ["b.json", "link.zion"], ["-"]])
def test_a_packfile_is_not_appended_to_itself(run: Any, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "b.json").write_text('{"b":1}\n')
    run("pack", "-o", "a.zion", "b.json")
    (tmp_path / "link.zion").symlink_to("a.zion")
    before = (tmp_path / "a.zion").read_bytes()
    with (tmp_path / "a.zion").open("rb") as source:
        result = run("append", "a.zion", *words, **({"stdin": source} if words == ["-"] else {}))
    assert result.returncode == 2
    assert b"a.zion is the packfile that rows are appended to, and an input, too" in result.stderr
    assert (tmp_path / "a.zion").read_bytes() == before
