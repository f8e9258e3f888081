"""Every query of the vectors parses, and what is not in the language is refused at its place."""

from __future__ import annotations

import pytest

from sdb.errors import QueryError
from sdb.query.parser import parse
from tests.conftest import VECTORS, json_lines

ACCEPTED = [
    vector
    for path in sorted((VECTORS / "sql").glob("*.jsonl"))
    if path.name != "errors.jsonl"
    for vector in json_lines(f"sql/{path.name}")
]
SYNTAX = [vector for vector in json_lines("sql/errors.jsonl") if vector["kind"] == "syntax"]
SAME_MESSAGES = 63


@pytest.mark.parametrize("vector", ACCEPTED, ids=lambda vector: vector["id"])
def test_queries_parse(vector: dict[str, str]) -> None:
    assert parse(vector["sql"]).text == vector["sql"]


@pytest.mark.parametrize("vector", SYNTAX, ids=lambda vector: vector["id"])
def test_other_texts_do_not(vector: dict[str, str]) -> None:
    with pytest.raises(QueryError, match="parsing query: at "):
        parse(vector["sql"])


@pytest.mark.skipif(not SYNTAX, reason=f"no vectors at {VECTORS}")
def test_messages_are_those_of_the_original() -> None:
    same = 0
    for vector in SYNTAX:
        with pytest.raises(QueryError) as caught:
            parse(vector["sql"])
        same += caught.value.message == vector["error"]
    assert same >= SAME_MESSAGES
