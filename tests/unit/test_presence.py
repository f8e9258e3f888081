"""What the extension tells of fields and inputs, against rows counted anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb import _core, ion
from sdb.errors import CorruptError
from sdb.packfile.trailer.extension import Summary
from sdb.packfile.trailer.fieldcounts import FieldCount, FieldCounts, field_name, join
from sdb.packfile.trailer.provenance import Origin, Provenance, follow
from sdb.records import replace

DATA = Path(__file__).parents[2] / "testdata"
GITHUB, CLOUDTRAIL = DATA / "gh2015_1k.json.gz", DATA / "cloudtrail_sneller.json.gz"


def counted(rows: Any) -> dict[tuple[str | None, ...], int]:
    """Count rows in Python, the slow way."""
    results: dict[tuple[str | None, ...], int] = {}

    def walk(value: object, path: tuple[str | None, ...], seen: set[Any]) -> None:
        if path:
            seen.add(path)
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, (*path, name), seen)
        elif isinstance(value, list):
            for item in value:
                walk(item, (*path, None), seen)

    for row in rows:
        seen: set[Any] = set()
        walk(row, (), seen)
        for path in seen:
            results[path] = results.get(path, 0) + 1
    return results


def told(path: Path) -> FieldCounts:
    with sdb.open(path) as pack:
        presence = pack.trailer.sparse.presence()
    assert presence is not None
    return presence


def origins(path: Path) -> Provenance:
    with sdb.open(path) as pack:
        provenance = pack.trailer.sparse.provenance()
    assert provenance is not None
    return provenance


def check(path: Path) -> FieldCounts:
    presence = told(path)
    with sdb.open(path) as pack:
        expected = counted(pack.rows())
    assert {name: field.rows for name, field in presence.fields.items()} == expected
    assert presence.complete
    assert sdb.validate(path).ok
    return presence


@pytest.mark.filterwarnings("ignore:3 times have digits beyond microseconds")
@pytest.mark.parametrize("source", sorted(DATA.glob("*.json.*")), ids=lambda path: path.name)
def test_every_field_has_as_many_rows_as_counted(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    sdb.pack([source], path, align_bytes=1 << 18, block_bytes=1 << 20)
    check(path)


def test_fields_come_as_they_occur_each_behind_the_one_that_it_is_in(tmp_path: Path) -> None:
    source, path = tmp_path / "a.json", tmp_path / "a.zion"
    source.write_text('{"z":1,"a":{"y":[{"p":1},[2]]}}{"b":null,"a":{"x":1},"z":"1"}')
    sdb.pack([source], path)
    fields = check(path).fields
    names = ["z", "a", "a.y", "a.y[]", "a.y[].p", "a.y[][]", "a.x", "b"]
    assert [field_name(name) for name in fields] == names
    assert fields["z",] == FieldCount(1 << 2 | 1 << 8, 2)


def test_bad_records_are_not_counted(tmp_path: Path) -> None:
    source, path = tmp_path / "a.json", tmp_path / "a.zion"
    source.write_text('{"a":1}\n{"a":1,"b":{"c":2},"d":x}\n{"b":1}\n' * 100)
    result = sdb.pack([source], path, on_error=lambda _: None)
    assert (result.rows, result.rejected) == (200, 100)
    assert {name: field.rows for name, field in check(path).fields.items()} == {
        ("a",): 100,
        ("b",): 100,
    }


@pytest.mark.parametrize("align", [4096, 1 << 20])
def test_append_and_concat_join_what_is_known(tmp_path: Path, align: int) -> None:
    path, source = tmp_path / "a.zion", tmp_path / "b.json"
    rows = [{"n": n, "odd": [n]} if n % 2 else {"n": n, "t": "x" * (n % 300)} for n in range(3000)]
    for start in range(0, 3000, 300):
        source.write_text("".join(json.dumps(row) for row in rows[start : start + 300]))
        if start:
            sdb.append(path, [source], block_bytes=16 * align)
        else:
            sdb.pack([source], path, align_bytes=align, block_bytes=16 * align)
        check(path)
    actual = origins(path)
    assert [(origin.first, origin.rows) for origin in actual.origins] == [
        (n, 300) for n in range(0, 3000, 300)
    ]
    assert actual.complete
    both = tmp_path / "both.zion"
    sdb.concat([path, path], both)
    check(both)
    assert [origin.first for origin in origins(both).origins] == list(range(0, 6000, 300))


def test_constants_are_fields_of_every_row(tmp_path: Path) -> None:
    path, source = tmp_path / "a.zion", tmp_path / "a.json"
    source.write_text('{"a":1,"region":{"x":2}}{"region":3}')
    sdb.pack([source], path, constants={"region": "eu", "n": 1})
    sdb.append(path, [source])
    fields = check(path).fields
    assert {field_name(name): field.rows for name, field in fields.items()} == {
        "region": 4,
        "n": 4,
        "a": 2,
    }


def test_what_a_file_does_not_tell_its_longer_one_does_not_either(tmp_path: Path) -> None:
    path, other = tmp_path / "a.zion", tmp_path / "b.zion"
    sdb.pack([GITHUB], path, align_bytes=1 << 16, block_bytes=1 << 17)
    sdb.pack([GITHUB], other, align_bytes=1 << 16, block_bytes=1 << 17)
    with sdb.open(path) as pack:
        sparse = replace(pack.trailer.sparse, stored_presence=b"", stored_provenance=b"")
        trailer = replace(pack.trailer, sparse=sparse)
    path.write_bytes(path.read_bytes()[: trailer.offset] + trailer.encode())
    sdb.concat([other, path], tmp_path / "both.zion")
    sdb.append(path, [CLOUDTRAIL])
    for file, first in ((path, 1000), (tmp_path / "both.zion", 0)):
        with sdb.open(file) as pack:
            assert pack.trailer.sparse.presence() is None
        actual = origins(file)
        assert [(origin.first, origin.rows) for origin in actual.origins] == [(first, 1000)]
        assert not actual.complete
        assert sdb.validate(file).ok


def test_inputs_are_known_by_their_bytes_however_they_come(tmp_path: Path) -> None:
    text = b"".join(b'{"n":%d,"t":"%s"}\n' % (n, b"x" * (n % 900)) for n in range(80_000))
    source, path = tmp_path / "a.json", tmp_path / "a.zion"
    source.write_bytes(text)
    assert len(text) > 32 << 20
    from sdb.packfile.inputs.inputs import recognise

    piped = replace(recognise(source), file=None)
    digests = set()
    for item in (source, piped):
        sdb.pack([item], path, overwrite=True)
        (actual,) = origins(path).origins
        assert (actual.name, actual.size_bytes, actual.rows) == (str(source), len(text), 80_000)
        digests.add(actual.digest)
    digester = _core.ContentDigester()
    for start in range(0, len(text), 77_777):
        digester.update(text[start : start + 77_777])
    assert digests == {digester.finish()}
    # Where the end of a part is guessed wrong, the rest is fed.
    source.write_bytes(text.replace(b"\n", b"\n\n") + b'[{"n":1},\n{"n":2}]\n' * 100_000)
    for item in (source, piped):
        sdb.pack([item], path, overwrite=True)
        digests.add(origins(path).origins[0].digest)
    assert len(digests) == 2


def test_packfiles_and_parquet_are_known_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    from sdb.packfile.inputs.inputs import recognise
    from sdb.packfile.inputs.streams import content_digest

    path, again, parquet = (tmp_path / name for name in ("a.zion", "b.zion", "c.parquet"))
    sdb.pack([GITHUB], path)
    with parquet.open("wb") as file:
        sdb.unpack([path], file, fmt="parquet")
    sdb.pack([path, parquet], again)
    for origin, file in zip(origins(again).origins, (path, parquet), strict=True):
        raw = recognise(file, "ion")
        size = file.stat().st_size
        assert (origin.size_bytes, (size, origin.digest)) == (size, content_digest(raw.pieces()))


def test_more_fields_than_fit_are_said_to_be_missing(tmp_path: Path) -> None:
    source, path = tmp_path / "a.json", tmp_path / "a.zion"
    wide = "".join(f'{{"a":1,"b":{{"f{n}":{{"x":1}}}}}}' for n in range(5000))
    source.write_text(wide)
    sdb.pack([source], path)
    presence = told(path)
    assert not presence.complete
    assert len(presence.fields) == 8192
    assert presence.fields["b",].rows == 5000
    assert sdb.validate(path).ok


def test_false_numbers_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    sdb.pack([GITHUB], path)
    with sdb.open(path) as pack:
        trailer = pack.trailer
    sparse = trailer.sparse
    assert sparse.summary is not None
    presence = told(path)
    other = presence.fields | {("payload", "size"): FieldCount(1 << 2, 595)}
    del other["actor", "url"]
    stored = FieldCounts(other, complete=True).encode(sparse.summary)
    changed = replace(trailer, sparse=replace(sparse, stored_presence=stored))
    path.write_bytes(path.read_bytes()[: trailer.offset] + changed.encode())
    assert [finding.text for finding in sdb.validate(path).findings] == [
        "path payload.size: in 596 rows; the trailer has 595",
        "path actor.url: in 1,000 rows; the trailer has 0",
    ]


def test_what_is_malformed_is_ignored_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    sdb.pack([GITHUB], path)
    with sdb.open(path) as pack:
        trailer = pack.trailer
        expected = list(pack.rows())
    for name in ("stored_presence", "stored_provenance"):
        sparse: Any = replace(trailer.sparse, **{name: b"no zstd"})
        changed = replace(trailer, sparse=sparse)
        path.write_bytes(path.read_bytes()[: trailer.offset] + changed.encode())
        with sdb.open(path) as pack:
            assert list(pack.rows()) == expected
        (finding,) = sdb.validate(path).findings
        assert "not a sequence of whole zstd frames" in finding.text
        sdb.append(path, [GITHUB], output=tmp_path / "b.zion", overwrite=True)
        assert sdb.validate(tmp_path / "b.zion").ok


def test_parts_that_may_lack_a_path_leave_it_out() -> None:
    counts = FieldCounts({("a",): FieldCount(4, 2), ("b",): FieldCount(4, 1)}, complete=True)
    two = FieldCounts({("a",): FieldCount(8, 3)}, complete=False)
    assert join([counts, two]) == FieldCounts({("a",): FieldCount(12, 5)}, complete=False)
    known = Provenance((Origin("x", 1, b"", 0, 2),), complete=True)
    assert follow([(known, 2), (None, 3), (known, 2)]).origins[1].first == 5
    assert not follow([(known, 2), (None, 3)]).complete
    assert follow([(known, 2), (None, 0)]).complete


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (0, 1),
        (1, [2, 1]),
        (1, [1]),
        (2, [0, 9]),
        (2, [0, 1.5]),
        (2, [0, 0]),
        (3, [0, 4]),
        (4, [-1, 0]),
        (4, [10, 0]),
        (4, "?"),
    ],
)
def test_presence_that_makes_no_sense_is_refused(member: int, value: object) -> None:
    summary = Summary((10,), {("a",): 4, ("b",): 4}, complete=True)
    members: list[object] = [True, [1, 1], [0, 1], [4, 4], [0, 5]]
    assert len(FieldCounts.decode(_core.zstd_compress(ion.dumps(members)), summary).fields) == 2
    members[member] = value
    with pytest.raises(CorruptError):
        FieldCounts.decode(_core.zstd_compress(ion.dumps(members)), summary)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (0, None),
        (1, ["x"]),
        (1, [1, 2]),
        (2, [1, -1]),
        (3, b"?"),
        (4, [0, 1]),
        (5, [3, 8]),
        (6, [-1, 0]),
    ],
)
def test_provenance_that_makes_no_sense_is_refused(member: int, value: object) -> None:
    members: list[object] = [True, ["x", "y"], [1, 2], bytes(range(32)), [0, 0], [3, 7], [0, 9]]
    assert len(Provenance.decode(_core.zstd_compress(ion.dumps(members)), 10).origins) == 2
    members[member] = value
    with pytest.raises(CorruptError):
        Provenance.decode(_core.zstd_compress(ion.dumps(members)), 10)
