from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

ROWS = b'{"a": 1, "t": "2021-01-02T03:04:05Z"}\n{"a": 2, "t": "2021-01-02T03:04:06Z"}\n'


@pytest.fixture(autouse=True)
def packs(run: Any) -> None:
    """Packs two files that fit together and some that do not."""
    for name, options in {
        "x.zion": [],
        "y.zion": [],
        "zstd.zion": ["-c", "zstd"],
        "eu.zion": ["--constant", "region=eu"],
    }.items():
        assert run("pack", *options, "-o", name, "-", data=ROWS).returncode == 0


def test_concat(run: Any, tmp_path: Path) -> None:
    result = run("concat", "-o", "all.zion", "x.zion", "y.zion", "x.zion")
    twice = b"warning: x.zion is given more than once: its rows come in as often\n"
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", twice)
    unpacked = run("unpack", "--fmt", "json", "all.zion").stdout.splitlines()
    assert [json.loads(line)["a"] for line in unpacked] == [1, 2] * 3
    assert run("validate-file", "all.zion").returncode == 0
    again = run("concat", "-o", "all.zion", "x.zion")
    assert again.returncode == 4
    facts = json.loads(run("concat", "--json", "--force", "-o", "all.zion", "x.zion").stdout)
    size = (tmp_path / "all.zion").stat().st_size
    assert facts.pop("seconds") >= 0
    assert facts.pop("copied_by") in {"copy", "reflink"}
    assert facts["copied_bytes"] + facts["written_bytes"] == facts["output_bytes"] == size
    assert [*facts][:5] == ["path", "algorithm", "inputs", "rows", "blocks"]
    assert (facts["rows"], facts["inputs"], facts["indexes"][0]["path"]) == (2, 1, ["t"])
    assert (tmp_path / "all.zion").read_bytes() == (tmp_path / "x.zion").read_bytes()


def test_what_is_told(run: Any) -> None:
    messages = run("concat", "-v", "-o", "all.zion", "x.zion", "y.zion").stderr.decode()
    assert messages.startswith("joined   2 packfiles: 4 rows in 2 blocks\n")


@pytest.mark.parametrize(
    ("code", "names", "message"),
    [
        (2, ["x.zion", "zstd.zion"], "zstd.zion does not fit x.zion: compression zstd, not zion+z"),
        (2, ["x.zion", "y.zion", "eu.zion"], "eu.zion does not fit x.zion: constants {'region'"),
        (2, [], "Missing argument 'PACKFILE...'"),
        (3, ["x.zion", "none.zion"], "opening none.zion"),
        (6, ["x.zion", "cut.zion"], "reading trailer from cut.zion"),
    ],
)
def test_errors(run: Any, tmp_path: Path, code: int, names: list[str], message: str) -> None:
    (tmp_path / "cut.zion").write_bytes((tmp_path / "x.zion").read_bytes()[:-5])
    before = sorted(tmp_path.iterdir())
    result = run("concat", "-o", "all.zion", *names)
    assert result.returncode == code, result.stderr
    assert message in result.stderr.decode()
    assert sorted(tmp_path.iterdir()) == before
