from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.cli.values import constants
from sdb.errors import UsageError
from sdb.records import replace

if TYPE_CHECKING:
    from pathlib import Path

ROWS = b'{"a": 1, "t": "2021-01-02T03:04:05Z"}\n{"a": 2, "t": "2021-01-02T03:04:06Z"}\n'


def rows(run: Any, path: str = "x.zion") -> list[dict[str, Any]]:
    result = run("unpack", "--fmt", "json", path)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_pack(run: Any, sample: Path) -> None:
    result = run("pack", "-o", "x.zion", sample)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert len(rows(run)) == 1000


def test_stdin_and_formats(run: Any) -> None:
    for name in ("json", ".json"):
        assert run("pack", "--force", "-f", name, "-o", "x.zion", "-", data=ROWS).returncode == 0
        assert [row["a"] for row in rows(run)] == [1, 2]
    csv = run("pack", "--force", "-f=csv", "-o=x.zion", "-", data=b"a,b\n1,x\n")
    assert csv.returncode == 0
    assert len(rows(run)) == 1
    assert run("pack", "--force", "-f", "nope", "-o", "x.zion", "-", data=ROWS).returncode != 0


def test_json(run: Any, tmp_path: Path) -> None:
    facts = json.loads(run("pack", "--json", "-o", "x.zion", "-", data=ROWS).stdout)
    seconds = facts.pop("seconds")
    assert 0 <= seconds < 60
    assert facts == {
        "path": "x.zion",
        "algorithm": "zion+zstd",
        "inputs": 1,
        "rows": 2,
        "rejected": 0,
        "kept": 0,
        "blocks": 1,
        "text_bytes": len(ROWS),
        "output_bytes": (tmp_path / "x.zion").stat().st_size,
        "indexes": [
            {
                "path": ["t"],
                "first_at": "2021-01-02T03:04:05Z",
                "last_at": "2021-01-02T03:04:06Z",
            }
        ],
    }


def test_existing_output_stays(run: Any, tmp_path: Path) -> None:
    (tmp_path / "x.zion").write_bytes(b"mine")
    result = run("pack", "-o", "x.zion", "-", data=ROWS)
    assert result.returncode == 4
    assert result.stderr == b"sdb: x.zion exists already\nhint: --force replaces it\n"
    assert (tmp_path / "x.zion").read_bytes() == b"mine"
    assert run("pack", "--force", "-o", "x.zion", "-", data=ROWS).returncode == 0
    assert len(rows(run)) == 2


def test_standard_output(run: Any, screen: Any, sample: Path, tmp_path: Path) -> None:
    assert run("pack", "-o", "x.zion", sample).returncode == 0
    result = run("pack", "-o", "-", sample)
    assert result.returncode == 0
    assert result.stdout == (tmp_path / "x.zion").read_bytes()
    assert run("pack", "--json", "-o", "-", sample).returncode == 2
    code, text = screen("pack", "-o", "-", sample)
    assert code == 2
    assert "binary data" in text


def test_options_reach_the_file(run: Any) -> None:
    words = ["-c", "zstd", "-j", "1", "--block-size", "1MiB", "--constant", "day=3"]
    assert run("pack", *words, "-o", "x.zion", "-", data=ROWS).returncode == 0
    (file,) = json.loads(run("describe-file", "--json", "x.zion").stdout)["files"]
    assert file["algorithm"] == "zstd"
    assert file["constants"] == {"day": 3}
    assert [row["day"] for row in rows(run)] == [3, 3]


def test_time_field(run: Any) -> None:
    text = b'{"a": 1}\n' * 50 + b'{"n": {"t": "2021-01-02T03:04:05Z"}}\n'
    assert run("pack", "-o", "x.zion", "-", data=text).returncode == 0
    assert b"index" not in run("describe-file", "x.zion").stdout
    assert run("pack", "--time-field", "n.t", "-o", "y.zion", "-", data=text).returncode == 0
    assert b"index n.t 1 left" in run("describe-file", "y.zion").stdout


BROKEN = ROWS + b'{"a": nope}\n{"a": 3}\n'


