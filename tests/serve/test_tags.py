"""Tags of answers: equal tags mean equal answers, whatever happened to the tables in between."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

import sdb
from sdb import notes, records
from sdb.errors import SdbError
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.run import api
from sdb.serve import tags
from sdb.serve.forms import FORMS, write
from sdb.serve.hiding import Hiding
from sdb.serve.queries import Body, made
from sdb.table.catalog.root import table_root
from sdb.table.history.setrefs import branch, tag
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.query.result.result import Result
    from sdb.query.run.api import QueryPlan
    from sdb.serve.queries import AskedQuery

FIELDS = ("a", "b", "c")
STATEMENTS = (
    "SELECT COUNT(*) AS n FROM {t}",
    "SELECT * FROM {t}",
    "SELECT * EXCLUDE (t) FROM {t}",
    "SELECT COLUMNS('^[abc]$') FROM {t}",
    "SELECT * EXCLUDE (t) FROM {t} WHERE t < TIMESTAMP '2020-01-01T{h:02}:00:00Z'",
    "SELECT a, COUNT(*) AS n FROM {t} GROUP BY a",
    "SELECT a, b FROM {t} WHERE t >= TIMESTAMP '2020-01-01T{h:02}:00:00Z' ORDER BY b, a LIMIT 3",
    "SELECT MAX(b) AS m, MIN(a) AS l FROM {t} WHERE t < TIMESTAMP '2020-01-01T{h:02}:00:00Z'",
    "SELECT a FROM {t} WHERE a = $v",
    "SELECT x.a, y.b FROM {t} x JOIN {u} y ON x.a = y.a WHERE x.b < 3",
    "SELECT a FROM {t} UNION SELECT b AS a FROM {u}",
    "SELECT a, (SELECT COUNT(*) FROM {u}) AS n FROM {t} WHERE b = 1",
    "SELECT COUNT(*) AS n FROM {t} WHERE t > NOW() - INTERVAL '20 hours'",
    "SELECT EARLIEST(t) AS f, LATEST(t) AS l FROM {t}",
    "SELECT a + b AS s, CONCAT(a, c) AS x FROM {t} WHERE t < TIMESTAMP '2020-01-01T{h:02}:00:00Z'",
    "SELECT a, b FROM {t} WHERE c <> 1 AND t < TIMESTAMP '2020-01-01T{h:02}:00:00Z'",
    "SELECT CAST(c AS INTEGER) AS c FROM {t} WHERE t >= TIMESTAMP '2020-01-01T{h:02}:00:00Z'",
    "SELECT c, SUM(b) AS s FROM {t} WHERE t >= TIMESTAMP '2020-01-01T{h:02}:00:00Z' GROUP BY c",
)
KEYS = "SELECT x.a, y.b FROM d.x JOIN d.y ON x.a = y.a WHERE y.b = 1"
TABLES = ("d.x", "d.y", "d.x@side", "d.x@1", "d.y@old", "d.v", "d.w@1")
VIEWS = (
    "SELECT * FROM d.x",
    "SELECT a, b, t FROM d.x WHERE b < 3",
    "WITH r AS (SELECT a, b, t FROM d.y) SELECT r.a, s.b, r.t FROM r JOIN r AS s ON r.a = s.b",
    "SELECT a, b, t FROM d.w",
    "SELECT a, t, (SELECT COUNT(*) FROM d.y) AS b FROM d.x@side",
)
FORMATS = ("ndjson", "csv", "json", "arrow", "parquet", "html")


def rows(chance: random.Random, hour: int) -> list[dict[str, Any]]:
    def value() -> Any:
        return chance.choice([1, 2, "x", None, 2.5])

    kinds = chance.sample(FIELDS, chance.randint(1, 3))
    return [
        {"t": datetime(2020, 1, 1, hour, minute, tzinfo=UTC)}
        | {name: value() for name in kinds if chance.random() < 0.8}
        for minute in sorted(chance.sample(range(60), chance.randint(2, 6)))
    ]


class Lake:
    """Two tables, and what happens to them."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.db = sdb.connect(folder)
        for name in ("d.x", "d.y"):
            self.db.create(name, "in/*.json")
            self.db.append(name, rows(chance, 0))

    def exec(self, text: str) -> None:
        self.db.execute(text)

    def step(self) -> None:
        chance = self.chance
        name = chance.choice(["d.x", "d.y", "d.x@side"])
        match chance.randrange(8):
            case 0 | 1 | 2:
                self.db.append(name, rows(chance, chance.randrange(24)))
            case 3:
                self.exec(f"DELETE FROM {name} WHERE a = {chance.randint(1, 2)}")
            case 4:
                self.exec(f"UPDATE {name} SET b = {chance.randint(1, 4)} WHERE a = 1")
            case 7:
                self.exec(f"CREATE OR REPLACE VIEW d.v AS {chance.choice(VIEWS)}")
            case 5:
                self.db.table(name.partition("@")[0]).compact()
            case _:
                # Away, and back again: the same rows, and mostly the same packfiles.
                before = self.db.table("d.x").version
                self.db.append("d.x", rows(chance, chance.randrange(24)))
                self.db.restore("d.x", str(before))


