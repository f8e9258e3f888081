"""Pattern matches."""

from __future__ import annotations

from sdb.query.analyze.regexes import similar
from sdb.query.duckdb_sql.values import quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax import ast


def matches(node: ast.Match, text: str) -> str:
    """Return SQL of a match over SQL of a string; NULL for NULL."""
    pattern = quoting.string(node.pattern)
    if node.op == "LIKE":
        return _like(node, text, pattern)
    if node.op == "ILIKE":
        folded = f"sdb_ilike({text}, {pattern}, {quoting.string(node.escape or '')})"
        if not node.pattern.isascii():
            return folded
        # DuckDB folds only some letters beyond ASCII, and some of these match ASCII letters.
        simple = _like(node, text, pattern)
        return f"CASE WHEN strlen({text}) <> length({text}) THEN {folded} ELSE {simple} END"
    if node.op == "SIMILAR TO":
        return f"regexp_full_match({text}, {quoting.string(similar(node.pattern))})"
    return f"regexp_matches({text}, {pattern}{', ' + repr('i') if node.op == '~*' else ''})"


def _like(node: ast.Match, text: str, pattern: str) -> str:
    escape = ""
    if node.escape is not None or "\\" in node.pattern:
        escape = f" ESCAPE {quoting.string(node.escape or '')}"
    return f"({text} {node.op} {pattern}{escape})"
