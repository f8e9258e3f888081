"""All writers of a table make statistics of the paths that its definition names."""

from __future__ import annotations

import base64
import io
import json
import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import UsageError
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.trailer.blockstats import JOINTS, PREFIXES, WORDS
from sdb.table.catalog.handle import open_table
from sdb.table.definition.definition import Definition
from sdb.table.definition.validate import problems
from sdb.table.feed.folders import follow
from sdb.table.feed.tables import FeedTables

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.client.connection import Connection

DICE = random.Random(1)
ROWS = [
    {
        "id": f"id-{n * 7919 % 2000}",
        "n": n,
        "s": {"x": n},
        "pad": [DICE.random() for _ in range(99)],
    }
    for n in range(2000)
]
"""They take more than a megabyte: a smaller packfile has statistics of what is asked for only."""
AUTO = {("n",), ("id",), ("s", "x")}


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    (tmp_path / "lake" / "in").mkdir(parents=True)
    return sdb.connect(str(tmp_path / "lake"))


def define(db: Connection, stats: str | None) -> None:
    pattern = "file://in/*.json"
    definition: dict[str, object] = {"input": [{"pattern": pattern}]}
    if stats is not None:
        definition["stats"] = stats
    folder = Path(db.root.place("db/web/t"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "definition.json").write_text(json.dumps(definition))


def told(db: Connection) -> list[set[Any]]:
    """Return the paths with statistics of each packfile."""
    results = []
    for descriptor in open_table(db.root, "web", "t").descriptors():
        with open_packfile(db.root.place(descriptor.key)) as pack:
            known = pack.known[1]
            results.append(set() if known is None else {path for path, _ in known.sizes})
    return results


def lines() -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in ROWS).encode())


def by_append_of_rows(db: Connection, **options: Any) -> None:
    db.append("web.t", ROWS, **options)


def by_append_of_a_file(db: Connection, **options: Any) -> None:
    db.append("web.t", lines(), **options)


def by_insert(db: Connection, **options: Any) -> None:
    from sdb.table.insert.insert import insert

    insert(db.root, "web", "t", lines(), **options)


def by_sync(db: Connection, **options: Any) -> None:
    _put(db)
    db.sync("web.t", **options)


def by_follow(db: Connection, **options: Any) -> None:
    _put(db)
    stop = threading.Event()
    follow(FeedTables(db.root, "web", options=options), stop, lambda _: stop.set())


def by_statement(db: Connection, **options: Any) -> None:
    assert not options
    _put(db)
    db.execute("INSERT INTO web.t SELECT * FROM read_file('in/rows.json')")


def _put(db: Connection) -> None:
    Path(db.root.place("in/rows.json")).write_bytes(lines().getvalue())


WRITERS = [by_append_of_rows, by_append_of_a_file, by_insert, by_sync, by_follow, by_statement]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("stats", [None, "off", "s.x"])
def test_writers_follow_the_definition(
    db: Connection, write: Callable[..., None], stats: str | None
) -> None:
    db.execute("CREATE TABLE web.t")
    define(db, stats)
    write(db)
    (actual,) = told(db)
    if stats is None:
        assert actual
        assert actual <= AUTO
    else:
        assert actual == {"off": set(), "s.x": {("s", "x")}}[stats]


@pytest.mark.parametrize("write", WRITERS[:-1])
def test_options_go_before_the_definition(db: Connection, write: Callable[..., None]) -> None:
    db.execute("CREATE TABLE web.t")
    define(db, "s.x")
    write(db, stats="id")
    assert told(db) == [{("id",)}]


def test_words_and_prefixes_stay(db: Connection) -> None:
    db.execute("CREATE TABLE web.t")
    define(db, "words:ip,prefixes:ip")
    for part in range(2):
        db.append("web.t", [{"n": n, "ip": f"10.{part}.{n // 256}.{n % 256}"} for n in range(2000)])
    where = "IS_SUBNET_OF('10.1.1.0/24', ip)"
    for change in (
        lambda: db.execute(f"DELETE FROM web.t WHERE {where} AND n < 300"),
        lambda: db.table("web.t").compact(),
        lambda: db.table("web.t").compact(cluster_by=["n"]),
    ):
        change()
        assert all(("ip",) in paths for paths in told(db))
        for descriptor in open_table(db.root, "web", "t").descriptors():
            with open_packfile(db.root.place(descriptor.key)) as pack:
                known = pack.known[1]
                assert known is not None
                assert {kind for _, kind in known.sizes} >= {WORDS, PREFIXES, JOINTS}
        with db.sql(f"SELECT COUNT(*) AS n FROM web.t WHERE {where}") as result:
            assert [*result] == [{"n": 212}]


def test_rows_that_are_kept_keep_what_is_known_of_them(db: Connection) -> None:
    db.execute("CREATE TABLE web.t")
    define(db, "s.x")
    for _ in range(8):
        db.append("web.t", lines())
    define(db, "off")
    db.execute("DELETE FROM web.t WHERE n = 5")
    assert all({("s", "x")} <= item for item in told(db))
    db.table("web.t").compact()
    (actual,) = told(db)
    assert {("s", "x")} <= actual


def test_the_member_is_no_matter_of_the_original() -> None:
    plain = Definition.parse('{"input": [{"pattern": "s3://b/*.json"}]}')
    ours = Definition.parse('{"input": [{"pattern": "s3://b/*.json"}], "stats": "a.b,c[]"}')
    assert (ours.stats, ours.statistics, plain.statistics) == ("a.b,c[]", "a.b,c[]", "auto")
    assert ours.digest() == plain.digest()
    assert Definition.parse(ours.stored(), is_stored=True) == ours
    assert '"stats": "a.b,c[]"' in ours.shown()
    assert not problems(ours, is_remote=True)
    bad = Definition.parse('{"input": [{"pattern": "s3://b/*.json"}], "stats": "a,,b"}')
    assert "stats" in problems(bad, is_remote=True)[0]
    with pytest.raises(sdb.errors.InputError):
        Definition.parse('{"stats": ["a"]}')


def test_what_is_no_path_is_told(db: Connection) -> None:
    db.execute("CREATE TABLE web.t")
    define(db, None)
    for write in (by_append_of_rows, by_sync):
        with pytest.raises(UsageError):
            write(db, stats="a,,b")
