from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import SdbWarning, UsageError
from tests.cli.conftest import COMMAND, environment
from tests.conftest import golden
from tests.patience import soon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLOUDTRAIL = [folder for folder in golden() if "cloudtrail" in folder.name]


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from texts(item)


def expected(lines: bytes, pattern: str, *, invert: bool = False) -> list[bytes]:
    """The lines of rows with a text that matches: times are no texts, and look like this."""
    time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
    return [
        line
        for line in lines.splitlines(keepends=True)
        if any(
            re.search(pattern, text) for text in texts(json.loads(line)) if not time.fullmatch(text)
        )
        != invert
    ]


@pytest.fixture(scope="module")
def rows(packed: Path) -> bytes:
    words = [*COMMAND, "unpack", "--fmt", "json", str(packed)]
    return subprocess.run(words, capture_output=True, check=True, env=environment()).stdout


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ([], "PushEvent"),
        ([], "nobody-wrote-this"),
        ([], r"^refs/heads/(dev|master)$"),
        ([], r"(?i)\bFIX(es|ed)?\b"),
        (["-i"], "(?i)readme"),
        (["-v"], "PushEvent"),
        (["-v"], r"\d+$"),
        ([], "type"),
        ([], "."),
    ],
)
def test_rows_are_those_with_a_match(
    run: Any, events: Path, rows: bytes, options: list[str], pattern: str
) -> None:
    wanted = expected(rows, pattern, invert="-v" in options)
    result = run("grep", *options, "-e", pattern, events)
    assert (result.stdout, result.stderr) == (b"".join(wanted), b"")
    assert result.returncode == (0 if wanted else 1)
    counted = run("grep", "-c", *options, pattern, events)
    assert (counted.returncode, counted.stdout) == (result.returncode, b"%d\n" % len(wanted))
    few = run("grep", "-m", "7", *options, pattern, events)
    assert few.stdout == b"".join(wanted[:7])


def test_fields(run: Any, events: Path, rows: bytes) -> None:
    parsed = [json.loads(line) for line in rows.splitlines()]
    wanted = sum("Create" in row["type"] for row in parsed)
    assert 0 < wanted < sum("Create" in line for line in rows.decode().splitlines())
    words = ["grep", "--fields", "type", "Create", events]
    assert run(*words, "-c").stdout == b"%d\n" % wanted
    actual = [json.loads(line) for line in run(*words).stdout.splitlines()]
    assert actual == [row for row in parsed if "Create" in row["type"]]
    missing = run("grep", "--fields", "type,tpye", "-c", "Create", events)
    assert missing.stdout == b"%d\n" % wanted
    assert missing.stderr.endswith(b'.zion has "tpye"; did you mean type?\n')


def test_times(run: Any, events: Path, rows: bytes) -> None:
    since = "2015-01-01T01:05:00Z"
    late = [line for line in expected(rows, "Push") if json.loads(line)["created_at"] >= since]
    words = ["grep", "--since", since, "--time-field", "created_at", "Push", events]
    assert run(*words).stdout == b"".join(late)
    assert run(*words, "-c", "--fields", "type").stdout == b"%d\n" % len(
        [line for line in late if "Push" in json.loads(line)["type"]]
    )
    assert run(*words, "-c", "--until", "2015-01-01T01:05:01Z").returncode in {0, 1}
    never = run("grep", "--since", "2030-01-01", "--time-field", "created_at", "Push", events)
    assert (never.returncode, never.stdout) == (1, b"")


def test_several_files_and_patterns(run: Any, events: Path, rows: bytes, tmp_path: Path) -> None:
    shutil.copy(events, tmp_path / "b.zion")
    (tmp_path / "x.json").write_text('{"a": "a.c"}\n{"a": "abc"}\n')
    assert run("pack", "-o", "x.zion", "x.json").returncode == 0
    count = len(expected(rows, "PushEvent"))
    assert run("grep", "-c", "PushEvent", "b.zion", "x.zion").stdout.decode() == (
        f"b.zion:{count}\nx.zion:0\n"
    )
    assert run("grep", "-l", "PushEvent", "events.zion", "b.zion", "x.zion").stdout == (
        b"events.zion\nb.zion\n"
    )
    assert run("grep", "-H", "abc", "x.zion").stdout == b'x.zion:{"a": "abc"}\n'
    assert run("grep", "abc", "x.zion", "b.zion").stdout.startswith(b'{"a": "abc"}\n')
    assert run("grep", "-F", "a.c", "x.zion").stdout == b'{"a": "a.c"}\n'
    assert run("grep", "-c", "-e", r"a\.c", "-e", "abc", "x.zion").stdout == b"2\n"
    assert run("grep", "-m", "1", "a.c", "x.zion", "x.zion").stdout == b'{"a": "a.c"}\n'
    facts = json.loads(run("grep", "-c", "--json", "a.c", "x.zion").stdout)
    assert facts == {"rows": 2, "files": [{"path": "x.zion", "rows": 2}]}
    facts = json.loads(run("grep", "-l", "--json", "a.c", "x.zion", "b.zion").stdout)
    assert [file["path"] for file in facts["files"]][:1] == ["x.zion"]


