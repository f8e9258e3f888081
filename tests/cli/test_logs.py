"""Lines of text logs: what they become, and where those go that do not fit."""

from __future__ import annotations

import gzip
import json
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.test_values import unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ACCESS = rb"""127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326
e.com:80 ::1 - john doe [10/Oct/2000:13:55:36 -0700] "GE /a\"b HTTP/1.1" 404 - "-" "(\x22x)" 0.003
h id - [10/Oct/2000:13:55:36 +0000] "\x16\x03" 400 0 "http://e/" ""
h - - [10/Oct/2000:13:55:36 +0000] "-" 408 -
"""
ACCESS_ROWS = [
    {
        "host": "127.0.0.1",
        "user": "frank",
        "time": "2000-10-10T20:55:36Z",
        "method": "GET",
        "path": "/a.gif?x=1",
        "protocol": "HTTP/1.0",
        "status": 200,
        "bytes": 2326,
    },
    {
        "vhost": "e.com:80",
        "host": "::1",
        "user": "john doe",
        "time": "2000-10-10T20:55:36Z",
        "method": "GE",
        "path": '/a"b',
        "protocol": "HTTP/1.1",
        "status": 404,
        "agent": '("x)',
        "rest": "0.003",
    },
    {
        "host": "h",
        "identity": "id",
        "time": "2000-10-10T13:55:36Z",
        "request": "\x16\x03",
        "status": 400,
        "bytes": 0,
        "referer": "http://e/",
    },
    {"host": "h", "time": "2000-10-10T13:55:36Z", "status": 408},
]
SYSLOG = """<34>1 2003-10-11T22:14:15.003Z m.example.com su - ID47 - \ufeff'su root' failed
<165>1 2003-10-11T22:14:15Z m app 77 - [a@1 i="3" s="x\\]y"][b z="1"]
<0>1 - - - - - - all is missing
2026-11-24T04:10:00.5+01:00 host kernel: [1.5] up
Oct 11 2003 22:14:15 host no tag here
""".encode()
SYSLOG_ROWS = [
    {
        "facility": 4,
        "severity": 2,
        "time": "2003-10-11T22:14:15.003Z",
        "host": "m.example.com",
        "app": "su",
        "msgid": "ID47",
        "message": "'su root' failed",
    },
    {
        "facility": 20,
        "severity": 5,
        "time": "2003-10-11T22:14:15Z",
        "host": "m",
        "app": "app",
        "pid": 77,
        "data": {"a@1": {"i": "3", "s": "x]y"}, "b": {"z": "1"}},
    },
    {"facility": 0, "severity": 0, "message": "all is missing"},
    {
        "time": "2026-11-24T03:10:00.5Z",
        "host": "host",
        "app": "kernel",
        "message": "[1.5] up",
    },
    {"time": "2003-10-11T22:14:15Z", "host": "host", "message": "no tag here"},
]
LOGFMT = b"""level=info msg="it \\"works\\"" n=3 f=2.5 ok at=2026-01-02T03:04:05Z id=007 e=
t="2026-01-02 03:04:05" m="3" m=4 when=[x] deep.er=true
"""
LOGFMT_ROWS = [
    {
        "level": "info",
        "msg": 'it "works"',
        "n": 3,
        "f": 2.5,
        "ok": True,
        "at": "2026-01-02T03:04:05Z",
        "id": "007",
        "e": "",
    },
    {"t": "2026-01-02T03:04:05Z", "m": "3", "when": "[x]", "deep.er": True},
]
PATTERN = r"regex:^(?P<ip>\S+) \S+ \S+ \[(?P<time>[^]]+)\] .* (?P<status>\d{3}) (?P<size>\d+)?"


def packed(run: Run, form: str, data: bytes, *more: str) -> list[dict[str, Any]]:
    result = run("pack", "--force", "--format", form, "-o", "a.zion", *more, "-", data=data)
    said = b"" if b"1 value is dropped" in result.stderr else result.stderr
    assert (result.returncode, said) == (0, b"")
    return unpacked(run)