def test_broken_record_fails(run: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(BROKEN)
    result = run("pack", "-o", "x.zion", "bad.json")
    assert result.returncode == 6
    assert b"bad.json" in result.stderr
    assert b"line 3" in result.stderr
    assert not (tmp_path / "x.zion").exists()


def test_broken_record_skipped(run: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(BROKEN)
    result = run("pack", "--on-error", "skip", "-o", "x.zion", "bad.json")
    assert result.returncode == 0
    assert result.stderr.startswith(b"sdb: skipped 1 record; first bad.json: line 3: ")
    assert [row["a"] for row in rows(run)] == [1, 2, 3]
    quiet = run("pack", "-q", "--force", "--on-error", "skip", "-o", "x.zion", "bad.json")
    assert (quiet.returncode, quiet.stderr) == (0, b"")


def test_broken_record_kept(run: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(BROKEN)
    words = ["pack", "-v", "--on-error", "quarantine:kept.json", "-o", "x.zion", "bad.json"]
    result = run(*words)
    assert result.returncode == 0
    assert b"kept in kept.json" in result.stderr
    assert b"skipped bad.json: line 3: " in result.stderr
    assert (tmp_path / "kept.json").read_bytes() == b'{"a": nope}\n'
    assert run(*words).returncode == 4
    assert run("pack", "--on-error", "ignore", "-o", "y.zion", "bad.json").returncode == 2


def test_failures(run: Any) -> None:
    missing = run("pack", "-o", "x.zion", "nope.json")
    assert missing.returncode == 3
    assert b"nope.json" in missing.stderr
    assert run("pack", "-o", "x.zion", "--hints", "nope", "-", data=ROWS).returncode == 3
    assert run("pack", "-o", "x.zion", "--block-size", "big", "-", data=ROWS).returncode == 2
    assert run("pack", "-o", "no/x.zion", "-", data=ROWS).returncode == 3
    assert run("pack", "-c", "lzma", "-o", "x.zion", "-", data=ROWS).returncode in {2, 8}
    assert run("pack", "--progress", "much", "-o", "x.zion", "-", data=ROWS).returncode == 2


def test_summary_on_a_terminal(screen: Any, sample: Path) -> None:
    code, text = screen("pack", "-o", "x.zion", sample, columns=60)
    assert code == 0
    assert text.startswith("packed   1,000 rows in 1 block\nsize     ")
    assert "indexed  created_at\n" in text
    assert max(map(len, text.splitlines())) <= 60
    assert screen("pack", "-q", "--force", "-o", "x.zion", sample) == (0, "")


def test_progress(run: Any, screen: Any, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "big.json").write_bytes(gzip.decompress(sample.read_bytes()) * 80)
    result = run("pack", "--progress", "json", "-j1", "-o", "x.zion", "big.json")
    events = [json.loads(line) for line in result.stderr.splitlines()]
    size = (tmp_path / "big.json").stat().st_size
    assert events[-1]["consumed_bytes"] == events[-1]["total_bytes"] == size
    assert all(event["event"] == "progress" for event in events)
    code, text = screen("pack", "-j1", "--force", "-o", "x.zion", "big.json", columns=60)
    assert code == 0
    assert "packing" in text
    assert (
        "packing"
        not in screen("pack", "--progress", "off", "--force", "-o", "x.zion", "big.json")[1]
    )


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("a=1", 1),
        ("a=-7", -7),
        ("a=007", "007"),
        ("a=1e3", 1000.0),
        ("a=0.5", 0.5),
        ("a=true", True),
        ("a=eu", "eu"),
        ("a=", ""),
        ("a=x=y", "x=y"),
        ("a:str=1", "1"),
        ("a:float=1", 1.0),
        ("a=99999999999999999999999", "99999999999999999999999"),
    ],
)
def test_constants(assignment: str, value: object) -> None:
    actual = constants([assignment])
    assert actual == {"a": value}
    assert type(actual["a"]) is type(value)


def test_constant_times() -> None:
    actual = constants(["a=2021-01-02T03:04:05Z", "b:time=2021-01-02", "c=2021-01-02"])
    assert str(actual["a"]) == "2021-01-02 03:04:05+00:00"
    assert str(actual["b"]) == "2021-01-02 00:00:00+00:00"
    assert actual["c"] == "2021-01-02"


@pytest.mark.parametrize("bad", [["a"], ["=1"], ["a:int=x"], ["a:bool=yes"], ["a=1", "a=2"]])
def test_bad_constants(bad: list[str]) -> None:
    with pytest.raises(UsageError):
        constants(bad)


LINE = b'{"number": %d, "kind": "push", "text": "%s", "at": "2021-01-02T03:04:05Z"}\n'
MANY = b"".join(LINE % (number, b"x" * (number % 90)) for number in range(220_000))
"""Text that is packed in several parts."""


def both_ways(run: Any, tmp_path: Path, text: bytes) -> tuple[Any, Any]:
    """Pack a text from a file and from a pipe."""
    (tmp_path / "many.json").write_bytes(text)
    piped = run("pack", "--force", "-o", "piped.zion", "-", data=text)
    return run("pack", "--force", "-o", "filed.zion", "many.json"), piped


@pytest.mark.parametrize(
    "more",
    [
        b"",
        b'{"text": "}\n{"}\n',  # a line end in a string, which JSON does not allow
        b'{"pretty": {\n  "a": 1\n}}\n{"a": 1}{"a": 2} {"a": 3}\n\n\n',
        b'[{"a": 1},\n{"a": 2}]\n',
    ],
)
def test_a_file_and_a_pipe_are_packed_alike(run: Any, tmp_path: Path, more: bytes) -> None:
    filed, piped = both_ways(run, tmp_path, more * 200_000 + MANY + more)
    assert (filed.returncode, piped.returncode) == (0, 0), filed.stderr + piped.stderr
    files, bare = [], []
    for path in (tmp_path / "filed.zion", tmp_path / "piped.zion"):
        with sdb.open(path) as pack:
            trailer = pack.trailer
        provenance = trailer.sparse.provenance()
        assert provenance is not None
        files += provenance.origins
        nameless = replace(trailer, sparse=replace(trailer.sparse, stored_provenance=b""))
        bare.append(path.read_bytes()[: trailer.offset] + nameless.encode())
    assert bare[0] == bare[1]
    # Only the name tells the two apart: size, digest and rows are the same.
    assert [file.name for file in files] == ["many.json", "standard input"]
    assert replace(files[0], name="") == replace(files[1], name="")
    assert run("validate-file", "filed.zion").returncode == 0


@pytest.mark.parametrize("at", [0.1, 0.6, 1])
def test_a_broken_record_is_found_in_any_part(run: Any, tmp_path: Path, at: float) -> None:
    half = MANY.rindex(b"\n", 0, int(len(MANY) * at)) + 1
    filed, piped = both_ways(run, tmp_path, MANY[:half] + b'{"a": nope}\n' + MANY[half:])
    assert (filed.returncode, piped.returncode) == (6, 6)
    line = MANY.count(b"\n", 0, half) + 1
    assert b"many.json: line %d: " % line in filed.stderr
    assert b"(at byte %d)" % (half + 6) in filed.stderr
    assert piped.stderr == filed.stderr.replace(b"many.json", b"standard input")
    assert not (tmp_path / "filed.zion").exists()


def test_statistics_that_make_no_sense(run: Any, sample: Path) -> None:
    for asked in ("words:", "a..b", "off,auto", "[]"):
        result = run("pack", "--stats", asked, "-o", "x.zion", str(sample))
        assert (result.returncode, b"invalid paths for statistics" in result.stderr) == (2, True)
    result = run("pack", "--stats", "actor.id,wrds:type,words:typ", "-o", "x.zion", str(sample))
    reported = [line for line in result.stderr.decode().splitlines() if line.startswith("warning")]
    assert [line.partition(" has ")[2] for line in reported] == [
        '"wrds:type"',
        '"typ"; did you mean type?',
    ]
    result = run("append", "--stats", "auto,acter.id", "x.zion", str(sample))
    assert b"no row of x.zion has acter.id" in result.stderr


def test_members_beside_the_lists_of_otlp_are_said(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"resourceLogs":[],"partialSuccess":{}}')
    result = run("pack", "-f", "otlp", "-o", "a.zion", "a.json")
    assert result.returncode == 0
    assert b"without partialSuccess beside them (-f json keeps all)" in result.stderr


def test_records_of_objects_are_said_and_named(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"count":2,"records":[{"id":1},{"id":2}]}')
    result = run("pack", "--force", "-o", "a.zion", "a.json")
    assert result.returncode == 0
    said = b"2 rows from records of a.json, without count beside them (--records none keeps"
    assert said in result.stderr
    for path, rows in (("none", 1), ("records", 2)):
        assert (
            run("pack", "-q", "--force", "--records", path, "-o", "a.zion", "a.json").returncode
            == 0
        )
        assert run("unpack", "--fmt", "json", "a.zion").stdout.count(b"\n") == rows
    result = run("pack", "--force", "--records", "items", "-o", "a.zion", "a.json")
    assert (result.returncode, result.stdout) == (6, b"")
    assert b"a member items" in result.stderr


def test_a_list_of_objects_in_the_only_object_is_offered(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"data": [{"n": 1}, {"n": 2}], "total": 2}')
    (tmp_path / "b.json").write_text('{"data": [{"n": 1}, {"n": 2}]}\n{"data": []}')
    for name, is_offered in (("a.json", True), ("b.json", False)):
        said = run("pack", "--force", "-o", "x.zion", name).stderr.decode()
        assert ("one row, with a list of objects in data (--records data" in said) is is_offered
