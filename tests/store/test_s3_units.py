"""Names, patterns, sizes of parts, settings, and errors."""

from __future__ import annotations

import base64
import os
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import errors
from sdb.packfile.read.resolve import resolve
from sdb.store import keypatterns, url
from sdb.store.s3 import client, parts
from sdb.store.s3.parts import MAX_PART_BYTES, MAX_PARTS, MIN_PART_BYTES, copy_ranges, part_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.store.conftest import S3Backend

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40


def test_parts_suffice_for_the_largest_object() -> None:
    for copies in (0, 1, 5000, 9990):
        budget = MAX_PARTS - copies
        sizes = [part_bytes(index, budget) for index in range(budget)]
        assert sizes[0] == 8 * MIB
        assert sizes == sorted(sizes)
        assert all(MIN_PART_BYTES <= size <= MAX_PART_BYTES for size in sizes)
    assert sum(part_bytes(index, MAX_PARTS) for index in range(MAX_PARTS)) > 5 * TIB
    assert sum(part_bytes(index, MAX_PARTS) for index in range(1000)) < 10 * GIB


@pytest.mark.parametrize(
    "count", [MIN_PART_BYTES, 256 * MIB, 256 * MIB + 1, GIB + 1, TIB + 3, 5 * TIB, 24 * TIB]
)
def test_what_is_copied_is_cut_into_parts(count: int) -> None:
    ranges = copy_ranges(count)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == count
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    assert all(MIN_PART_BYTES <= stop - start <= MAX_PART_BYTES for start, stop in ranges)
    assert len(ranges) <= MAX_PARTS // 2
    assert parts.COPY_BYTES >= 2 * MIN_PART_BYTES


def test_too_much_to_copy() -> None:
    with pytest.raises(errors.UnsupportedError):
        copy_ranges(60 * TIB)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("a/*.json", "a/b.json", True),
        ("a/*.json", "a/b/c.json", False),
        ("a/*.json", "a/.json", True),
        ("a/**.json", "a/b/c.json", True),
        ("a/**/c.json", "a/c.json", True),
        ("a/**/c.json", "a/x/y/c.json", True),
        ("a/**/c.json", "a/xc.json", False),
        ("a/?.json", "a/b.json", True),
        ("a/?.json", "a//.json", False),
        ("a/[bc].json", "a/c.json", True),
        ("a/[!bc].json", "a/c.json", False),
        ("a/[a-c].json", "a/b.json", True),
        ("a/[*].json", "a/*.json", True),
        ("a/[*].json", "a/b.json", False),
        ("a+b(c).json*", "a+b(c).json.gz", True),
        ("a.json*", "abjson", False),
        ("[", "[", True),
    ],
)
def test_patterns(pattern: str, name: str, *, matches: bool) -> None:
    assert keypatterns.matcher("", pattern)(name) is matches


@pytest.mark.s3
def test_patterns_list_only_what_they_match(bucket: S3Backend) -> None:
    names = ["a.json", "b.json.gz", "sub/c.json", "sub/deep/d.json", "ü b+c.json", "*.json"]
    for name in names:
        bucket.put(name, b"{}")
    at = bucket.at

    def listed(pattern: str) -> list[str]:
        return [item.location.removeprefix(at("")) for item in resolve([at(pattern)])]

    assert listed("*.json") == ["*.json", "a.json", "ü b+c.json"]
    assert listed("*.json.gz") == ["b.json.gz"]
    assert listed("**/*.json") == [
        "*.json",
        "a.json",
        "sub/c.json",
        "sub/deep/d.json",
        "ü b+c.json",
    ]
    assert listed("*/*.json") == ["sub/c.json"]
    assert listed("[*].json") == ["*.json"]
    assert listed("a.json") == ["a.json"]
    with pytest.raises(errors.NotFoundError, match="no object matches"):
        listed("*.csv")
    assert bucket.get("ü b+c.json") == b"{}"
    root = at("").removesuffix("/")
    actual = resolve(["*.gz", "a.json"], root=root)
    assert [item.location for item in actual] == [at("b.json.gz"), at("a.json")]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client.disconnect()
    yield monkeypatch
    monkeypatch.undo()
    client.disconnect()