@pytest.mark.parametrize(
    ("form", "data", "rows"),
    [
        ("combined", ACCESS, ACCESS_ROWS),
        ("syslog", SYSLOG, SYSLOG_ROWS),
        ("logfmt", LOGFMT, LOGFMT_ROWS),
        (
            r"regex:^(?P<time>\S+ \S+) (?P<text>.*)",
            b"2026-11-27 20:00:01,234 a\n2026-11-27 20:00:02,5 b\n",
            [
                {"time": "2026-11-27T20:00:01.234Z", "text": "a"},
                {"time": "2026-11-27T20:00:02.5Z", "text": "b"},
            ],
        ),
        (
            "logfmt",
            b'at="2026-11-27 20:00:01,5 +01:00" n=1,5\n',
            [{"at": "2026-11-27T19:00:01.5Z", "n": "1,5"}],
        ),
        ("text", b"one\r\n\n {} \nlast", [{"line": text} for text in ("one", "", " {} ", "last")]),
        (
            PATTERN,
            ACCESS.splitlines(keepends=True)[0] + ACCESS.splitlines()[3],
            [
                {"ip": "127.0.0.1", "time": "2000-10-10T20:55:36Z", "status": 200, "size": 2326},
                {"ip": "h", "time": "2000-10-10T13:55:36Z", "status": 408},
            ],
        ),
    ],
    ids=["combined", "syslog", "logfmt", "comma", "logfmt-comma", "text", "regex"],
)
def test_lines_become_rows(run: Run, form: str, data: bytes, rows: list[dict[str, Any]]) -> None:
    assert packed(run, form, data) == rows
    assert packed(run, form, b"\xef\xbb\xbf" + data, "-j", "1") == rows
    assert packed(run, form, gzip.compress(data)) == rows
    own = packed(run, form, data, "--constant", "host=mine")
    assert [row["host"] for row in own] == ["mine"] * len(rows)


def test_a_constant_stands_above_a_value_and_a_key_that_comes_twice_is_told(run: Run) -> None:
    options = ("pack", "--force", "--format", "logfmt", "-o", "a.zion", "--constant", "host=mine")
    result = run(*options, "-", data=b"host=a n=1\nhost=b n=2\n")
    assert (result.returncode, result.stderr) == (0, b"")
    assert unpacked(run) == [{"host": "mine", "n": 1}, {"host": "mine", "n": 2}]
    result = run(*options, "-", data=b"host=a n=1 n=2\n")
    assert b"1 value is dropped" in result.stderr


def test_times_are_indexed(run: Run) -> None:
    packed(run, "combined", ACCESS)
    assert "time" in run("describe-file", "a.zion").stdout.decode()
    query = "SELECT COUNT(*) AS n FROM 'a.zion' WHERE time >= TIMESTAMP '2000-10-10T20:00:00Z'"
    assert json.loads(run("query", "--fmt", "json", query).stdout) == {"n": 2}


@pytest.mark.parametrize(
    ("form", "line", "message"),
    [
        ("combined", "x", "no time in brackets, as in [10/Oct/2000:13:55:36 -0700]"),
        ("combined", "a - - [31/Feb/2000:13:55:36 -0700] x", "no time such as"),
        ("combined", "a - [10/Oct/2000:13:55:36 -0700] x", "a host, an identity and a user"),
        ("combined", 'a - - [10/Oct/2000:13:55:36 -0700] "GET', "the request in quotes"),
        ("combined", 'a - - [10/Oct/2000:13:55:36 -0700] "-" x 7', "the status was expected"),
        ("combined", 'a - - [10/Oct/2000:13:55:36 -0700] "-" 200', "the number of bytes was"),
        ("syslog", "hello", "no time such as Oct 11 22:14:15"),
        ("syslog", "<192>1 - - - - - -", "no priority such as <34>"),
        ("syslog", "<34>1 yesterday h a p m -", "no time such as 2003"),
        ("syslog", "<34>1 - h a", "host, app, pid and msgid were expected"),
        ("syslog", '<34>1 - h a p m [x y="1" z] m', "structured data was expected"),
        ("logfmt", "hello", "no key=value in the line"),
        ("logfmt", 'a="b', "a quote that is not closed"),
        ("logfmt", "=b", "a key was expected"),
        ("regex:^(?P<n>[0-9]+)$", "1a", "the pattern does not match the line"),
    ],
)
def test_a_line_that_does_not_fit(run: Run, form: str, line: str, message: str) -> None:
    good = {
        "combined": ACCESS.splitlines()[0],
        "syslog": SYSLOG.splitlines()[0],
        "logfmt": LOGFMT.splitlines()[0],
    }.get(form, b"17")
    data = b"%b\n%b\n\n%b\n" % (good, line.encode(), good)
    words = ["pack", "--force", "-f", form, "-o", "a.zion", "-"]
    refused = run(*words, data=data)
    assert refused.returncode == 6
    assert f"line 2: {message}" in refused.stderr.decode()
    skipped = run(*words, "--on-error", "quarantine:bad.log", data=data)
    assert skipped.returncode == 0
    assert b"skipped 1 record; kept in bad.log" in skipped.stderr
    assert (run("unpack", "--fmt", "json", "a.zion").stdout).count(b"\n") == 2


