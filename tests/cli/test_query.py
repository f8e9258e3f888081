from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

import sdb
from tests.cli.conftest import COMMAND, environment
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run, Screen

COUNT = "SELECT COUNT(*) AS n FROM read_file('events.zion')"
TYPES = (
    "SELECT type, COUNT(*) AS n FROM read_file('events.zion') GROUP BY type ORDER BY type LIMIT 3"
)
HALF = "created_at < `2015-01-01T01:04:00Z`"


def lines(output: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    text = tmp_path / "mixed.json"
    rows = ['{"v": 1}', '{"v": 2.5, "w": "a,b"}', '{"v": null}', "{}", '{"v": [1, {"k": "x"}]}']
    text.write_text("\n".join(rows))
    sdb.pack([text], tmp_path / "mixed.zion")
    return tmp_path / "mixed.zion"


def test_rows_go_to_a_pipe_as_lines_of_json(run: Run, events: Path) -> None:
    done = run("query", COUNT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"n": 4000}\n', b"")
    assert events.exists()


def test_a_path_in_quotes_is_a_table(run: Run, events: Path) -> None:
    assert events.exists()
    done = run("query", 'SELECT COUNT(*) AS n FROM "events.zion"')
    assert lines(done.stdout) == [{"n": 4000}]


def test_missing_members_are_left_out_and_null_is_not(run: Run, mixed: Path) -> None:
    assert mixed.exists()
    done = run("query", "SELECT * FROM read_file('mixed.zion')")
    assert done.stdout.splitlines() == [
        b'{"v": 1}',
        b'{"v": 2.5, "w": "a,b"}',
        b'{"v": null}',
        b"{}",
        b'{"v": [1, {"k": "x"}]}',
    ]


@pytest.mark.parametrize("star", [True, False])
@pytest.mark.parametrize(
    ("fmt", "expect"),
    [
        ("csv", 'v,w\n1,\n2.5,"a,b"\n,\n,\n"[1, {""k"": ""x""}]",\n'),
        ("tsv", 'v\tw\n1\t\n2.5\ta,b\n\t\n\t\n"[1, {""k"": ""x""}]"\t\n'),
        (
            "markdown",
            (
                "| v | w |\n| --- | --- |\n| 1 |  |\n| 2.5 | a,b |\n|  |  |\n|  |  |\n"
                '| [1, {"k": "x"}] |  |\n'
            ),
        ),
    ],
)
def test_text_formats(run: Run, mixed: Path, fmt: str, expect: str, star: bool) -> None:
    assert mixed.exists()
    what = "*" if star else "v, w"
    done = run("query", "--fmt", fmt, f"SELECT {what} FROM read_file('mixed.zion')")
    assert (done.returncode, done.stdout.decode()) == (0, expect)


def test_a_page_runs_nothing_of_what_is_in_rows(run: Run, tmp_path: Path) -> None:
    harm = "<script>alert(1)</script>\u202e"
    (tmp_path / "harm.json").write_text(json.dumps({f"{harm}name": harm}))
    done = run("query", "--fmt", "html", f"SELECT * FROM read_file('{tmp_path}/harm.json')")
    page = done.stdout.decode()
    assert done.returncode == 0
    assert page.count("&lt;script&gt;") == 2
    assert "<script" not in page
    assert "\u202e" not in page
    assert "default-src 'none'" in page


def test_binary_formats(run: Run, mixed: Path) -> None:
    folder = mixed.parent
    for name in ("out.parquet", "out.arrow", "out.ion"):
        done = run("query", "-o", name, "SELECT v, w FROM read_file('mixed.zion')")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    table = pyarrow.parquet.read_table(folder / "out.parquet")
    assert table.column("v").to_pylist() == ["1", "2.5", None, None, '[1, {"k": "x"}]']
    with pyarrow.ipc.open_stream(folder / "out.arrow") as stream:
        assert stream.read_all().equals(table)
    sdb.pack([folder / "out.ion"], folder / "again.zion")
    with sdb.open(folder / "again.zion") as again, sdb.open(mixed) as before:
        assert list(again.rows()) == list(before.rows())


def test_an_output_is_not_replaced_unasked(run: Run, events: Path) -> None:
    target = events.parent / "out.json"
    target.write_text("mine")
    assert run("query", "-o", "out.json", COUNT).returncode == 4
    assert target.read_text() == "mine"
    assert run("query", "-o", "out.json", "--force", COUNT).returncode == 0
    assert target.read_bytes() == b'{"n": 4000}\n'


def test_a_terminal_gets_a_table_that_fits(screen: Screen, events: Path) -> None:
    assert events.exists()
    code, shown = screen("query", TYPES)
    assert code == 0
    assert shown.splitlines() == [
        "type                  n",
        "──────────────────  ───",
        "CommitCommentEvent   20",
        "CreateEvent         324",
        "DeleteEvent          32",
        "(3 rows)",
    ]
    code, shown = screen("query", "SELECT * FROM read_file('events.zion')", columns=44)
    assert code == 0
    assert max(map(len, shown.splitlines()[:-3])) <= 44
    assert "more column" in shown
    assert shown.endswith("(100 of 4,000 rows shown)\n")


def test_binary_data_does_not_go_to_a_terminal(screen: Screen, events: Path) -> None:
    assert events.exists()
    code, shown = screen("query", "--fmt", "ion", COUNT)
    assert code == 2
    assert "terminal" in shown


def test_the_query_comes_from_a_file_or_standard_input(run: Run, events: Path) -> None:
    (events.parent / "q.sql").write_text(COUNT)
    for arguments in (["-f", "q.sql"], ["-f=q.sql"], ["--file", "q.sql"]):
        assert run("query", *arguments).stdout == b'{"n": 4000}\n'
    assert run("query", "-f", "-", data=COUNT.encode()).stdout == b'{"n": 4000}\n'
    assert run("query", "-f", "-", data=b"\xef\xbb\xbf" + COUNT.encode()).returncode == 0
    assert run("query", "-f", "q.sql", COUNT).returncode == 2
    done = run("query", "-f", "-", data=b"SELECT '\xff'")
    assert (done.returncode, done.stderr) == (2, b"sdb: - is not UTF-8 at byte 8\n")
    assert run("query", "-f", "nosuch.sql").returncode == 3


def test_flags_of_the_original(run: Run, events: Path) -> None:
    done = run("-root", events.parent, "query", "-v", "-fmt", "json", "-o", "-", COUNT)
    assert done.stdout == b'{"n": 4000}\n'
    assert b" bytes (" in done.stderr
    assert b" scanned in " in done.stderr


def test_root_is_where_paths_start(run: Run, events: Path) -> None:
    folder = events.parent / "sub"
    folder.mkdir()
    events.rename(folder / "events.zion")
    assert run("query", COUNT).returncode == 3
    assert run("query", "--root", "sub", COUNT).stdout == b'{"n": 4000}\n'
    assert run("--root", "sub", "query", COUNT).stdout == b'{"n": 4000}\n'


def test_patterns_and_several_files(run: Run, events: Path) -> None:
    (events.parent / "a[b]").mkdir()
    (events.parent / "a[b]/two.zion").write_bytes(events.read_bytes())
    for pattern, count in (("*.zion", 4000), ("**/*.zion", 8000), ("a[[]b]/t*", 4000)):
        done = run("query", f"SELECT COUNT(*) AS n FROM read_file('{pattern}')")
        assert lines(done.stdout) == [{"n": count}], pattern
    done = run("query", "SELECT COUNT(*) AS n FROM read_file('a[b]/two.zion')")
    assert lines(done.stdout) == [{"n": 4000}]
    done = run("query", "SELECT 1 FROM read_file('no*.zion')")
    assert (done.returncode, b"no file matches no*.zion" in done.stderr) == (3, True)


def test_more_files_than_a_process_usually_opens(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    path = tmp_path / "one.json"
    path.write_text('{"a": 1}')
    sdb.pack([path], tmp_path / "many/0.zion")
    for number in range(1, 300):
        (tmp_path / f"many/{number}.zion").hardlink_to(tmp_path / "many/0.zion")
    command = " ".join(COMMAND)
    query = "SELECT COUNT(a) AS n FROM read_file('many/*.zion')"
    done = subprocess.run(
        ["bash", "-c", f'ulimit -Sn 100; {command} query "{query}"'],
        capture_output=True,
        cwd=tmp_path,
        env=environment(),
        check=True,
    )
    assert lines(done.stdout) == [{"n": 300}]


def test_lists_and_structures_as_params(run: Run) -> None:
    query = "SELECT x, $s.a AS a, $t AS t FROM UNNEST($ids) AS x WHERE x = ANY($ids) AND x IN $ids"
    argument = ("--param", 'ids=[1, "b"]', "--param", 's={"a": null}', "--param", "t=[no list")
    done = run("query", *argument, query)
    rows = [{"x": x, "a": None, "t": "[no list"} for x in (1, "b")]
    assert lines(done.stdout) == rows, done.stderr
    done = run("query", "--param", "n:json=[1", "SELECT $n AS n")
    assert (done.returncode, b"the parameter 'n': '[1' is not JSON" in done.stderr) == (2, True)
    done = run("query", "--param", "n=[1]", "--param", "n=2", "SELECT $n AS n")
    assert (done.returncode, b"given twice" in done.stderr) == (2, True)


def test_params_are_bound_and_never_pasted(run: Run, events: Path) -> None:
    assert events.exists()
    query = "SELECT COUNT(*) AS n FROM read_file('events.zion') WHERE type = $t AND created_at < $c"
    done = run("query", "--param", "t=PushEvent", "--param", "c=2015-01-01T01:04:00Z", query)
    (counted,) = lines(done.stdout)
    done = run("query", f"{COUNT} WHERE type = 'PushEvent' AND {HALF}")
    assert lines(done.stdout) == [counted]
    assert counted["n"] != 0
    done = run("query", "--param", "t=x' OR 'a' = 'a", "--param", "c:time=2015-01-01", query)
    assert lines(done.stdout) == [{"n": 0}]
    done = run("query", "--param", "t=x", query)
    assert (done.returncode, b"$c" in done.stderr) == (2, True)
    done = run("query", "--param", "z=1", COUNT)
    assert (done.returncode, b"$z" in done.stderr) == (2, True)


def test_verbose_tells_how_much_was_scanned(run: Run, events: Path) -> None:
    assert events.exists()
    early = "created_at < `2015-01-01T00:00:00Z`"
    done = run("query", "-v", f"SELECT COUNT(*) AS n FROM read_file('events.zion') WHERE {early}")
    assert lines(done.stdout) == [{"n": 0}]
    assert done.stderr.startswith(b"0 bytes (0) scanned in ")
    assert b"0 of 3 blocks, 0 of 1 files" in done.stderr
    done = run(
        "query", "--no-prune", "-v", f"SELECT type FROM read_file('events.zion') WHERE {early}"
    )
    assert b": 3 of 3 blocks, 1 of 1 files" in done.stderr


def test_explain_shows_what_is_read_and_why(run: Run, events: Path) -> None:
    assert events.exists()
    query = f"SELECT type FROM read_file('events.zion') WHERE {HALF} AND NOT UPPER(type) = 'X'"
    done = run("query", "--explain", query)
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert "created_at < `2015-01-01T01:04:00Z`: 0-2 (time index)" in shown
    assert ": any block" in shown
    done = run("query", "--explain", "--json", query)
    facts = json.loads(done.stdout)
    (file,) = facts["tables"][0]["files"]
    assert (file["path"], file["blocks"], file["all_blocks"]) == ("events.zion", [[0, 3]], 3)
    assert [reason["source"] for reason in file["reasons"]] == ["time index", "nothing"]


@pytest.mark.parametrize("before", ["", "/* why? */ ", "/* a /* nested */ one */\n\t"])
def test_a_plan_is_shown_as_text_whatever_stands_before_explain(
    run: Run, events: Path, before: str
) -> None:
    assert events.exists()
    done = run("query", "--fmt", "table", before + "explain SELECT type FROM 'events.zion'")
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert shown.startswith("s1: READ_FILE('events.zion')\n  READ type\n")


def test_a_word_in_a_comment_makes_no_plan(run: Run, events: Path) -> None:
    assert events.exists()
    done = run("query", "--fmt", "table", "/*explain*/ SELECT COUNT(*) AS n FROM 'events.zion'")
    assert (done.returncode, "4000" in done.stdout.decode()) == (0, True)


@pytest.mark.parametrize(
    "pattern", [r"\E", r"[\y]", r"\xZ", r"\pQ", "[b-a]", "a**", "a{2000}", "[[:foo:]]"]
)
def test_a_pattern_that_the_engine_refuses_is_wrong_use(
    run: Run, events: Path, pattern: str
) -> None:
    done = run("query", f"SELECT COUNT(*) FROM '{events}' WHERE type ~ r'{pattern}'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines()[-1].startswith(b"sdb: error parsing regexp: ")


def test_a_syntax_error_is_underlined(run: Run) -> None:
    done = run("query", "SELECT a, FROM, read_file('t.zion')")
    assert (done.returncode, done.stdout) == (2, b"")
    message = done.stderr.decode().splitlines()
    at = message.index("SELECT a, FROM, read_file('t.zion')")
    assert message[at + 1] == " " * 14 + "^", "the word that is wrong, not what follows it"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM read_file('nosuch.zion')", 3),
        ("SELECT * FROM read_file('words.txt')", 6),
        ("SELECT * FROM nosuch", 3),
        ("SELECT nosuchfunc(1)", 2),
        ("SELECT 1 / 0", 2),
    ],
)
def test_exit_codes(run: Run, tmp_path: Path, query: str, code: int) -> None:
    (tmp_path / "words.txt").write_text("hello, world, this is no packfile\n" * 10)
    done = run("query", query)
    assert (done.returncode, done.stdout) == (code, b"")
    assert b"sdb: " in done.stderr


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM 'secret.txt'",
        'SELECT * FROM "secret.txt"',
        "SELECT * FROM read_csv('secret.csv')",
        "SELECT * FROM read_text('secret.csv')",
        "SELECT * FROM glob('*')",
        "SELECT * FROM read_file('secret.txt')",
        "SELECT getenv('HOME') AS h",
        "COPY (SELECT 1) TO 'out.csv'",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2",
    ],
)
def test_nothing_but_data_can_be_read(run: Run, tmp_path: Path, query: str) -> None:
    """Packfiles, and what `sdb pack` takes; a text is neither, and DuckDB's functions are shut."""
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    (tmp_path / "secret.txt").write_text("password\nhunter2\n")
    done = run("query", query)
    assert done.returncode in {2, 3, 6}
    assert b"hunter2" not in done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv", "secret.txt"]


