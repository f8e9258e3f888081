"""A place in the tokens of a query."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.lexer import fail, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.errors import QueryError
    from sdb.query.ast import Expr, Span
    from sdb.query.lexer import Token

MAX_NESTING = 100


class Cursor:
    """Goes over the tokens of a query.

    Parameters
    ----------
    query : str
        The text.
    """

    def __init__(self, query: str) -> None:
        self.query = query
        self._tokens = tokens(query)
        self._at = 0
        self._nesting = 0

    def peek(self, ahead: int = 0) -> Token:
        """Give a token that comes, the next one by default."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Go over the next token, save the last one."""
        token = self.peek()
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def back(self) -> None:
        """Go back by a token."""
        self._at -= 1

    def accept(self, kind: str) -> bool:
        """Go over the next token if it is of a kind."""
        if self.peek().kind != kind:
            return False
        self.take()
        return True

    def expect(self, *kinds: str, told: bool = True) -> Token:
        """Go over the next token, which must be of one of some kinds.

        Parameters
        ----------
        *kinds : str
            The kinds.
        told : bool
            Whether the error says them.

        Returns
        -------
        Token
            The token.

        Raises
        ------
        QueryError
            It is of another kind.
        """
        if self.peek().kind not in kinds:
            raise self.unexpected(*kinds if told else ())
        return self.take()

    def unexpected(self, *kinds: str) -> QueryError:
        """Make the error of the next token, which should have been of other kinds."""
        token = self.peek()
        what = f"syntax error: unexpected {token.text}"
        if kinds:
            what += ", expecting " + " or ".join(
                kind if kind[0].isalpha() else f"'{kind}'" for kind in kinds
            )
        return fail(self.query, token.span[1], what)

    def wrong(self, offset: int, what: str, length: int = 2) -> QueryError:
        """Make the error of something at a place in the text."""
        return fail(self.query, offset, what, length)

    def before(self) -> int:
        """Give the end of the last token, in bytes."""
        return self._tokens[max(0, self._at - 1)].span[1]

    def since(self, start: Token | ast.Node) -> Span:
        """Give the range from the start of something to the end of the last token."""
        return self.span(start.span[0])

    def span(self, start: int) -> Span:
        """Give the range from a place to the end of the last token."""
        return start, self.before()

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count a level of nesting, and refuse too many."""
        if self._nesting >= MAX_NESTING:
            raise fail(
                self.query, self.peek().span[0], f"nested deeper than {MAX_NESTING} levels", 1
            )
        self._nesting += 1
        try:
            yield
        finally:
            self._nesting -= 1

    def path(self, base: Expr) -> Expr:
        """Parse what may follow a datum: fields and indexes."""
        start = base.span[0]
        while True:
            if self.accept("."):
                base = ast.Dot(base, str(self.expect("ID").value), span=self.span(start))
            elif self.accept("["):
                token = self.expect("NUMBER", "STRING")
                self.expect("]")
                value = token.value
                if isinstance(value, str):
                    base = ast.Dot(base, value, span=self.span(start))
                elif isinstance(value, int):
                    base = ast.Index(base, value, span=self.span(start))
                else:
                    raise self.wrong(token.span[1], f"cannot use {value} as an index")
            else:
                return base

    def expr(self, level: int = 1) -> Expr:
        """Parse an expression."""
        raise NotImplementedError

    def select(self) -> ast.Select:
        """Parse a SELECT."""
        raise NotImplementedError