def test_quarantined_lines_are_as_they_were(run: Run, tmp_path: Path) -> None:
    data = b"bad \xff one\r\n" + ACCESS + b"bad two"
    words = ["-f", "combined", "-o", "a.zion", "--on-error", "quarantine:bad.log", "-"]
    assert run("pack", *words, data=data).returncode == 0
    assert (tmp_path / "bad.log").read_bytes() == b"bad \xff one\r\nbad two\n"


def test_years_are_guessed_and_told_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    path.write_text("Oct 11 22:14:15 h a: x\nJan  2 10:00:00 h a: y\nJan  2 12:00:00 h a: z\n" * 50)
    os.utime(path, (0, 1_420_192_800 - 86_400))  # 2015-01-01T10:00Z
    result = run("pack", "-f", "syslog", "-o", "s.zion", "s.log")
    assert result.stderr.decode().count("times without a year") == 1
    rows = unpacked(run, "s.zion")[:3]
    assert [row["time"][:13] for row in rows] == ["2014-10-11T22", "2015-01-02T10", "2014-01-02T12"]
    assert run("pack", "-f", "syslog", "-o", "b.zion", "-", data=SYSLOG).stderr == b""


def test_patterns_that_cannot_be_used(run: Run) -> None:
    for form, message in (
        ("regex", "regex needs a pattern with named groups"),
        ("regex:(?P<a>x", "the pattern of regex: unclosed group"),
        ("regex:x", "the pattern of regex: no named group"),
        ("regex:(?P<a>(x{1000}){1000})", "the pattern of regex: "),
        (r"regex:(?P<a>x)\1", "the pattern of regex: backreferences are not supported"),
    ):
        result = run("pack", "-f", form, "-o", "a.zion", "-", data=b"x\n")
        assert result.returncode == 2, form
        assert message in result.stderr.decode()
        assert result.stderr.count(b"\n") <= 2


def test_a_pattern_takes_linear_time(run: Run) -> None:
    line = b"a" * 100_000 + b"\n"
    result = run("pack", "-f", "regex:^(?P<a>(a+)+)$", "-o", "a.zion", "-", data=line + line)
    assert result.returncode == 0
    backtracks = run("pack", "-f", "regex:^(?P<a>(a+)+)b$", "-o", "b.zion", "-", data=line)
    assert backtracks.returncode == 6


@pytest.mark.parametrize(
    ("data", "form"),
    [(ACCESS, "combined"), (SYSLOG, "syslog"), (LOGFMT, "logfmt")],
    ids=["combined", "syslog", "logfmt"],
)
def test_the_form_that_was_found_is_told(run: Run, data: bytes, form: str) -> None:
    result = run("pack", "-o", "a.zion", "-", data=data)
    assert result.returncode == 0
    assert f"(-f {form})\n" in result.stderr.decode()


