"""What killed writers leave on S3 is found by age, and only what is provably ours goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.cli.commands.tools import doctor
from sdb.errors import UsageError
from sdb.packfile.read import manifest
from sdb.store.base import Entry
from sdb.store.s3 import client as s3
from sdb.store.s3.address import parse
from sdb.store.s3.upload import Upload
from sdb.table.format.keys import new_uid
from sdb.table.maintenance import leftovers
from tests.store.conftest import BUCKET

if TYPE_CHECKING:
    from tests.store.conftest import S3Backend

JOB, PUBLISHED = "a" * 32, "b" * 32
WEEK = 7 * 86_400


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count as left what was written just now."""
    monkeypatch.setattr(leftovers, "LEAST_SECONDS", -60)


def begin(bucket: S3Backend, name: str) -> None:
    """Begin an upload, and do no more."""
    Upload(parse(bucket.at(name)), {}).put(b"some bytes")


def listed(bucket: S3Backend, url: str, seconds: float = -60) -> dict[str, bool]:
    entries = leftovers.find_leftovers(url, seconds)
    return {left.entry.location.removeprefix(bucket.at("")): left.is_ours for left in entries}


@pytest.mark.usefixtures("soon")
def test_only_uploads_go_that_are_provably_ours(bucket: S3Backend) -> None:
    part, packed = manifest.attempt_name(3, JOB), f"db/web/t/packed-{new_uid()}.zion"
    sdb.pack([{"a": 1}], bucket.at("grown.zion"))
    s3.connect().put_object(
        Bucket=BUCKET, Key=f"{bucket.prefix}film.mp4", Body=b"of another program"
    )
    ours = {f"job/{part}", packed, "grown.zion"}
    others = {"new.zion", "film.mp4", "packed-lunch.zion", "part-1.zion"}
    for name in ours | others:
        begin(bucket, name)
    assert listed(bucket, bucket.root) == {
        **dict.fromkeys(ours, True),
        **dict.fromkeys(others, False),
    }
    for left in leftovers.find_leftovers(bucket.root, -60):
        if left.is_ours:
            left.remove()
    assert listed(bucket, bucket.root) == dict.fromkeys(others, False)
    assert bucket.names() == ["film.mp4", "grown.zion"]


@pytest.mark.usefixtures("soon")
def test_the_key_of_a_packfile_stands_for_its_uploads(bucket: S3Backend) -> None:
    begin(bucket, "new.zion")
    begin(bucket, "new.zion.zion")
    assert listed(bucket, bucket.at("new.zion")) == {"new.zion": True}


@pytest.mark.usefixtures("soon")
def test_parts_that_a_manifest_lists_stay(bucket: S3Backend) -> None:
    published, left = manifest.attempt_name(0, PUBLISHED), manifest.attempt_name(1, PUBLISHED)
    of_other = manifest.attempt_name(0, JOB)
    for name in (published, left, of_other):
        sdb.pack([{"a": 1}], bucket.at(f"job/{name}"))
    manifest.publish(bucket.at("job/"), [manifest.File(published, 10, 1)], job=PUBLISHED)
    assert listed(bucket, bucket.root) == {f"job/{left}": True, f"job/{of_other}": True}


def test_what_is_young_is_of_a_writer_at_work(bucket: S3Backend) -> None:
    begin(bucket, f"job/{manifest.attempt_name(3, JOB)}")
    bucket.put(".sdb-doctor-0123456789abcdef", b"0123456789")
    assert listed(bucket, bucket.root, WEEK) == {}
    with pytest.raises(UsageError, match="an hour"):
        listed(bucket, bucket.root, 60)


def test_the_last_part_of_a_job_tells_its_age() -> None:
    old, new, other = (manifest.attempt_name(number, JOB) for number in range(3))
    entries = [Entry(f"s3://b/{old}", 1, "", 5), Entry(f"s3://b/{new}", 0, "", 9)]
    single = Entry(f"s3://b/{other.replace(JOB, PUBLISHED)}", 1, "", 7)
    assert leftovers._last_of_jobs([*entries, single]) == {JOB: 9, PUBLISHED: 7}


@pytest.mark.usefixtures("soon")
def test_the_command_lists_and_removes_when_it_is_told(
    bucket: S3Backend, capsys: pytest.CaptureFixture[str]
) -> None:
    sdb.pack([{"a": 1}], bucket.at("grown.zion"))
    for name in ("grown.zion", "film.mp4"):
        begin(bucket, name)
    for yes in (False, True):
        assert doctor.command(bucket.root, clean=True, older_than="0s", yes=yes) == 0
        printed = capsys.readouterr()
        assert f"{bucket.at('grown.zion')}, for" in printed.out
        assert "film.mp4" in printed.out
        assert "perhaps not of sdb: it stays" in printed.out
        assert ("removed 1 leftover" if yes else "nothing was removed: --yes does") in printed.err
    assert bucket.uploads() == [f"{bucket.prefix}film.mp4"]