@pytest.mark.parametrize("fmt", ["json", "csv", "table", "ion", "arrow"])
def test_a_damaged_block_is_named(run: Run, events: Path, fmt: str) -> None:
    with sdb.open(events) as pack:
        start, _ = pack.trailer.block_range(2)
    data = bytearray(events.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    events.write_bytes(data)
    done = run("query", "--fmt", fmt, "SELECT MAX(payload.size) AS n FROM read_file('events.zion')")
    assert done.returncode == 6
    message = done.stderr.decode()
    assert message.startswith(f"sdb: events.zion: block 2 at byte {start:,}: ")
    assert message.endswith("hint: sdb validate events.zion\n")  # and nothing of the engine


def test_a_reader_that_goes_away_is_no_error(events: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "query", "SELECT * FROM read_file('events.zion')"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=events.parent,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


def test_too_little_memory_is_told(run: Run, events: Path) -> None:
    assert events.exists()
    query = "SELECT (SELECT * FROM read_file('events.zion') LIMIT 4000) AS events"
    done = run("query", "--memory", "2MiB", query)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"needs more memory" in done.stderr
    assert b"hint: allow more with --memory" in done.stderr
    assert run("query", "--memory", "lots", query).returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_query_and_leaves_nothing(events: Path, number: int) -> None:
    join = "read_file('events.zion') AS a JOIN read_file('events.zion') AS b ON a.public = b.public"
    query = f"SELECT SUM(a.payload.size * c.payload.size) AS n FROM {join}"
    query += " JOIN read_file('events.zion') AS c ON a.public = c.public"
    process = subprocess.Popen(
        [*COMMAND, "query", "-o", "out.json", query],
        stderr=subprocess.PIPE,
        cwd=events.parent,
        env=environment(),
    )
    time.sleep(1.5)
    assert process.poll() is None
    started = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    assert time.monotonic() - started < soon(5)
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert list(events.parent.iterdir()) == [events]


def test_nothing_is_printed_at_exit_when_a_result_is_left_open(events: Path) -> None:
    code = f'import sdb; r = sdb.sql("{COUNT} GROUP BY type"); print(next(iter(r)))'
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        cwd=events.parent,
        env=environment(),
        check=True,
    )
    assert done.stderr == b""


def test_what_does_not_fit_into_memory_goes_to_a_folder_that_vanishes(
    run: Run, events: Path, tmp_path: Path
) -> None:
    assert events.exists()
    some = "(SELECT id FROM read_file('events.zion') LIMIT 600) AS b"
    query = "SELECT a.id || b.id AS pair, COUNT(*) AS n FROM read_file('events.zion') AS a"
    query += f" CROSS JOIN {some} GROUP BY a.id || b.id"
    folder = tmp_path / "temporary"
    folder.mkdir()
    query += " ORDER BY n DESC, pair DESC LIMIT 1"
    done = run("query", "--memory", "40MiB", query, TMPDIR=str(folder))
    assert (done.returncode, done.stderr) == (0, b"")
    # A line and nothing else: DuckDB likes to show how far it is on standard output.
    assert [row["n"] for row in lines(done.stdout)] == [4]
    assert not list(folder.iterdir())


def test_ion_text(run: Run, events: Path) -> None:
    query = 'SELECT COUNT(*) AS n, EARLIEST(created_at) AS "first at" FROM "events.zion"'
    text = run("query", "--fmt", "ion-text", query)
    assert (text.returncode, text.stderr) == (0, b"")
    assert text.stdout == b"{n: 4000, 'first at': 2015-01-01T01:00:00Z}\n"
    assert events.exists()


def test_sql_from_standard_input(run: Run, events: Path) -> None:
    assert events.exists()
    query = b'SELECT COUNT(*) AS n\nFROM "events.zion"  -- all of them\n'
    for words in ([], ["--fmt", "json"], ["-f", "-"]):
        done = run("query", *words, data=query)
        assert (done.returncode, done.stdout, done.stderr) == (0, b'{"n": 4000}\n', b"")
    done = run("query", data=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert run("query", data=b"\xff").stderr.startswith(b"sdb: standard input is not UTF-8")
    assert run("query", "-f", "-", "SELECT 1", data=query).returncode == 2


def test_no_query_on_a_terminal_is_help(screen: Screen) -> None:
    code, text = screen("query")
    assert code == 2
    assert "Usage: sdb query" in text
    code, text = screen("query", "--fmt", "json")
    assert (code, text) == (2, "sdb: give a query\nhint: sdb shell takes one after the other\n")


def test_vertical(run: Run, tmp_path: Path) -> None:
    rows = '{"id": 1, "long name": "a\\nb", "x": {"y": [1.50, null]}}\n{"id": 2, "ü": "日本"}\n'
    (tmp_path / "x.json").write_text(rows)
    done = run("query", "--fmt", "vertical", "SELECT * FROM 'x.json'")
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        "row 1 ──────────────────",
        "id         1",
        "long name  a\\nb",
        'x          {"y": [1.5, null]}',
        "row 2 ──────────────────",
        "id  2",
        "ü   日本",
        "(2 rows)",
    ]
    plain = run(
        "query", "--fmt", "vertical", "SELECT id FROM 'x.json' LIMIT 1", PYTHONIOENCODING="ascii"
    )
    assert plain.stdout.decode() == "row 1 ------------------\nid  1\n(1 row)\n"


def test_vertical_shows_values_whole_and_all_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"a": "x" * 5000}) + "\n" + '{"a": 1}\n' * 300)
    done = run("query", "--fmt", "vertical", "SELECT a FROM 'x.json'")
    assert b"x" * 5000 in done.stdout
    assert done.stdout.endswith(b"(301 rows)\n")


