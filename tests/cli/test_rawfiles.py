"""Files that are no packfiles: the same options of reading in all commands that take them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.cli import commands, parameters
from sdb.errors import SdbError, SdbWarning

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ACCESS = b"""192.0.2.7 - - [04/Mar/2026:05:06:07 +0000] "GET /a HTTP/1.1" 200 134 "-" "curl/8"
192.0.2.8 - - [04/Mar/2026:05:06:08 +0000] "POST /b HTTP/1.1" 404 12 "-" "curl/8"
"""


def test_a_hint_works_when_it_is_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"some words\nand others\n")
    for words in (["pack", "-o", "a.zion", "a.log"], ["query", "SELECT * FROM 'a.log'"]):
        refused = run(*words)
        assert refused.returncode == 6
        flag = b"-f text" if words[0] == "pack" else b"--input-format text"
        assert flag in refused.stderr
        assert run(*words, *flag.decode().split()).returncode == 0


def test_logs_are_read_alike_by_name_and_by_content(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(ACCESS)
    packed = run("pack", "-o", "a.zion", "a.log")
    assert packed.stderr == b"sdb: a.log: read as access logs of Apache and nginx (-f combined)\n"
    for words in (
        ["query", "SELECT COUNT(*) AS n FROM 'a.log'"],
        ["query", "--input-format", "combined", "SELECT COUNT(*) AS n FROM 'a.log'"],
        ["query", "SELECT COUNT(*) AS n FROM read_file('a.log', format => 'combined')"],
    ):
        assert json.loads(run(*words).stdout) == {"n": 2}, words


def test_files_that_are_no_packfiles_are_shown_and_searched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(ACCESS)
    form = ["--input-format", "combined"]
    for words, text in (
        (["head", "-1", *form, "a.log"], b'"status"'),
        (["head", "-1", "--where", "status = 404", *form, "a.log"], b"404"),
        (["head", "-1", "--since", "2026-03-04T05:06:08", *form, "a.log"], b"404"),
        (["tail", "-1", "--input-format", "text", "a.log"], b'"line"'),
        (["grep", "-c", "GET", *form, "a.log"], b"1\n"),
        (["fields", *form, "a.log"], b"agent"),
        (["fields", "--stats", *form, "a.log"], b"agent"),
    ):
        result = run(*words)
        assert (result.returncode, text in result.stdout) == (0, True), (words, result)


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


def test_inputs_in_no_known_format_are_named_together(run: Run, tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day/a.json").write_text('{"n":1}\n')
    for name in ("b.bin", "c.bin"):
        (tmp_path / "day" / name).write_bytes(b"no format at all\n")
    refused = run("pack", "-o", "a.zion", "day")
    assert refused.returncode == 6
    for name in ("b.bin", "c.bin"):
        assert f"day/{name}: unknown format" in refused.stderr.decode()
    packed = run("pack", "--on-error", "skip", "-o", "a.zion", "day")
    assert packed.returncode == 0
    assert packed.stderr.decode().count("; it is left out (") == 2
    assert json.loads(run("unpack", "--fmt", "json", "a.zion").stdout) == {"n": 1}
    assert run("pack", "--on-error", "skip", "-o", "b.zion", "day/b.bin").returncode == 6


@pytest.mark.filterwarnings("ignore:skipped|kept")
def test_a_query_says_how_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"level=a n=1\nbad\nlevel=b n=2\n")
    for options, expected in (
        ("format => 'text'", 3),
        ("format => 'logfmt', on_error => 'skip'", 2),
        ("format => 'logfmt', on_error => 'keep'", 3),
        (r"format => 'regex:n=(?P<n>\d)', on_error => 'skip'", 2),
    ):
        with sdb.sql(f"SELECT COUNT(*) AS n FROM read_file('{path}', {options})") as result:
            assert list(result) == [{"n": expected}], options
    both = f"read_file('{path}', format => 'text') AS a, read_file('{path}', format => 'csv') AS b"
    with sdb.sql(f"SELECT COUNT(*) AS n FROM {both}") as result:
        assert list(result) == [{"n": 6}]
    for options, message in (
        ("form => 'text'", "no option 'form'"),
        ("format => 'x'", "unknown format"),
        ("format => 'text', format => 'text'", "given twice"),
        ("on_error => 'kept'", "unknown choice 'kept'"),
    ):
        with pytest.raises(SdbError, match=message):
            sdb.sql(f"SELECT COUNT(*) AS n FROM read_file('{path}', {options})")


def test_what_a_query_leaves_out_is_told_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"level=a n=1\nbad\n")
    for _ in range(2):
        with pytest.warns(SdbWarning, match="skipped 1 record; first"):
            sdb.sql(
                f"SELECT * FROM read_file('{path}', format => 'logfmt', on_error => 'skip')"
            ).close()


READERS = ["fields", "grep", "head", "query", "tail"]
PACKERS = ["append", "create", "follow", "insert", "pack", "spark pack"]


@pytest.mark.parametrize("name", READERS + PACKERS)
def test_all_commands_that_read_inputs_have_the_same_options(name: str) -> None:
    """A new option of inputs is one of all commands that read them."""
    taken = dict(parameters.described(commands.load(name).command))
    form = "input_format" if name in READERS else "fmt"
    shared = ["records", "nested", "duplicates", "mode", "timezone", "time_field", "on_error"]
    assert {form, *shared} <= taken.keys()


def test_the_options_of_inputs_do_the_same_everywhere(run: Run, tmp_path: Path) -> None:
    """Records in objects, times in a zone and a form, and lines that are no records."""
    (tmp_path / "a.json").write_text('{"of":[{"at":"04/03/2024 06:06"}]}\n')
    reading = ["--records", "of", "--timezone", "Europe/Berlin"]
    reading += ["--time-field", "at:%d/%m/%Y %H:%M"]
    for words in (
        ["head", "a.json"],
        ["head", "--where", "at IS NOT NULL", "a.json"],
        ["tail", "a.json"],
        ["grep", "-v", "nothing", "a.json"],
        ["query", "SELECT * FROM 'a.json'"],
        ["head", "--since", "2024-03-04", "--until", "2024-03-05", "a.json"],
    ):
        result = run(*words, *reading)
        assert result.stdout == b'{"at": "2024-03-04T05:06:00Z"}\n', (words, result)
    listed = run("fields", *reading, "a.json")
    assert b"timestamp" in listed.stdout or b"time" in listed.stdout
    query = (
        "SELECT * FROM read_file('a.json', records => 'of', timezone => 'Europe/Berlin',"
        " time_field => 'at:%d/%m/%Y %H:%M')"
    )
    assert json.loads(run("query", query).stdout) == {"at": "2024-03-04T05:06:00Z"}


def test_columns_are_named_in_queries(tmp_path: Path) -> None:
    """The types of columns can be told where a file is named."""
    (tmp_path / "a.csv").write_text("id,n\n7,1\n")
    path = f"{tmp_path}/a.csv"
    for options, id_ in (("columns => 'id:text'", "7"), ("format => 'csv'", 7)):
        ids = sdb.sql(f"SELECT id FROM read_file('{path}', {options})")
        assert list(ids) == [{"id": id_}]


@pytest.mark.parametrize(("action", "lines"), [("keep", 3), ("skip", 2)])
def test_malformed_lines_go_where_they_are_told_and_each_command_says_so(
    run: Run, tmp_path: Path, action: str, lines: int
) -> None:
    """The answer of the cache says the same as that which was packed for the first command."""
    (tmp_path / "a.json").write_text('{"n":1}\n  at x.py\n{"n":2}\n')
    verb = b"kept" if action == "keep" else b"skipped"
    for words in (["head"], ["head"], ["tail"], ["grep", "-v", "nothing"]):
        result = run(*words, "--on-error", action, "a.json")
        assert result.stdout.count(b"\n") == lines, words
        assert verb + b" 1 record" in result.stderr, words


def test_what_packing_warned_of_is_told_by_each_query(tmp_path: Path) -> None:
    """Findings in a file do not vanish with its second query."""
    (tmp_path / "a.json").write_text('{"at":"2024-03-04T05:06:07.123456789Z"}\n')
    for _ in range(3):
        with pytest.warns(SdbWarning, match="1 time has digits beyond microseconds"):
            sdb.sql(f"SELECT * FROM '{tmp_path}/a.json'").close()


@pytest.mark.parametrize(
    "words",
    [
        ["query", "SELECT level FROM 'a.json'"],
        ["head", "--fields", "level", "a.json"],
        ["tail", "--fields", "level", "a.json"],
        ["grep", "error", "a.json"],
        ["fields", "--stats", "a.json"],
        ["pack", "-o", "a.zion", "a.json"],
    ],
)
def test_commands_take_which_of_two_values_counts(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "a.json").write_text('{"level":"info","level":"error"}\n')
    result = run(words[0], "--duplicates", "last", *words[1:])
    assert (result.returncode, b"1 value is dropped" in result.stderr) == (0, True)
    assert b"info" not in result.stdout
    assert run(words[0], "--duplicates", "most", *words[1:]).returncode == 2


def test_a_table_keeps_which_of_two_values_counts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/x.json").write_text('{"a":1,"a":2}\n')
    root = ("--root", "lake")
    create = ("create", "web.t", "--duplicates", "last", *root, "--input")
    assert run(*create, "*.json").returncode == run("sync", *root, "web.t").returncode == 0
    assert json.loads(run("query", *root, "SELECT * FROM web.t").stdout) == {"a": 2}
