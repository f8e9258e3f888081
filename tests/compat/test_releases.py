"""Files of each release are read by this `sdb`, and its own by a reader of that release's page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import forks, run  # noqa: F401
from tests.compat import made, plain_0_1_0
from tests.interop.test_independent_decode import from_ion, from_json, typed

if TYPE_CHECKING:
    from tests.cli.conftest import Run

HERE = Path(__file__).parent
RELEASES = sorted(path for path in HERE.iterdir() if path.name[0].isdigit())
ALL = list(range(made.COUNT))
FIRST = ALL[: made.COUNT // 2]
FILES = {made.file_of(algorithm): ALL for algorithm in made.ALGORITHMS} | {
    "stats.zion": FIRST,
    "grown.zion": ALL,
    "joined.zion": [*ALL, *ALL],
}
VISITS = "SELECT n, page, price FROM web.visits"
MAIN = [(n, f"/p/{n % 9}", 0 if n == 0 else n / 8) for n in made.KEPT]
TRIAL = [(n, "/none" if n < 10 else f"/p/{n % 9}", n / 8) for n in made.KEPT]
WHOLE = [(n, f"/p/{n % 9}", n / 8) for n in ALL]
READING = [
    ("unpack --fmt json zion-zstd.zion", '"rare": "needle"'),
    ("head -n 1 zion-zstd.zion", '"n": 0,'),
    ("tail -n 1 zion-zstd.zion", '"n": 399,'),
    ("grep needle stats.zion", '"n": 123,'),
    ("fields --stats grown.zion", 'mostly "needle"'),
    ("describe-file --blocks --timeline joined.zion", "2 blocks"),
    ("describe-file --json stats.zion", '"rows": 200'),
    *((f"validate-file {name}", "") for name in FILES),
    ("ls web", "visits"),
    ("tables", "web.people"),
    ("views", "web.dear"),
    ("describe web.visits", "total blocks:       1"),
    ("inputs web.visits", "in/b.json"),
    ("def web.visits", "in/*.json"),
    ("schema show web.people", "nick"),
    ("log web.visits", "delete"),
    ("log web.people", "ALTER TABLE"),
    ("show web.visits", "transaction"),
    ("show web.visits@whole", "sync"),
    ("diff web.visits web.visits@trial", ""),
    ("tag web.visits", "whole"),
    ("branch web.visits", "trial"),
    ("head -n 1 web.visits", '"n"'),
    ("tail -n 1 web.visits@trial", '"n"'),
    ("fields web.visits", "rare"),
    ("grep needle web.visits", '"n": 123,'),
    ("query FROM+web.dear", '"n": 399,'),
    ("status", "web.visits: version 3"),
    ("validate web.visits", ""),
    ("validate web.people", ""),
    ("gc web.visits --dry-run", ""),
]


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Copy a release's files, which nobody may change."""
    return Path(shutil.copytree(request.param, tmp_path / "release"))


def rows(query: str, root: Path) -> list[Any]:
    return sdb.sql(query, root=root).fetchall()


@pytest.mark.parametrize("name", FILES)
def test_packfiles_have_their_rows(release: Path, name: str) -> None:
    expected = [typed(from_json(made.row(n))) for n in FILES[name]]
    read = plain_0_1_0.read((release / name).read_bytes())
    assert [typed(from_ion(row)) for row in read.rows] == expected
    assert rows(f"SELECT n FROM '{name}'", release) == [(n,) for n in FILES[name]]
    where = "at BETWEEN '2026-03-02' AND '2026-03-03' AND page = '/p/3'"
    answer = rows(f"SELECT n, user.name FROM '{name}' WHERE {where}", release)
    chosen = [n for n in FILES[name] if 24 <= n < 48 and n % 9 == 3]
    assert answer == [(n, made.row(n)["user"]["name"]) for n in chosen]


