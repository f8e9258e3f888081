"""Files that are no packfiles: the same options of reading in all commands that take them."""

from __future__ import annotations

import gzip
import json
import zipfile
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
    said = refused.stderr.decode()
    assert said.startswith("sdb: day/b.bin, day/c.bin: unknown format")
    assert "--on-error skip reads the other 1 file: 1 json" in said
    packed = run("pack", "--on-error", "skip", "-o", "a.zion", "day")
    assert packed.returncode == 0
    assert "day/b.bin, day/c.bin: unknown format" in packed.stderr.decode()
    assert "; left out\n" in packed.stderr.decode()
    assert json.loads(run("unpack", "--fmt", "json", "a.zion").stdout) == {"n": 1}
    assert run("pack", "--on-error", "skip", "-o", "b.zion", "day/b.bin").returncode == 6


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of what people have: eight rows in four files, and what has no rows."""
    folder = tmp_path / "mixed"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.json.gz").write_bytes(gzip.compress(b'{"n":1}\n{"n":2}\n'))
    (folder / "sub/b.csv").write_text("n,m\n3,x\n4,y\n")
    (folder / "sub/c.log").write_text("level=info n=5\nlevel=warn n=6\n")
    (folder / "empty.json").write_bytes(b"")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (folder / "d.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    with zipfile.ZipFile(folder / "e.zip", "w") as archive:
        archive.writestr("e.json", '{"n":7}\n{"n":8}\n')
        archive.writestr("photo.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256)))
    return folder


def test_a_mixed_folder_is_packed_but_for_what_has_no_rows(run: Run, mixed: Path) -> None:
    refused = run("pack", "-o", "a.zion", mixed.name)
    assert refused.returncode == 8
    said = refused.stderr.decode()
    assert "mixed/d.7z: 7-Zip is not read" in said
    assert "mixed/e.zip!photo.jpg, mixed/logo.png: unknown format" in said
    assert "--on-error skip reads the other 5 files: 2 json, 1 empty, 1 csv, 1 logfmt; " in said
    packed = run("pack", "-o", "a.zion", mixed.name, "--on-error", "skip")
    assert packed.returncode == 0
    assert packed.stderr.decode().count("; left out\n") == 2
    rows = run("query", "--fmt", "json", "SELECT COUNT(*) AS n, SUM(n) AS s FROM 'a.zion'")
    assert json.loads(rows.stdout) == {"n": 8, "s": 36}


def test_a_query_says_once_what_it_says_of_many_files(run: Run, mixed: Path) -> None:
    for count, names in ((9, "mixed/b0.bin, mixed/b1.bin, mixed/b2.bin"), (30, "mixed/b0.bin")):
        for number in range(count):
            (mixed / f"b{number}.bin").write_bytes(b"no format at all %d\n" % number)
            (mixed / f"nothing{number}.json").write_bytes(b"")
        sql = f"SELECT COUNT(*) AS n FROM read_file('{mixed.name}', on_error => 'skip')"
        for _ in range(2):  # at first, and from the cache
            answer = run("query", "--fmt", "json", sql)
            assert json.loads(answer.stdout) == {"n": 8}
            lines = answer.stderr.decode().splitlines()
            unknown = [line for line in lines if "unknown format" in line and "b0.bin" in line]
            assert len(unknown) == 1, lines
            assert names in unknown[0]
            assert " more: unknown format" in unknown[0]
            assert sum(": no rows" in line for line in lines) <= 1, lines
            assert not any(".making" in line for line in lines), lines


def test_a_query_reads_a_mixed_folder_but_for_what_has_no_rows(run: Run, mixed: Path) -> None:
    sql = f"SELECT COUNT(*) AS n, SUM(n) AS s FROM read_file('{mixed.name}'{{}})"
    refused = run("query", "--fmt", "json", sql.format(""))
    assert refused.returncode == 8
    assert "on_error => 'skip' in read_file() leaves it out" in refused.stderr.decode()
    for _ in range(2):  # from the files, and from the cache
        answer = run("query", "--fmt", "json", sql.format(", on_error => 'skip'"))
        assert json.loads(answer.stdout) == {"n": 8, "s": 36}
        said = answer.stderr.decode()
        for name in ("d.7z", "e.zip!photo.jpg", "logo.png"):
            assert f"warning: mixed/{name}: " in said
        assert said.count("; left out\n") == 3
    assert run("query", sql.format(", on_error => 'skip'").replace("d'", "d/d.7z'")).returncode == 8


@pytest.mark.parametrize(
    ("log", "hint"),
    [("_delta_log/0.json", "delta:mixed/t"), ("metadata/v1.metadata.json", "iceberg:mixed/t")],
)
def test_a_table_of_another_system_is_no_folder_of_files(
    run: Run, mixed: Path, log: str, hint: str
) -> None:
    (mixed / "t" / log).parent.mkdir(parents=True)
    (mixed / "t" / log).write_text("{}")
    for words in (["pack", "-o", "a.zion", "mixed"], ["query", "SELECT 1 FROM read_file('mixed')"]):
        refused = run(*words)
        assert refused.returncode == 2
        assert f"{hint} reads its newest version" in refused.stderr.decode()


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
