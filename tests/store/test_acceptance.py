"""The acceptance examples about tables, on a disk and on S3; the numbers are of lakehouse.md, 6.

That of many commits (13) is in tests/table/test_long_history.py; those of HTTP, machines and
endpoints (12, 14, 15) are about programs that this one is not.
"""

from __future__ import annotations

import base64
import io
import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from sdb.store import url as stores
from sdb.store.faults import CrashError, Fault
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import PackfileGoneError, TableChange
from sdb.table.commit.commit import commit
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from sdb.table.format.versionref import BeforeFirstError, ExpiredError, VersionReference
from sdb.table.maintenance.gc import collect
from sdb.table.packfiles.pack import pack_rows
from tests.store.conftest import Backend

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.store.faults import StoreCall

KEYS = TableKeys("web", "t")
PAIRS = 10  # of the thousand that the example asks for; the simulation plays the others


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Return a folder on a disk and on S3."""
    if request.param == "local":
        return Backend(str(tmp_path))
    bucket: Backend = request.getfixturevalue("bucket")
    return bucket


@pytest.fixture
def db(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    stores.store_of(backend.root).make_folder(backend.root)
    connection = sdb.connect(backend.root)
    connection.execute("CREATE TABLE web.t")
    return connection


def rows(db: Connection, text: str, **options: Any) -> list[dict[str, Any]]:
    with db.sql(text, **options) as result:
        return list(result)


def numbers(db: Connection, table: str = "web.t") -> list[int]:
    return sorted(row["n"] for row in rows(db, f"SELECT n FROM {table}"))


@pytest.mark.parametrize("blocks", [1, 3, 20])
def test_l6_01_one_row_of_200_000(blocks: int, db: Connection, tmp_path: Path) -> None:
    count = 200_000
    lines = tmp_path / "rows.json"
    lines.write_text("".join(f'{{"id": {number}, "s": "{"x" * 20}"}}\n' for number in range(count)))
    block_bytes = {1: 1 << 24, 3: 10 << 16, 20: 1 << 16}[blocks]
    db.append("web.t", lines, block_bytes=block_bytes, align_bytes=1 << 16)
    (reported,) = open_table(db.root, "web", "t").descriptors()
    assert len(reported.trailer.blocks) >= blocks
    db.execute("DELETE FROM web.t WHERE id = 5")
    db.execute("UPDATE web.t SET s = 'y' WHERE id = 7")
    db.execute("DELETE FROM web.t WHERE id % 100000 = 9")  # nothing refutes that of a block
    total = count * (count - 1) // 2 - 5 - 9 - 100_009
    assert rows(db, "SELECT COUNT(*) AS n, SUM(id) AS s FROM web.t") == [
        {"n": count - 3, "s": total}
    ]
    assert rows(db, "SELECT id FROM web.t WHERE s = 'y'") == [{"id": 7}]
    assert rows(db, "SELECT COUNT(*) AS n FROM web.t@2") == [{"n": count}]


def test_l6_02_null_is_not_true(db: Connection) -> None:
    db.append("web.t", [{"n": 0}, {"n": 1}, {"n": None}])
    db.execute("DELETE FROM web.t WHERE n = 0")
    assert [row["n"] for row in rows(db, "SELECT n FROM web.t")] == [1, None]


def test_l6_03_two_writers_append(db: Connection) -> None:
    for pair in range(PAIRS):
        begin = threading.Barrier(2)
        made: list[int] = []

        def work(number: int, begin: threading.Barrier = begin, made: list[int] = made) -> None:
            begin.wait()
            (done,) = db.execute(f"INSERT INTO web.t VALUES ({{'n': {number}}})")
            made.append(done.version)

        both = [threading.Thread(target=work, args=(2 * pair + at,)) for at in range(2)]
        for item in both:
            item.start()
        for item in both:
            item.join()
        assert sorted(made) == [2 * pair + 2, 2 * pair + 3]
    assert numbers(db) == list(range(2 * PAIRS))


def test_l6_04_two_writers_rewrite_one_packfile(db: Connection) -> None:
    db.append("web.t", [{"n": 0}])
    (old,) = open_table(db.root, "web", "t").descriptors()
    new = [pack_rows(db.root, KEYS, [{"n": number}], rules=None).descriptor for number in (1, 2)]
    changes = [TableChange("update", (item,), frozenset([old.key])) for item in new if item]
    commit(db.root, KEYS, changes[0])
    before = open_table(db.root, "web", "t").data
    with pytest.raises(PackfileGoneError) as raised:
        commit(db.root, KEYS, changes[1])
    assert raised.value.exit_code == 5
    assert open_table(db.root, "web", "t").data == before
    assert numbers(db) == [1]


def test_l6_05_the_same_commit_twice(db: Connection) -> None:
    text = "INSERT INTO web.t VALUES ({'n': 1})"
    first, again = (db.execute(text, txn_id="job-1")[0] for _ in range(2))
    assert (first.version, again.version) == (2, 2)
    assert (first.is_new, again.is_new) == (True, False)
    assert numbers(db) == [1]


class Dying:
    """A program that dies after a write, once it is armed."""

    def __init__(self, last: int) -> None:
        self.left = last + 1
        self.is_armed = False

    def __call__(self, call: StoreCall) -> Fault | None:
        self.left -= self.is_armed and call.verb in {"put", "copy"}
        return Fault.CRASH_AFTER if self.is_armed and not self.left else None


def test_l6_06_a_crash_after_each_write() -> None:
    """The stores of disks and S3 are killed in tests/kill, at random."""
    most = 20
    for last in range(most):
        dying = Dying(last)
        clock = [1_700_000_000_000_000]
        store = MemoryStore(dying, lambda clock=clock: clock[0])  # type: ignore[misc]
        root = TableRoot("mem://r", store, Keyring.of_root(is_remote=False))
        insert(root, 1)
        dying.is_armed = True
        try:
            insert(root, 2)
        except CrashError:
            dying.is_armed = False
        else:
            assert last >= 3, "a commit of fewer writes than it has"
            return
        table = open_table(root, "web", "t")
        assert [descriptor.rows for descriptor in table.descriptors()] in ([1], [1, 1])
        clock[0] += 10 * 86_400_000_000
        collect(root, TableKeys("web", "t"))
        keys = {descriptor.key for descriptor in table.descriptors()}
        left = {url.removeprefix("mem://r/") for url in store.contents if "/data/" in url}
        assert left == keys
    pytest.fail("it never came to its end")


def insert(root: TableRoot, number: int) -> None:
    reported = pack_rows(root, KEYS, [{"n": number}], rules=None).descriptor
    assert reported is not None
    commit(root, KEYS, TableChange("insert", (reported,)))


def test_l6_07_times_of_versions_and_of_their_copies(db: Connection, backend: Backend) -> None:
    for number in range(5):
        db.append("web.t", [{"n": number}])
    for entry in list(db.root.store.below(db.root.place("db"))):
        key = entry.location[len(db.root.place("")) :]
        db.root.store.make_folder(backend.at(f"other/{key}").rpartition("/")[0])
        backend.put(f"other/{key}", backend.get(key))
    places = [db, sdb.connect(backend.at("other"))]
    times = [item.at_us for item in open_table(db.root, "web", "t").state.history]  # type: ignore[union-attr]
    for actual in places:
        for number, at_us in enumerate(times, 1):
            for back_us, version in ((0, number), (1_000, number - 1)):
                reference = VersionReference("time", at_us - back_us, text="then")
                if not version:
                    with pytest.raises(BeforeFirstError):
                        actual.table("web.t").at(reference)
                    continue
                if back_us and times[version - 1] > at_us - back_us:
                    continue  # versions of less than a millisecond
                assert actual.table("web.t").at(reference).version == version
            assert numbers(actual, f"web.t@{number}") == list(range(number - 1))
            text = instants.text(at_us)
            assert numbers(actual, f"web.t FOR TIMESTAMP AS OF '{text}'") == list(range(number - 1))
        assert numbers(actual, "web.t@2999-01-01") == list(range(5))


def test_l6_08_what_a_tag_keeps(db: Connection) -> None:
    for number in range(9):
        db.execute(
            f"INSERT INTO web.t VALUES ({{'n': {number}}}); DELETE FROM web.t WHERE n < {number}"
        )
    table = db.table("web.t")
    table.tag("kept", 3)
    table.expire(all_but_head=True)
    for _ in range(3):
        table.gc(grace=-10)
    assert (numbers(db, "web.t@kept"), numbers(db)) == ([0, 1], [8])
    with pytest.raises(ExpiredError):
        db.table("web.t@5")
    left = [
        item
        for item in db.root.store.below(db.root.place(KEYS.folder))
        if "/data/" in item.location
    ]
    keys = {
        item.key for at in ("kept", "main") for item in db.table(f"web.t@{at}").handle.descriptors()
    }
    assert len(left) == len(keys)
    for at in ("kept", "main"):
        assert not db.table(f"web.t@{at}").validate().findings


def test_l6_09_a_query_while_others_tidy(db: Connection) -> None:
    for number in range(9):
        db.append("web.t", [{"n": 9 * number + item} for item in range(9)])
    with db.sql("SELECT n FROM web.t") as result:
        actual = iter(result)
        seen = [next(actual)["n"]]
        table = db.table("web.t")
        assert table.compact().runs
        table.expire(all_but_head=True)
        table.gc()
        seen += [row["n"] for row in actual]
    assert sorted(seen) == list(range(81))


VALUES: list[Any] = ["", "aé", "é", "z" * 5000, "zz", None, -0.0, 0.0, math.nan, math.inf, 1, "1"]


def test_l6_10_what_metadata_rules_out_is_not_there(db: Connection) -> None:
    for start in range(0, len(VALUES), 2):
        some = [
            {"a": {"x": n, "y": "b"}, "v": v, "l": [v]} for n, v in enumerate(VALUES[start:][:2])
        ]
        db.append("web.t", some)
    db.append("web.t", [{"a": 1}])
    for text in ("''", "'a'", "'aé'", "'é'", "'zz'", "0", "1", "-1", "'1'"):
        for op in ("=", "<>", "<", "<=", ">", ">="):
            query = f"SELECT v, a FROM web.t WHERE v {op} {text}"
            answers = []
            for prune in (True, False):
                stream = io.BytesIO()
                with db.sql(query, prune=prune) as result:
                    result.write(stream, "ion-text")
                answers.append(sorted(stream.getvalue().splitlines()))
            assert answers[0] == answers[1], query


def test_l6_11_fields_that_become_others(db: Connection) -> None:
    db.append("web.t", [{"n": 1, "f": 2}])
    db.execute("UPDATE web.t SET n = n + 0.5")
    db.execute("UPDATE web.t SET f = MISSING")
    db.execute("UPDATE web.t SET f = 'text', g = n, n = MISSING")
    actual = [rows(db, f"SELECT * FROM web.t@{version}") for version in range(2, 6)]
    assert actual == [
        [{"f": 2, "n": 1}],
        [{"f": 2, "n": 1.5}],
        [{"n": 1.5}],
        [{"f": "text", "g": 1.5}],
    ]