def asked(chance: random.Random) -> Body:
    text = chance.choice(STATEMENTS)
    t, u = chance.choice(TABLES), chance.choice(TABLES)
    body = Body(text.format(t=t, u=u, h=chance.randrange(24)))
    if "$v" in text:
        body.params = {"v": chance.choice([1, 2, "x"])}
    if chance.random() < 0.3:
        body.since = f"2020-01-01T{chance.randrange(24):02}:{chance.randrange(60):02}:00Z"
    body.format = chance.choice(FORMATS)
    body.end = chance.random() < 0.1
    body.now = chance.choice(["2020-01-01T12:00:00Z", "2020-01-01T23:00:00Z", "2020-01-02T05:00Z"])
    return body


def twin(chance: random.Random, body: Body) -> Body:
    """Return a query that differs in one thing."""
    other = asked(chance)
    match chance.randrange(4):
        case 0:
            return replace(body, format=other.format)
        case 1:
            return replace(body, now=other.now)
        case 2:
            minute = f"{chance.randrange(60):02}"
            return replace(body, since=f"{body.since[:14]}{minute}:00Z" if body.since else "")
        case _:
            return replace(body, params=dict.fromkeys(body.params, 2))


def _request(root: Path, query: AskedQuery, **more: Any) -> QueryRequest:
    return QueryRequest(
        query.statement,
        root=str(root),
        period=query.period,
        now_us=query.now_us,
        visible=lambda *_: True,
        **more,
    )


def answer(root: Path, query: AskedQuery) -> Any:
    """Return what a client gets, rows without an order sorted."""
    with notes.collected() as warnings:
        out = io.BytesIO()
        result = api.run(_request(root, query, typed=query.form.is_typed, threads=1))
        try:
            with result:
                end = query.wants_end
                write(result, query.form, out, rows=10_000, end=end, warnings=lambda: warnings)
        except SdbError as error:
            return error.message
    data = out.getvalue()
    if query.form.is_typed:
        read = pa.ipc.open_stream if query.form.name == "arrow" else pq.ParquetFile
        opened = read(io.BytesIO(data))
        table = opened.read_all() if query.form.name == "arrow" else opened.read()
        return str(table.schema), sorted(map(repr, table.to_pylist()))
    if query.form.name == "json":
        members = json.loads(data)
        return {**members, "rows": sorted(map(json.dumps, members["rows"]))}
    lines = data.decode().splitlines()
    return (lines[:1], sorted(lines[1:])) if query.form.name == "csv" else sorted(lines)


def plan(root: Path, query: AskedQuery) -> QueryPlan | None:
    try:
        wants_notes = query.form.has_notes or query.wants_end
        return api.planned(_request(root, query), with_notes=wants_notes)
    except SdbError:
        return None


def lies(
    folder: Path, seeds: range, digest: Callable[[AskedQuery, QueryPlan], str]
) -> tuple[int, int]:
    """Count equal tags of different answers, and tags that came again after a change."""
    wrong = again = 0
    for seed in seeds:
        chance = random.Random(seed)
        root = folder / f"lake{seed}"
        lake = Lake(root, chance)
        begin(root)
        known: dict[str, Any] = {}
        bodies = [asked(chance) for _ in range(8)]
        for _ in range(8):
            for body in [*bodies, *[twin(chance, body) for body in bodies]]:
                query = made(body)
                planned = plan(root, query)
                if planned is None:
                    continue
                text = digest(query, planned)
                rows = answer(root, query)
                again += text in known
                wrong += known.setdefault(text, rows) != rows
            lake.step()
            bodies[chance.randrange(8)] = asked(chance)
    return wrong, again


def begin(root: Path) -> None:
    path = table_root(root)
    tag(path, "d", "y", "old", "1")
    branch(path, "d", "x", "side", "1")
    sdb.execute("CREATE VIEW d.w AS SELECT * FROM d.y; CREATE VIEW d.v AS FROM d.x", root=path)


@pytest.mark.seeds
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_equal_tags_are_of_equal_answers(tmp_path: Path) -> None:
    wrong, again = lies(tmp_path, range(usual(4, 1)), digest)
    assert wrong == 0
    assert again > usual(100)