def test_settings_of_aws(settings: pytest.MonkeyPatch) -> None:
    settings.setenv("AWS_REGION", "eu-central-1")
    assert client.endpoint().is_aws
    config = client.connect().meta.config
    assert config.s3["addressing_style"] == "auto"
    assert config.retries["mode"] == "standard"
    assert config.request_checksum_calculation == "when_required"
    settings.setenv("AWS_ENDPOINT_URL", "https://minio.example:9000")
    client.disconnect()
    assert client.endpoint().url == "https://minio.example:9000"
    assert not client.endpoint().is_aws
    assert client.connect().meta.config.s3["addressing_style"] == "path"
    settings.setenv("AWS_ENDPOINT_URL_S3", "https://storage.googleapis.com")
    client.disconnect()
    assert not client.endpoint().copies_parts


def test_no_credentials(settings: pytest.MonkeyPatch) -> None:
    settings.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    with pytest.raises(errors.AccessError, match="unable to locate credentials") as caught:
        url.open_read("s3://bucket/key")
    assert "aws configure" in str(caught.value.hint)
    settings.setenv("AWS_PROFILE", "nobody")
    client.disconnect()
    with pytest.raises(errors.AccessError, match="nobody"):
        url.open_read("s3://bucket/key")


def test_no_endpoint(settings: pytest.MonkeyPatch) -> None:
    settings.setattr(client, "ATTEMPTS", 1)
    settings.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    settings.setenv("AWS_ACCESS_KEY_ID", "a")
    settings.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with pytest.raises(errors.SdbError, match=r"http://127\.0\.0\.1:9") as caught:
        url.open_read("s3://bucket/key")
    assert "AWS_ENDPOINT_URL_S3" in str(caught.value.hint)
    settings.setenv("AWS_ENDPOINT_URL_S3", "no url")
    client.disconnect()
    with pytest.raises(errors.UsageError):
        url.open_read("s3://bucket/key")


@pytest.mark.s3
def test_what_the_server_refuses(bucket: S3Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.NotFoundError, match="no such object"):
        bucket.get("x")
    with pytest.raises(errors.NotFoundError, match="no S3 bucket"):
        url.open_read("s3://no-such-bucket/x")
    with pytest.raises(errors.NotFoundError, match="no S3 bucket"):
        resolve(["s3://no-such-bucket/*"])
    with (
        pytest.raises(errors.NotFoundError, match="no S3 bucket"),
        url.atomic_write("s3://no-such-bucket/x") as file,
    ):
        file.write(b"x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    client.disconnect()
    try:
        with pytest.raises(errors.AccessError, match="does not accept the credentials"):
            bucket.get("x")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "unknown")
        client.disconnect()
        with pytest.raises(errors.AccessError):
            bucket.get("x")
    finally:
        monkeypatch.undo()
        client.disconnect()


@pytest.mark.s3
def test_children_have_connections_of_their_own(bucket: S3Backend) -> None:
    bucket.put("x", b"data")
    before = client.connect()
    child = os.fork()
    if not child:
        ok = client.connect() is not before and bucket.get("x") == b"data"
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.connect() is before
    assert bucket.get("x") == b"data"


def test_other_spellings_of_a_bucket_mean_the_same(
    bucket: S3Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Hadoop and Spark write them; keys with blanks, unicode and plus signs as they are."""
    rows = tmp_path / "rows.json"
    rows.write_text('{"a":1}\n{"a":2}\n')
    name = bucket.root.removeprefix("s3://").rstrip("/")
    for at, scheme in enumerate(("s3a", "s3n", "S3")):
        url = f"{scheme}://{name}/a b+ü/{at}.zion"
        sdb.pack([rows], url)
        with sdb.open(f"s3://{name}/a b+ü/{at}.zion") as packfile:
            assert packfile.trailer.rows == 2
        with sdb.sql(f"SELECT COUNT(*) AS n FROM read_file('{scheme}://{name}/a b+ü/*')") as result:
            assert list(result) == [{"n": 2 * (at + 1)}]
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    db = sdb.connect(f"s3a://{name}/root")
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"a": 1}])
    assert list(sdb.connect(f"s3://{name}/root").sql("SELECT a FROM web.t")) == [{"a": 1}]
    bucket.put("root/in put+/ü.json", rows.read_bytes())
    db.create("web.synced", f"s3a://{name}/root/in put+/*.json")
    db.sync("web.synced")
    assert list(db.sql("SELECT COUNT(*) AS n FROM web.synced")) == [{"n": 2}]