SLOW = (
    "SELECT MEDIAN(CHAR_LENGTH(a.id || b.id)) + 0 * MAX(LEVENSHTEIN(a.id, b.id)) AS n "
    "FROM 'events.zion' a, 'events.zion' b"
)


@pytest.mark.parametrize("form", ["table", "vertical"])
def test_a_slow_query_has_a_bar_that_is_gone_when_rows_come(
    events: Path, screen: Screen, form: str
) -> None:
    """Issue 16, 3: as pack has it, on a terminal and past half a second."""
    assert events.exists()
    code, text = screen("query", "--fmt", form, SLOW)
    assert code == 0
    before, _, after = text.rpartition("\x1b[2K")
    assert "reading" in before
    assert "bytes" in before or "MB" in before
    assert "20" in after
    assert "reading" not in after


def test_a_quick_query_has_no_bar(events: Path, screen: Screen) -> None:
    assert events.exists()
    code, text = screen("query", "SELECT COUNT(*) AS n FROM 'events.zion'")
    assert code == 0
    assert "\x1b[2K" not in text


@pytest.mark.parametrize(
    "query",
    [
        "SELECT type, COUNT(*) AS n FROM 'events.zion' GROUP BY type",
        "SELECT MEDIAN(payload.size) AS n FROM 'events.zion'",
        "SELECT * FROM 'events.zion' ORDER BY id LIMIT 3",
        "SELECT * FROM 'events.zion'",
        "SUMMARIZE 'events.zion'",
    ],
)
def test_progress_counts_the_bytes_of_blocks(events: Path, run: Run, query: str) -> None:
    quiet = run("query", query)
    done = run("query", "--progress", "json", query)
    assert done.stdout == quiet.stdout
    rows = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(item["event"] == "progress" for item in rows)
    with sdb.sql(query, root=str(events.parent)) as result:
        assert rows[-1]["total_bytes"] == result.reading.stored_bytes > 0
    assert rows[-1]["consumed_bytes"] == rows[-1]["total_bytes"]
    assert run("query", "--progress", "off", query).stderr == b""


