"""Which blocks a condition needs: the vectors of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sdb import ion
from sdb.packfile.prune.prune import blocks
from sdb.packfile.trailer.trailer import Trailer
from sdb.query.catalog.reduction import reduce
from sdb.query.syntax import ast
from tests.conftest import json_lines

if TYPE_CHECKING:
    from sdb.packfile.trailer.sparseindex import SparseIndex

INDEXES = {index["name"]: index for index in json_lines("packfile/filter-index.jsonl")}
CASES = json_lines("packfile/filter.jsonl")
OPAQUE = ast.Binary(">", ast.Call("SIZE", (ast.Name("zz_opaque"),)), ast.Literal(5))


def sparse(index: dict[str, Any]) -> SparseIndex:
    trailer = Trailer.decode(bytes.fromhex(index["ion"]))
    return trailer.sparse.check(len(trailer.blocks))


def path(names: list[str]) -> ast.Expr:
    expr: ast.Expr = ast.Name(names[0])
    for name in names[1:]:
        expr = ast.Dot(expr, name)
    return expr


def literal(value: dict[str, Any]) -> ast.Literal:
    for kind in ("int", "float", "string"):
        if kind in value:
            return ast.Literal(value[kind])
    return ast.Literal(ast.Instant(value["time_us"]))


def comparison(pred: dict[str, Any]) -> ast.Expr:
    left = path(pred["path"])
    if "func" in pred:
        left = ast.Call(pred["func"].upper(), (left,))
    op = pred["cmp"].replace("!=", "<>")
    if pred.get("time_extra_ns"):
        # Constants of the dialect are whole microseconds; so are the times of rows.
        if op in {"=", "<>"}:
            equal = ast.Binary(
                "AND", ast.Binary("=", left, literal(pred)), ast.Literal(value=False)
            )
            return equal if op == "=" else ast.Unary("NOT", equal)
        op = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}[op]
    return ast.Binary(op, left, literal(pred))


def expression(pred: dict[str, Any]) -> ast.Expr:
    match pred["op"]:
        case "cmp":
            return comparison(pred)
        case "in":
            return ast.In(path(pred["path"]), tuple(map(literal, pred["values"])))
        case "not":
            return ast.Unary("NOT", expression(pred["arg"]))
        case "and" | "or" as op:
            first, *others = map(expression, pred["args"])
            for other in others:
                first = ast.Binary(op.upper(), first, other)
            return first
        case _:
            return OPAQUE


@pytest.mark.parametrize("name", INDEXES)
def test_blocks_that_a_condition_needs(name: str) -> None:
    index = sparse(INDEXES[name])
    for case in CASES:
        if case["index"] != name:
            continue
        got = blocks(reduce(expression(case["pred"])), index)
        remaining = {block for start, stop in got for block in range(start, stop)}
        assert remaining.issuperset(case["must"]), case["id"]
        if name == "noindex" and "time_extra_ns" in str(case["pred"]):
            continue  # no index is needed to know that no time is equal to such a constant
        assert [list(span) for span in got] == case["expect"], (case["id"], case["text"])


def test_the_vectors_are_there(vectors: object) -> None:
    assert vectors
    assert len(CASES) == 2056


def test_constants_are_read_from_the_trailer() -> None:
    if INDEXES:
        assert ion.dumps(sparse(INDEXES["consts"]).constants) == ion.dumps(
            {"c": "x", "k": 100, "neg": -5}
        )
