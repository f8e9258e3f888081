"""The dialect `sneller` as marks on the tree, which the plan and the engine go by."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sdb.query.analyze.check import check
from sdb.query.analyze.dialects import marked
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.parser import parse

_ALL = (
    "SELECT CASE a WHEN 1 THEN -b ELSE CAST(c AS INTEGER) END AS x, UPPER(d) AS u, "
    "(SELECT COUNT(e) FROM 'f.zion' WHERE e LIKE 'x%' OR NOT e IN (1, NULL)) AS n "
    "FROM 'f.zion' WHERE a BETWEEN 1 AND 2 AND b IS NULL "
    "AND c > ANY (SELECT a FROM 'f.zion') ORDER BY c DESC"
)


@dataclass
class _Marks:
    marked: set[str]
    plain: set[str]


def _marks(root: ast.Node) -> _Marks:
    nodes = [node for node in visitor.nodes(root) if hasattr(node, "original")]
    return _Marks(
        {type(node).__name__ for node in nodes if node.original},
        {type(node).__name__ for node in nodes if not node.original},
    )


def test_the_dialect_marks_every_operator_that_may_be_marked() -> None:
    kinds = {name for name in dir(ast) if hasattr(getattr(ast, name), "original")}
    statement = check(parse(f"SET dialect = sneller; {_ALL}"))
    marks = _marks(statement)
    assert (marks.marked, marks.plain) == (kinds, set())
    assert _marks(check(parse(_ALL))).marked == set()


@pytest.mark.parametrize("dialect", ["standard", "sneller"])
def test_a_view_is_marked_by_its_own_dialect(dialect: str) -> None:
    view = marked(parse("SELECT a = 1 AS b FROM 'f.zion' ORDER BY a"), dialect).select
    around = {"standard": "sneller", "sneller": "standard"}[dialect]
    outer = parse(f"SET dialect = {around}; SELECT b IS NULL AS c FROM (SELECT 1) AS v")
    source = ast.Source(ast.QueryTable(view), "v")
    whole = check(ast.Statement(visitor.replace(outer.select, sources=(source,)), dialect=around))
    (inner,) = [
        node for node in visitor.nodes(whole.select.sources[0]) if isinstance(node, ast.Select)
    ]
    own, others = _marks(inner), [item.expr for item in whole.select.items]
    assert (own.plain if dialect == "sneller" else own.marked) == set()
    assert [_marks(expr).marked for expr in others] == [{"Is"} if around == "sneller" else set()]