def test_no_spreadsheet_executes_what_a_terminal_wrote(
    run: Run, screen: Screen, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text('{"a": "=1+1", "b": -5, "c": "x"}\n')
    assert run("pack", "-o", "x.zion", "x.json").returncode == 0
    plain, safe = b"a,b,c\n=1+1,-5,x\n", b"a,b,c\n'=1+1,-5,x\n"
    for words in (["query", "SELECT * FROM 'x.zion'"], ["unpack", "x.zion"]):
        assert run(*words, "--fmt", "csv").stdout == plain
        assert run(*words, "--fmt", "csv", "--safe-csv").stdout == safe
        assert run(*words, "-o", "a.csv", "--force").stderr == b""
        assert (tmp_path / "a.csv").read_bytes() == plain
        code, shown = screen(*words, "-o", "a.csv", "--force")
        assert code == 0
        assert "sdb: 1 cell begins with ', so that no spreadsheet executes them" in shown
        assert (tmp_path / "a.csv").read_bytes() == safe
        words += ["--progress", "off", "-o", "a.csv", "--force"]
        assert screen(*words, "--no-safe-csv") == (0, "")
        assert (tmp_path / "a.csv").read_bytes() == plain
        assert run(*words[:2], "-o", "a.json", "--safe-csv").returncode == 2
    where = ["unpack", "x.zion", "--where", "b < 0", "--fmt", "csv", "--safe-csv"]
    assert run(*where).stdout == safe
