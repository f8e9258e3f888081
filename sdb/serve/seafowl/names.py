"""Names as clients of Seafowl write them: bare ones are in the schema ``public``.

A schema of Seafowl is a database of `sdb`. A path may begin with a database of Seafowl, which is
one of `sdb` too: its only schema is ``public``, which stands for the database itself.
"""

from __future__ import annotations

from sdb.query.syntax import ast, versions, visitor, writes
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Node = TypeVar("_Node", bound=ast.Node)

PUBLIC = "public"
_RESOURCES = frozenset({"q", "upload"})


def is_seafowl(path: str) -> bool:
    """Return whether a path is one of clients of Seafowl."""
    first, _, rest = path[1:].partition("/")
    return first in _RESOURCES or (first != "v1" and rest.partition("/")[0] in _RESOURCES)


def placed(schema: str, database: str) -> str:
    """Return the database of `sdb` that has the tables of a schema.

    * ``database``: The database that the path begins with; empty: none.
    """
    return database if database and schema == PUBLIC else schema


def qualified(statement: _Node, database: str) -> _Node:
    """Return a statement in which all tables have their databases.

    * ``database``: The database that the path begins with; empty: none.
    """
    own = _own_names(statement)

    def whole(path: ast.Expr) -> ast.Expr:
        if isinstance(path, ast.Name) and path.name not in own:
            base = ast.Name(database or PUBLIC, span=path.span)
            return ast.Dot(base, path.name, span=path.span)
        if isinstance(path, ast.Dot) and isinstance(path.base, ast.Name):
            schema = path.base.name
            if schema not in own and placed(schema, database) != schema:
                return replace(path, base=replace(path.base, name=placed(schema, database)))
        return path

    def changed(node: ast.Node) -> ast.Node:
        match node:
            case ast.PathTable(expr=ast.Name(name=name) as path) if "@" in name[1:]:
                plain, _, at = name.partition("@")  # as behind a name with its database
                call = whole(replace(path, name=plain)), _literal("ANY", path), _literal(at, path)
                return ast.CallTable(versions.AT, call, span=node.span)
            case ast.PathTable():
                return replace(node, expr=whole(node.expr))
            case ast.CallTable(name=versions.AT, args=(path, *rest)):
                return replace(node, args=(whole(path), *rest))
            case writes.WrittenTable():
                return replace(node, database=placed(node.database, database))
            case _:
                return node

    return visitor.rewrite(statement, changed)


def _literal(text: str, path: ast.Name) -> ast.Literal:
    return ast.Literal(versions.unquoted(text), span=path.span)


def _own_names(statement: ast.Node) -> set[str | None]:
    """Return the names that a statement makes itself, which are no tables."""
    names: set[str | None] = set()
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Source):
            names.add(node.alias)
        elif isinstance(node, ast.Statement):
            names |= {name for name, _ in node.with_}
    return names