def test_a_hint_works_when_it_is_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"hello\nworld\n")
    refused = run("pack", "-o", "a.zion", "a.log")
    assert refused.returncode == 6
    assert b"-f text makes a row of each line" in refused.stderr
    assert run("pack", "-f", "text", "-o", "a.zion", "a.log").returncode == 0
    refused = run("query", "SELECT COUNT(*) AS n FROM 'a.log'")
    assert refused.returncode == 6
    assert b"--input-format text makes a row of each line" in refused.stderr
    for words in (
        ["query", "--input-format", "text", "SELECT COUNT(*) AS n FROM 'a.log'"],
        ["query", "SELECT COUNT(*) AS n FROM read_file('a.log', format => 'text')"],
    ):
        assert json.loads(run(*words).stdout) == {"n": 2}, words


def test_files_that_are_no_packfiles_are_shown_and_searched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(ACCESS)
    for words, text in (
        (["head", "-1", "a.log"], b'"status"'),
        (["head", "-1", "--where", "status = 404", "a.log"], b"404"),
        (["tail", "-1", "--input-format", "text", "a.log"], b'"line"'),
        (["grep", "-c", "GET", "a.log"], b"1\n"),
        (["fields", "a.log"], b"agent"),
    ):
        result = run(*words)
        assert (result.returncode, text in result.stdout) == (0, True), (words, result)


def test_rows_do_not_depend_on_threads_and_parts(run: Run, tmp_path: Path) -> None:
    chance = random.Random(7)
    lines = ACCESS.splitlines(keepends=True)
    data = b"".join(
        line.replace(b"/a", b"/%d" % chance.randrange(10**9))
        for line in chance.choices(lines, k=200_000)
    )
    (tmp_path / "a.log").write_bytes(data)
    for threads in ("1", "2", "7"):
        run("pack", "-f", "combined", "-j", threads, "-o", f"{threads}.zion", "a.log")
    packfiles = {(tmp_path / f"{threads}.zion").read_bytes() for threads in "127"}
    assert len(packfiles) == 1
    assert len(sdb.open(tmp_path / "1.zion").head(300_000)) == 200_000


def test_tables_take_logs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "lake/in/a.log").write_bytes(ACCESS)
    inputs = [{"pattern": "file://in/*.log", "format": "combined"}]
    (tmp_path / "def.json").write_text(json.dumps({"input": inputs}))
    assert run("create", "--root", "lake", "d", "t", "def.json").returncode == 0
    assert run("sync", "--root", "lake", "d").returncode == 0
    assert (
        run("insert", "--root", "lake", "d.t", "-f", "combined", "-", data=ACCESS).returncode == 0
    )
    append = run("append", "--create", "-f", "combined", "b.zion", "lake/in/a.log")
    assert append.returncode == 0
    query = "SELECT COUNT(*) AS n, SUM(status) AS s FROM d.t"
    answer = run("query", "--root", "lake", "--fmt", "json", query)
    assert json.loads(answer.stdout) == {"n": 8, "s": 2 * (200 + 404 + 400 + 408)}
    bad = [{"pattern": "file://in/*.log", "format": "regex:(?P<a>"}]
    (tmp_path / "bad.json").write_text(json.dumps({"input": bad}))
    refused = run("create", "--root", "lake", "d", "u", "bad.json")
    assert refused.returncode == 2
    assert b"the pattern of regex: unclosed group" in refused.stderr


def test_inputs_of_patterns_are_read_as_options_say(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "lake/in/a.log").write_text('level=info at="04/03/2026 06:06" n=1\n')
    words = ["create", "--root", "lake", "d.t", "--input", "in/*.log", "--format", "logfmt"]
    times = ["--timezone", "Europe/Berlin", "--time-field", "at:%d/%m/%Y %H:%M"]
    assert run(*words, *times).returncode == 0
    assert run("sync", "--root", "lake", "d.t").returncode == 0
    answer = run("query", "--root", "lake", "--fmt", "json", "SELECT * FROM d.t")
    assert json.loads(answer.stdout) == {"level": "info", "at": "2026-03-04T05:06:00Z", "n": 1}
    assert run(*words, "--time-field", "at").returncode == 2
    (tmp_path / "d.json").write_text('{"input":[{"pattern":"file://in/*.json"}]}')
    refused = run("create", "--root", "lake", "d.u", "d.json", "--format", "json")
    assert refused.returncode == 2
    assert b"go with --input PATTERN" in refused.stderr