@pytest.mark.seeds
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_what_was_planned_runs_as_if_it_was_not(tmp_path: Path) -> None:
    answers = 0
    for seed in range(usual(8, 1)):
        chance = random.Random(seed)
        root = tmp_path / f"lake{seed}"
        lake = Lake(root, chance)
        begin(root)
        for _ in range(6):
            lake.step()
        others = ("DESCRIBE d.x", "SUMMARIZE d.y", "EXPLAIN SELECT a FROM d.x WHERE b = 1", KEYS)
        bodies = [asked(chance) for _ in range(40)]
        for body in [*bodies, *[Body(text, format="json") for text in others]]:
            query = made(body)
            typed = query.form.is_typed
            try:
                planned = api.PlannedQuery(_request(root, query, typed=typed, threads=1))
            except SdbError:
                continue
            assert told(planned.run()) == told(
                api.run(_request(root, query, typed=typed, threads=1))
            )
            with pytest.raises(SdbError, match="closed"):
                planned.run()
            answers += 1
    assert answers > usual(100)


def told(result: Result) -> Any:
    """Return what an answer tells: rows, sorted, and what was to be read and was."""
    with result:
        lines = b"".join(result.lines()).splitlines()
        read = [(table.name, table.times, len(table.read)) for table in result.tables]
        return sorted(lines), result.columns, result.notes, result.blocks_read, read


@pytest.mark.parametrize(("form", "is_shown"), [("html", True), ("json", False)])
def test_the_text_counts_where_the_answer_shows_it(
    tmp_path: Path, form: str, *, is_shown: bool
) -> None:
    lake = sdb.connect(tmp_path)
    lake.create("d.x", "in/*.json")
    lake.append("d.x", [{"a": 1}])
    texts = [f"SELECT COLUMNS('{fitting}') FROM d.x" for fitting in ("a", "^a")]
    queries = [made(Body(text, format=form)) for text in texts]
    plans = [api.planned(_request(tmp_path, query)) for query in queries]
    assert plans[0].text == plans[1].text
    tags_of = {digest(query, plan) for query, plan in zip(queries, plans, strict=True)}
    assert len(tags_of) == 1 + is_shown


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_equal_tags_are_of_equal_answers_in_many_lakes(tmp_path: Path) -> None:
    wrong, again = lies(tmp_path, range(100, 200), digest)
    assert wrong == 0
    assert again > 2500


def digest(query: AskedQuery, planned: QueryPlan) -> str:
    return tags.digest(query, planned, 10_000, Hiding("."))


def without_text(query: AskedQuery, planned: QueryPlan) -> str:
    """Hash the query as it was written, before stars and times mean something."""
    return digest(query, changed(planned, text=query.statement.text))


def without_params(query: AskedQuery, planned: QueryPlan) -> str:
    text = planned.text
    for value in ("1", "2", "'x'"):
        text = text.replace(f"a = {value}", "a = $v")
    return digest(query, changed(planned, text=text))


def without_format(query: AskedQuery, planned: QueryPlan) -> str:
    return digest(sdb_replace(query, form=FORMS[0]), planned)


def without_packfiles(query: AskedQuery, planned: QueryPlan) -> str:
    """Hash how many packfiles are left instead of which."""
    counts = [len(table.read) for table in planned.tables]
    return digest(query, changed(planned, tables=[], text=planned.text + repr(counts)))


def without_notes(query: AskedQuery, planned: QueryPlan) -> str:
    """Hash what is left after pruning, where notes tell of all packfiles."""
    return digest(query, changed(planned, notes=[]))


def without_second_table(query: AskedQuery, planned: QueryPlan) -> str:
    return digest(query, changed(planned, tables=planned.tables[:1]))


def without_period(query: AskedQuery, planned: QueryPlan) -> str:
    for table in planned.tables:
        table.times = None
    return digest(query, planned)


def changed(planned: QueryPlan, **members: Any) -> QueryPlan:
    return sdb_replace(planned, **members)


def sdb_replace(record: Any, **members: Any) -> Any:
    return records.replace(record, **members)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "mutation",
    [
        without_text,
        without_params,
        without_format,
        without_packfiles,
        without_second_table,
        without_period,
    ],
)
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_a_tag_that_leaves_something_out_is_caught(
    tmp_path: Path, mutation: Callable[[AskedQuery, QueryPlan], str]
) -> None:
    for first in range(0, 40, 4):
        if lies(tmp_path, range(first, first + 4), mutation)[0]:
            return
    pytest.fail("no answer of another one's tag")


@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_notes_are_in_the_tag(tmp_path: Path) -> None:
    """A note may tell of packfiles that are left out: without it in the tag an answer is stale."""
    db = sdb.connect(tmp_path)
    db.create("d.x", "in/*.json")
    text = "SELECT a FROM d.x WHERE a = 1 AND t < TIMESTAMP '2020-01-01T05:00:00Z'"
    query = made(Body(text, format="json"))
    actual = []
    for hour, value in ((0, "x"), (10, 1)):
        db.append("d.x", [{"t": datetime(2020, 1, 1, hour, tzinfo=UTC), "a": value}])
        planned = plan(tmp_path, query)
        assert planned is not None
        actual.append((digest(query, planned), without_notes(query, planned)))
        assert bool(answer(tmp_path, query)["notes"]) == (hour == 0)
    (first, first_without), (second, second_without) = actual
    assert first != second
    assert first_without == second_without