def test_quiet_is_for_scripts(run: Any, events: Path) -> None:
    for pattern, code in (("PushEvent", 0), ("nobody-wrote-this", 1)):
        result = run("grep", "-q", pattern, events)
        assert (result.returncode, result.stdout, result.stderr) == (code, b"", b"")


def test_what_is_not_searched_is_said(run: Any, events: Path) -> None:
    warning = b"warning: numbers and times are no texts, and are not searched: see sdb query\n"
    for pattern, code in (("2015-01-01T0", 0), ("^2015-01-01T01:00:00Z$", 1), ("987654321", 1)):
        result = run("grep", "-c", pattern, events)
        assert (result.returncode, result.stderr) == (code, warning)
    assert run("grep", "created_at", events).returncode == 1  # the name of a field


def test_wrong_use(run: Any, events: Path, tmp_path: Path) -> None:
    for words in (["x"], [r"(a)\1", events], ["a(", events], ["--fmt", "csv", "a", events]):
        result = run("grep", *words)
        assert (result.returncode, result.stdout) == (2, b"")
        assert len(result.stderr.splitlines()) <= 2
    assert run("grep", "x", "nowhere.zion").returncode == 3
    data = bytearray(events.read_bytes())
    data[1000] ^= 0xFF
    (tmp_path / "bad.zion").write_bytes(data)
    for options in ([], ["-c"], ["-l"], ["-q"]):
        assert run("grep", *options, "nobody-wrote-this", "bad.zion").returncode == 6
    events.write_bytes(events.read_bytes()[:5000])
    assert run("grep", "x", events).returncode == 6


def test_on_a_terminal(screen: Any, events: Path) -> None:
    code, text = screen("grep", "-m", "1", "PushEvent", events, columns=40)
    assert code == 0
    bare = re.sub(r"\x1b\[\d*m", "", text)
    assert len(bare.splitlines()) > 3
    assert json.loads(bare)["type"]
    code, text = screen("grep", "-H", "-m", "1", "PushEvent", "events.zion", columns=40)
    assert text.startswith('events.zion:{"id": ')


def test_ion_text(run: Any, events: Path) -> None:
    result = run("grep", "--fmt", "ion-text", "-m", "2", "PushEvent", events)
    assert result.returncode == 0
    assert [line[:6] for line in result.stdout.splitlines()] == [b'{id: "'] * 2


@pytest.mark.parametrize("folder", CLOUDTRAIL[:3], ids=lambda folder: folder.name)
def test_cloudtrail(run: Any, folder: Path) -> None:
    (pack,) = folder.glob("pack.*")
    lines = run("unpack", "--fmt", "json", pack).stdout
    for pattern in ("[.]amazonaws[.]com$", "(?i)accessdenied", "^arn:aws:iam::"):
        assert run("grep", pattern, pack).stdout == b"".join(expected(lines, pattern))


def test_python(events: Path, rows: bytes) -> None:
    wanted = [json.loads(line)["id"] for line in expected(rows, "^(Fork|Watch)Event$")]
    assert [row["id"] for row in sdb.grep("^(Fork|Watch)Event$", events)] == wanted
    with sdb.open(events) as packfile:
        actual = packfile.grep(["^forkevent$", "^watchevent$"], ignore_case=True, limit=9)
        assert [row["id"] for row in actual] == wanted[:9]
        inverted = packfile.grep("^(Fork|Watch)Event$", fields=["type"], invert=True)
        assert sum(1 for _ in inverted) == 4000 - len(wanted)
        with pytest.raises(UsageError, match="cannot be used"):
            packfile.grep("a(")
        with pytest.raises(UsageError):
            packfile.grep("a", limit=-1)
    with pytest.warns(SdbWarning, match='"tpye"; did you mean type'):
        assert list(sdb.grep("x", [events], fields=["tpye"])) == []


def test_interrupt(packed: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "grep", "-c", r"(\w+ ){3}nobody-wrote-this", *[str(packed)] * 2000],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    time.sleep(1.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - began < soon(5)