@pytest.mark.parametrize(("words", "expected"), READING)
def test_commands_read_them(
    release: Path,
    run: Run,  # noqa: F811
    words: str,
    expected: str,
) -> None:
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    arguments = (word.replace("+", " ") for word in words.split())
    answer = run(*arguments, SNELLER_BUCKET=str(release))
    assert answer.returncode == 0, answer.stderr
    assert b"warning" not in answer.stderr
    assert expected in answer.stdout.decode()
    after = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    assert after == before


def test_versions_branches_tags_and_views_are_those_of_then(release: Path) -> None:
    assert sorted(rows(VISITS, release)) == MAIN
    assert sorted(rows(f"{VISITS}@whole", release)) == WHOLE
    assert sorted(rows(f"{VISITS}@trial", release)) == TRIAL
    assert rows("SELECT COUNT(*) FROM web.dear", release) == [(sum(n >= 392 for n in made.KEPT),)]
    people = rows("SELECT * FROM web.people ORDER BY id", release)
    assert people == [(1, "Ada"), (2, "Bob"), (3, "Eve")]
    assert rows("SELECT nick FROM web.people WHERE id = 1", release) == [("Ada",)]


def test_work_goes_on_where_it_was(release: Path) -> None:
    sdb.execute("INSERT INTO web.people VALUES (4, 'Max')", root=release)
    sdb.execute("DELETE FROM web.visits WHERE n >= 100", root=release)
    assert rows("SELECT COUNT(*) FROM web.people", release) == [(4,)]
    assert sorted(rows(VISITS, release)) == [row for row in MAIN if row[0] < 100]
    assert sorted(rows(f"{VISITS}@whole", release)) == WHOLE
    more = release / "more.json"
    more.write_text(json.dumps(made.row(made.COUNT)) + "\n")
    for name, numbers in FILES.items():
        sdb.append(release / name, [more])
        assert rows(f"SELECT MAX(n), COUNT(*) FROM '{name}'", release) == [
            (made.COUNT, len(numbers) + 1)
        ]


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_todays_packfiles_are_read_as_the_page_of_then_says(tmp_path: Path, suffix: str) -> None:
    """By a reader that skips what it does not know: all that it needs is still there."""
    source, path = tmp_path / f"in.{suffix}", tmp_path / "out.zion"
    text = made.lines(range(made.COUNT))
    if suffix == "csv":
        text = "n,page\n" + "".join(f"{n},/p/{n % 9}\n" for n in ALL)
    source.write_text(text)
    sdb.pack([source], path)
    read = plain_0_1_0.read(path.read_bytes())
    assert [row["n"] for row in read.rows] == ALL
    facts = read.facts
    assert facts is not None
    assert facts.rows == [made.COUNT]
    assert facts.types is not None
    assert facts.types["n",] == 1 << 2
    assert facts.types["page",] & (1 << 7 | 1 << 8)
    assert facts.complete
    assert facts.digests is not None
    assert any(facts.digests[0])
    assert facts.presence is not None
    assert facts.inputs == [(str(source), made.COUNT)]
    if suffix == "json":
        assert read.indexed == {("at",)}
        assert facts.types["user", "name"] & (1 << 7 | 1 << 8)
        assert (facts.presence["rare",], facts.presence["n",]) == (made.COUNT - 1, 0)


def test_todays_tables_have_packfiles_of_that_page(tmp_path: Path) -> None:
    sdb.execute("CREATE TABLE web.t (id BIGINT, name TEXT)", root=tmp_path)
    sdb.execute("INSERT INTO web.t VALUES (1, 'a'), (2, 'b')", root=tmp_path)
    sdb.execute("UPDATE web.t SET name = 'c' WHERE id = 1", root=tmp_path)
    paths = (tmp_path / "db/web/t/data").iterdir()
    stored = [row for path in paths for row in plain_0_1_0.read(path.read_bytes()).rows]
    assert sorted(row["id"] for row in stored) == [1, 1, 2, 2]
