"""Definitions as the original has them (T 8), and as `sdb` checks them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import formats, instants, ion
from sdb.errors import InputError, SdbError, SdbWarning, UsageError
from sdb.formats import of_name
from sdb.table.catalog.root import table_root
from sdb.table.definition import rawjson
from sdb.table.definition.create import definition_of
from sdb.table.definition.definition import Definition, VersionPolicy
from sdb.table.definition.partition import PartitionField, flaw_of_segment, partition_of, typed
from sdb.table.definition.timespan import CalendarSpan
from sdb.table.definition.validate import FORMATS, check, format_of, problems
from sdb.table.inputs.pattern import InputPattern
from tests.amounts import usual
from tests.table.roots import objects, recorded, vectors

if TYPE_CHECKING:
    from pathlib import Path

TOLD = vectors("definitions.json")


@pytest.mark.parametrize("vector", TOLD["definitions"], ids=lambda vector: vector["source"])
def test_definitions(vector: dict[str, Any]) -> None:
    if vector.get("error"):
        with pytest.raises(InputError):
            Definition.parse(vector["source"])
        return
    definition = Definition.parse(vector["source"])
    assert definition.canonical() == vector["hashed_text"]
    assert definition.digest().hex() == vector["hash_hex"]
    assert definition.stored() == vector["stored_text"]
    assert definition.shown() == vector["def_output"]
    again = Definition.parse(definition.stored(), is_stored=True)
    assert again.canonical() == definition.canonical()


@pytest.mark.parametrize("root", sorted({root for root, _ in recorded()}))
def test_recorded_definitions_are_stored_with_the_same_bytes(root: str) -> None:
    actual = {key: data for key, data in objects(root).items() if key.endswith("definition.json")}
    assert actual
    for data in actual.values():
        assert Definition.parse(data.decode(), is_stored=True).stored().encode() == data


@pytest.mark.parametrize("vector", TOLD["durations"], ids=lambda vector: vector["text"])
def test_durations(vector: dict[str, Any]) -> None:
    if not vector["ok"]:
        with pytest.raises(InputError, match="failed to parse duration"):
            CalendarSpan.parse(vector["text"])
        return
    span = CalendarSpan.parse(vector["text"])
    assert str(span) == vector["printed"]
    now_us = instants.parse(vector["now"])
    assert instants.text(span.before(now_us)) == vector["now_minus"]
    assert span.before(now_us + 5) == span.before(now_us) + 5


@pytest.mark.parametrize("vector", TOLD["partition_types"], ids=str)
def test_partition_types(vector: dict[str, Any]) -> None:
    if vector["error"]:
        with pytest.raises((InputError, UsageError)):
            typed(vector["type"], vector["value"])
        return
    ((kind, reported),) = vector["const"].items()
    actual = typed(vector["type"], vector["value"])
    if kind == "timestamp":
        us = ion.instant_to_us(actual)
        assert us is not None
        assert instants.text(us) == reported
    else:
        assert actual == reported
        assert type(actual) is type(reported)


@pytest.mark.parametrize("vector", TOLD["partition_segments"], ids=str)
def test_partition_segments(vector: dict[str, Any]) -> None:
    assert (not flaw_of_segment(vector["segment"])) == vector["ok"]


def test_partitions_of_inputs() -> None:
    fields = (
        PartitionField("region"),
        PartitionField("day", "date", "$y-$m-01"),
        PartitionField("shard", "int", "${n}"),
    )
    pattern = InputPattern.parse("file://in/{region}/{y}-{m}/{n}.json")
    captured = pattern.match("file://in/eu/2024-02/07.json")
    assert captured is not None
    actual = partition_of(fields, captured)
    assert actual.directory == "eu/2024-02-01/07"
    assert list(actual.constants) == ["day", "region", "shard"]
    assert actual.constants["shard"] == 7
    assert partition_of((), captured).directory == ""
    dots = pattern.match("file://in/../2024-02/07.json")
    assert dots is not None
    with pytest.raises(InputError, match="bad path segment"):
        partition_of(fields, dots)
    with pytest.raises(UsageError, match="cannot use field name 'a-b'"):
        partition_of((PartitionField("a-b"),), {})


@pytest.mark.parametrize("text", ["2024-13-01", "2024-00-01", "2024-01-32", "2024-01-00"])
def test_impossible_dates_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="invalid date"):
        typed("date", text)
    with pytest.raises(InputError):
        typed("timestamp", f"{text}T00:00:00Z")


GOOD = {
    "input": [{"pattern": "file://in/{region}/*.json"}],
    "partitions": [{"field": "region"}],
    "retention_policy": {"field": "ts", "valid_for": "30d"},
    "versions": {"keep_last": 3, "keep_for": "7d"},
    "cluster_by": ["user", "actor.id"],
}


def told(is_remote: bool = False, **changes: object) -> list[str]:
    return problems(Definition.parse(json.dumps(GOOD | changes)), is_remote=is_remote)


def test_a_good_definition_is_taken_and_keeps_what_is_ours() -> None:
    definition = Definition.parse(json.dumps(GOOD))
    assert check(definition, is_remote=False) is definition
    assert definition.versions == VersionPolicy(3, CalendarSpan(days=7))
    assert Definition.parse(definition.stored(), is_stored=True) == definition
    assert definition.cluster_by == ("user", "actor.id")
    # The original does not know the members, and goes on with the same digest.
    assert "versions" not in definition.canonical()
    assert "cluster_by" not in definition.canonical()


BAD: list[tuple[dict[str, object], list[str]]] = [
    ({"inputs": []}, ["unknown member 'inputs', did you mean input?"]),
    ({"input": []}, ["it has no input"]),
    (
        {"input": [{"patern": "x"}], "partitions": []},
        ["'input.patern', did you mean pattern?", "without a pattern"],
    ),
    (
        {"input": [{"pattern": "in/*.json"}], "partitions": []},
        ["does not begin with file://"],
    ),
    (
        {"input": [{"pattern": "file:///in/*.json"}], "partitions": []},
        ["begins with /: paths start at the root"],
    ),
    (
        {"input": [{"pattern": "file://in/*{x}.json"}], "partitions": []},
        ["bad pattern"],
    ),
    (
        {"input": [{"pattern": "file://in/[.json"}], "partitions": []},
        ["a class that is not closed"],
    ),
    (
        {"input": [{"pattern": "file://in/*", "format": "jsn"}], "partitions": []},
        ["unknown format 'jsn', did you mean json?"],
    ),
    ({"input": [{"pattern": "file://in/a"}], "partitions": []}, ["has no ending of a format"]),
    (
        {"input": [{"pattern": "file://in/*.jsno.gz"}], "partitions": []},
        ["no format has names that end in '.jsno.gz', did you mean json.gz?"],
    ),
    ({"input": [{"pattern": "file://in/*.csv"}], "partitions": []}, ["needs hints"]),
    (
        {"input": [{"pattern": "file://in/*.json", "hints": [1]}], "partitions": []},
        ["not an object"],
    ),
    (
        {"partitions": [{"field": "regoin"}]},
        ["no capture 'regoin' in the pattern, did you mean region?"],
    ),
    (
        {"partitions": [{"field": ""}, {"field": "region"}, {"field": "region", "type": "in"}]},
        ["empty partition name", "duplicate partition name 'region'", "did you mean int?"],
    ),
    ({"partitions": [{"field": "a-b"}]}, ["cannot use field name 'a-b'"]),
    ({"partitions": [{"field": "a", "value": "${"}]}, ["bad pattern"]),
    ({"retention_policy": {"field": "ts"}}, ["valid_for is missing"]),
    ({"retention_policy": {"valid_for": "1d"}}, ["retention_policy.field is missing"]),
    ({"beta_features": ["iguana-v1"]}, ["did you mean iguana-v0?"]),
    ({"versions": {"keep": 1}}, ["'versions.keep'"]),
    ({"cluster_by": ["a[].b"]}, ["cluster_by: a[].b leads through a list"]),
    (
        {"cluster_by": ["a", "b", "c", "d", "e"]},
        ["cluster_by: invalid clustering: expected 1 to 4 paths"],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), BAD, ids=str)
def test_all_problems_are_told(changes: dict[str, object], lines: list[str]) -> None:
    actual = told(**changes)
    assert len(actual) == len(lines), actual
    for line, expected in zip(actual, lines, strict=True):
        assert expected in line
    with pytest.raises(UsageError) as caught:
        check(Definition.parse(json.dumps(GOOD | changes)), is_remote=False)
    assert caught.value.exit_code == 2


def test_everything_is_told_at_once() -> None:
    actual = told(
        input=[{"pattern": "file://a/*.csv"}, {"pattern": "s3://b/*.json", "format": "yaml"}],
        retention_policy={},
        skip_backfil=True,
    )
    assert len(actual) == 7, actual


def test_roots_on_s3_take_inputs_of_buckets() -> None:
    assert not told(True, input=[{"pattern": "s3://b/{region}.json"}])
    assert told(True, input=[{"pattern": "s3://{region}/a.json"}])
    assert told(True, input=[{"pattern": "file://a/{region}.json"}])


@pytest.mark.parametrize(
    "text",
    ["{", '{"input":[}', "[1", '{"a":NaN}', '{"input":' + "[" * 100_000, "\ud800", "1" * 5000],
    ids=str,
)
def test_malformed_json_is_told(text: str) -> None:
    with pytest.raises(InputError):
        Definition.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"partitions":{}}',
        '{"input":[1]}',
        '{"skip_backfill":1}',
        '{"retention_policy":[]}',
        '{"versions":{"keep_last":0}}',
        '{"versions":{"keep_last":true}}',
        '{"beta_features":[1]}',
        '{"cluster_by":"user"}',
        '{"cluster_by":[1]}',
    ],
)
def test_members_of_another_type_are_told(text: str) -> None:
    with pytest.raises(InputError):
        Definition.parse(text)


def test_what_the_original_stored_without_a_time_can_be_read() -> None:
    """Defect of the original: it stores a policy that it cannot read again (T 8.1)."""
    text = '{"input":[{"pattern":"p"}],"retention_policy":{"field":"ts","valid_for":"0d"}}'
    definition = Definition.parse(text, is_stored=True)
    assert definition.retention is not None
    assert definition.canonical() == text + "\n"


def test_text_after_a_definition_is_told() -> None:
    definition = Definition.parse(json.dumps(GOOD) + " x")
    assert problems(definition, is_remote=False) == ["unknown member 'text after the definition'"]


def test_formats_by_the_longest_suffix() -> None:
    """Defect of the original: it takes any suffix that fits, at random (T 8.4)."""
    assert format_of("x.cloudtrail.json.gz") == "cloudtrail.json.gz"
    suffixes = [item for item in FORMATS if of_name(f".{item}")[0] is not None]
    assert [format_of(f"a.{item}") for item in suffixes] == suffixes
    # Forms of logs are no suffixes: sync would not recognise them.
    logs = {form.name for form in formats.FORMATS if form.is_log}
    logs |= {"text", "regex", "otlp", "mongodb"}
    assert {item.partition(".")[0] for item in set(FORMATS) - set(suffixes)} == logs


JSON: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=usual(200), deadline=None)
@given(value=JSON, indent=st.none() | st.integers(0, 3))
def test_compact_and_indented_texts_mean_the_same(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    short = rawjson.compact(text)
    assert json.loads(short) == value
    assert json.loads(rawjson.indented(short, "\t")) == value
    assert rawjson.compact(rawjson.indented(short, " ")) == short
    assert not set(short) & {"<", ">", "&", "\u2028"}


@settings(max_examples=usual(200), deadline=None)
@given(text=st.text('{}[]",:abinputtern \\1', max_size=40))
def test_any_text_is_a_definition_or_an_error_of_ours(text: str) -> None:
    try:
        problems(Definition.parse(text), is_remote=False)
    except SdbError as error:
        assert error.exit_code == 6  # noqa: PT017


def test_a_description_is_kept_and_makes_no_other_table() -> None:
    plain = Definition.parse('{"input": [{"pattern": "file://in/*.json"}]}')
    text = (
        '{"input": [{"pattern": "file://in/*.json"}],'
        ' "description": "Vi\\u00e9s\\n\\"x\\"", "steward": "ann"}'
    )
    described = Definition.parse(text)
    assert (described.description, described.steward, described.unknown) == (
        'Vi\u00e9s\n"x"',
        "ann",
        (),
    )
    assert described.digest() == plain.digest()
    assert Definition.parse(described.stored(), is_stored=True) == described
    assert "description" not in plain.stored()
    for wrong in ("1", "[]", "{}"):
        with pytest.raises(InputError, match="description"):
            Definition.parse(f'{{"description": {wrong}}}')


@pytest.mark.parametrize(
    ("text", "local", "remote"),
    [
        ("in/*.json", "file://in/*.json", "s3://b/lake/in/*.json"),
        ("./in/*.json", "file://in/*.json", "s3://b/lake/in/*.json"),
        ("delta:t", "delta+file://t", "delta+s3://b/lake/t"),
        ("s3://o/in/*.json", "s3://o/in/*.json", "s3://o/in/*.json"),
    ],
)
def test_patterns_without_a_scheme_start_at_the_root(text: str, local: str, remote: str) -> None:
    for location, expected in (("lake", local), ("s3://b/lake", remote), ("s3://b/lake/", remote)):
        made = definition_of([text], table_root(location))
        assert [rule.pattern for rule in made.inputs] == [expected]


def test_a_pattern_that_seems_to_take_a_tree_is_warned_of(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    with pytest.warns(SdbWarning, match=r"takes no folders below; file://logs/\*/\* takes"):
        db.create("web.t", "logs/**")
    (tmp_path / "logs" / "a").mkdir(parents=True)
    (tmp_path / "logs" / "a" / "x.json").write_text('{"n": 1}')
    assert db.sync("web.t").rows == 0
