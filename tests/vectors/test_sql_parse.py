"""The queries of the vectors through the front end: accepted ones pass, rejected ones do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from sdb.errors import QueryError
from sdb.query.analyze.check import check
from sdb.query.analyze.dialects import SNELLER
from sdb.query.syntax import printer
from sdb.query.syntax.outputnames import output_names
from sdb.query.syntax.parser import parse
from sdb.records import replace
from tests.conftest import VECTORS, json_lines

if TYPE_CHECKING:
    from pathlib import Path

ACCEPTED = [
    case
    for path in sorted((VECTORS / "sql").glob("*.jsonl"))
    if path.name != "errors.jsonl"
    for case in json_lines(f"sql/{path.name}")
]
REJECTED = json_lines("sql/errors.jsonl")

# Refused by what opens files, or accepted on purpose: several files, a file's name in quotes,
# a backslash before any other letter, ROW_NUMBER without an order, COUNT(), FILTER without WHERE,
# a comma behind the last item, DISTINCT *, a NULL that is written out where a value is needed.
NOT_STATIC = {"error-227", "error-228", "error-229"}
EXTENSIONS = {"error-003", "error-031", "error-091", "error-093", "error-196", "error-203"}
EXTENSIONS |= {"error-124", "error-195", "error-205", "error-235"}
# Where the original gives no place, or another one than that of the token.
OTHER_PLACE = {"error-018", "error-083", "error-104"}


def refusal(sql: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        check(replace(parse(sql), dialect=SNELLER))
    return caught.value


def test_accepted_queries_pass(vectors: Path) -> None:
    assert len(ACCEPTED) > 1000, vectors
    for case in ACCEPTED:
        statement = parse(case["sql"])
        check(statement)
        assert parse(printer.statement(statement)) == statement, case["id"]


def test_output_names_are_those_of_the_rows(vectors: Path) -> None:
    seen = 0
    for case in ACCEPTED:
        select = parse(case["sql"]).select
        if select.star or "SNELLER_DATASHAPE" in case["sql"]:
            continue
        keys = {key for row in case["rows"] for key in row}
        assert keys <= set(output_names(select)), (case["id"], vectors)
        seen += bool(keys)
    assert seen > 900


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in REJECTED
        if case["kind"] != "limit" and case["id"] not in NOT_STATIC | EXTENSIONS
    ],
    ids=lambda case: case["id"],
)
def test_rejected_queries_are_refused(case: dict[str, Any]) -> None:
    error = refusal(case["sql"])
    assert error.exit_code == 2
    if case["kind"] == "syntax":
        assert error.message.startswith("parsing query: at ")
    if case["kind"] == "syntax" and "stdout" in case and case["id"] not in OTHER_PLACE:
        # The original's marks begin where the wrong word ends; ours stand under the word.
        query, marks = error.underlined().rsplit("\n", 1)
        theirs, their_marks = case["stdout"].rstrip("\n").rsplit("\n", 1)
        assert query == theirs
        start, at = marks.index("^"), their_marks.index("^")
        assert at in {start, len(marks)}


@pytest.mark.parametrize("case", [c for c in REJECTED if c["id"] in NOT_STATIC | EXTENSIONS])
def test_what_only_files_can_refuse_passes(case: dict[str, Any]) -> None:
    check(parse(case["sql"]))


def test_messages_are_those_of_the_original(vectors: Path) -> None:
    exact = {
        case["id"]
        for case in REJECTED
        if case["kind"] != "limit"
        and case["id"] not in NOT_STATIC | EXTENSIONS
        and refusal(case["sql"]).message == case["error"]
    }
    assert len(exact) >= 116, vectors


def test_syntax_errors_have_no_words_of_the_parser() -> None:
    kinds = re.compile(
        r"error: unexpected|\$end|\b(ID|EQ|NE|LT|LE|GT|GE|NUMBER|STRING|AGGREGATE)\b"
    )
    messages = [
        refusal(case["sql"]).message
        for case in REJECTED
        if case["kind"] == "syntax" and case["id"] not in NOT_STATIC | EXTENSIONS
    ]
    assert len(messages) > 60
    assert [text for text in messages if kinds.search(text)] == []
    assert any(text.endswith("the query ends too early: BY is expected") for text in messages)
    assert any(text.endswith("BY is expected, not 'age'") for text in messages)
