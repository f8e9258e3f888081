"""Folders that jobs fill: what counts, and what becomes of the rest."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import errors
from sdb.packfile.read import manifest
from sdb.packfile.read.manifest import NAME, File, attempt_name, publish, sweep
from sdb.packfile.read.resolve import resolve
from sdb.query.catalog.dataset import TableName
from sdb.query.catalog.locations import candidates
from sdb.store.s3.address import parse
from sdb.store.s3.upload import Upload
from sdb.store.url import store_of
from tests.folders import contents

if TYPE_CHECKING:
    from sdb.store.base import Location
    from tests.store.conftest import Backend, Direct, S3Backend
    from tests.store.proxy import Proxy, Request

A, B = "a" * 32, "b" * 32


def wrote(backend: Backend, job: str, *rows: str) -> list[File]:
    """Write packfiles as tasks of a job do; each row tells its own."""
    store_of(backend.root).make_folder(backend.root)
    files = []
    for task, row in enumerate(rows):
        name = attempt_name(task, job)
        source = Path(os.environ["SDB_TEST_FOLDER"]) / "row.json"
        source.write_text(json.dumps({"row": row}))
        result = sdb.pack([source], backend.at(name))
        files.append(File(name, result.output_bytes, result.rows))
    return files


@pytest.fixture(autouse=True)
def _scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDB_TEST_FOLDER", str(tmp_path_factory.mktemp("rows")))


def listed(folder: Location) -> list[str]:
    return [key.location for key in contents(folder)]


def rows(backend: Backend, pattern: str = "*.zion") -> list[str]:
    """Return the rows that a query on a pattern sees."""
    try:
        result = sdb.sql(f"SELECT * FROM '{backend.at(pattern)}'")
    except errors.NotFoundError:
        return []
    return sorted(row["row"] for row in result)


def test_a_job_counts_when_it_is_published_and_not_before(backend: Backend) -> None:
    files = wrote(backend, A, "1", "2")
    losers = wrote(backend, A, "1")
    assert (rows(backend), listed(backend.root)) == ([], [])
    published = publish(backend.root, files, job=A)
    assert (published.is_new, published.attempts, published.replaced) == (True, 1, ())
    assert rows(backend) == ["1", "2"]
    assert listed(backend.root) == [backend.at(file.name) for file in files]
    assert sweep(backend.root, A) == [losers[0].name]
    assert backend.names() == sorted([NAME, *(file.name for file in files)])


def test_a_job_is_published_once(backend: Backend) -> None:
    files = wrote(backend, A, "1")
    publish(backend.root, files, job=A)
    publish(backend.root, wrote(backend, B, "2"), job=B, mode="overwrite")
    again = publish(backend.root, files, job=A, mode="overwrite")
    assert not again.is_new
    assert rows(backend) == ["2"]


def test_modes(backend: Backend) -> None:
    old = wrote(backend, A, "1")
    publish(backend.root, old, job=A, mode="fail")
    new = wrote(backend, B, "2")
    with pytest.raises(errors.ExistsError):
        publish(backend.root, new, job=B, mode="fail")
    with pytest.raises(errors.ExistsError):
        manifest.prepare(backend.root, "fail")
    with pytest.raises(errors.UsageError):
        publish(backend.root, new, job=B, mode="upsert")
    published = publish(backend.root, new, job=B, mode="overwrite")
    assert published.replaced == (old[0].name,)
    assert rows(backend) == ["2"]
    assert sweep(backend.root, B, published.replaced) == [old[0].name]
    assert backend.names() == sorted([NAME, new[0].name])


def test_packfiles_of_no_job_are_always_seen_and_never_replaced(backend: Backend) -> None:
    files = wrote(backend, A, "1")
    (source := Path(os.environ["SDB_TEST_FOLDER"]) / "row.json").write_text('{"row": "mine"}')
    sdb.pack([source], backend.at("mine.zion"))
    assert rows(backend) == ["mine"]
    publish(backend.root, files, job=A)
    assert rows(backend) == ["1", "mine"]
    assert rows(backend, "part-*.zion") == ["1"]
    with pytest.raises(errors.UsageError, match=r"mine\.zion"):
        publish(backend.root, wrote(backend, B, "2"), job=B, mode="overwrite")
    with pytest.raises(errors.ExistsError):
        manifest.prepare(backend.root, "fail")
    sweep(backend.root, B)
    assert rows(backend) == ["1", "mine"]


def test_what_is_named_by_itself_must_count_too(backend: Backend) -> None:
    good, bad = wrote(backend, A, "1", "2")
    publish(backend.root, [good], job=A)
    both = [backend.at(bad.name), backend.at(good.name)]
    assert [file.path for file in sdb.describe(both).files] == [backend.at(good.name)]
    with pytest.raises(errors.NotFoundError, match="no job has published"):
        sdb.describe([backend.at(bad.name)])
    packed = sdb.pack(both, backend.at("all.zion"))
    assert packed.rows == 1
    name = TableName("file", (backend.at(bad.name),), (0, 1))
    with pytest.raises(errors.NotFoundError):
        candidates(name, "")


def test_a_pattern_takes_all_of_a_job_that_was_published_while_it_was_matched(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file was there when the names were listed, the second was not."""
    files = wrote(backend, A, "1", "2")
    (place_of_second := backend.at(files[1].name),)
    seen = [backend.at(files[0].name)]
    publish(backend.root, files, job=A)
    kind = type(store_of(backend.root))
    entries = [
        entry for entry in store_of(backend.root).list(backend.root) if entry.location in seen
    ]
    monkeypatch.setattr(kind, "find", lambda *_: entries)
    locations = [item.location for item in resolve([backend.at("*.zion")])]
    assert locations == sorted([*seen, place_of_second])


def test_many_jobs_at_once_lose_nothing(backend: Backend) -> None:
    jobs = {f"{number:032x}": str(number) for number in range(6)}
    files = {job: wrote(backend, job, row) for job, row in jobs.items()}
    failures: list[Exception] = []

    def run(job: str) -> None:
        try:
            publish(backend.root, files[job], job=job)
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=run, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert rows(backend) == sorted(jobs.values())


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"version": 1, "files": [{"name": "x"}]}'])
def test_a_damaged_manifest_is_an_error(backend: Backend, text: bytes) -> None:
    wrote(backend, A, "1")
    backend.put(NAME, text)
    with pytest.raises(errors.CorruptError):
        sdb.sql(f"SELECT * FROM '{backend.at('*.zion')}'")
    with pytest.raises(errors.CorruptError):
        publish(backend.root, [], job=A)


def test_a_manifest_of_tomorrow_is_not_understood(backend: Backend) -> None:
    wrote(backend, A, "1")
    backend.put(NAME, b'{"version": 2, "files": []}')
    with pytest.raises(errors.UnsupportedError):
        listed(backend.root)


def test_names_of_others_are_refused(backend: Backend) -> None:
    files = wrote(backend, A, "1")
    with pytest.raises(errors.UsageError):
        publish(backend.root, files, job=B)
    with pytest.raises(errors.UsageError):
        attempt_name(0, "x")


def test_nothing_is_read_where_no_job_was(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(os.environ["SDB_TEST_FOLDER"]) / "row.json"
    source.write_text('{"row": "mine"}')
    store_of(backend.root).make_folder(backend.root)
    sdb.pack([source], backend.at("mine.zion"))
    monkeypatch.setattr(manifest, "read", None)
    assert rows(backend) == ["mine"]
    assert listed(backend.root) == [backend.at("mine.zion")]


def test_what_killed_writers_have_begun_is_given_up(bucket: S3Backend, tmp_path: Path) -> None:
    ours, theirs = attempt_name(0, A), attempt_name(0, B)
    for name in (ours, theirs, "mine.zion"):
        Upload(parse(bucket.at(name)), {}).put(b"x" * 100)
    sweep(bucket.root, A)
    assert sorted(bucket.uploads()) == sorted([bucket.prefix + theirs, bucket.prefix + "mine.zion"])
    hidden = [f".{name[:50]}.0123456789ab.tmp" for name in (ours, theirs)]
    for name in hidden:
        (tmp_path / name).touch()
    sweep(tmp_path, A)
    assert os.listdir(tmp_path) == [hidden[1]]  # noqa: PTH208


def test_removing_and_listing(backend: Backend) -> None:
    store_of(backend.root).make_folder(backend.root)
    backend.put("b", b"")
    backend.put("a", b"")
    store = store_of(backend.root)
    entries = store.list(backend.root)
    assert [entry.name for entry in entries] == ["a", "b"]
    again = store.list(backend.root + "/")
    assert [entry.name for entry in again] == ["a", "b"]
    store.delete(backend.at("a"))
    store.delete(backend.at("a"))
    assert backend.names() == ["b"]
    assert store.list(backend.at("nothing")) == []


@pytest.mark.s3
@pytest.mark.parametrize("refusal", ["403", "400"])
def test_what_is_unknown_stays_so_when_nothing_can_be_read_any_more(
    bucket: S3Backend, proxy: Proxy, direct: Direct, refusal: str
) -> None:
    """The manifest was written, its answer lost, and then the store refuses everything."""
    files = wrote(bucket, A, "1")
    lost = threading.Event()

    def choose(request: Request) -> str:
        if request.kind == "PutObject" and NAME in request.path and "probe" not in request.path:
            was_lost, _ = lost.is_set(), lost.set()
            return refusal if was_lost else "lost"
        return refusal if lost.is_set() else ""

    proxy.choose = choose
    with pytest.raises(errors.UncertainError):
        publish(bucket.root, files, job=A)
    proxy.choose = lambda _: ""
    assert listed(bucket.root) == [bucket.at(file.name) for file in files]
    assert direct.get(bucket.prefix + files[0].name)
