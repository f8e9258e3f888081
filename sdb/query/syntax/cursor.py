"""The parser's place in the tokens, and how it refuses one."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import hints, visitor
from sdb.query.syntax.lexer import KEYWORDS, Lexer, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sdb.query.syntax import ast

    Tree = TypeVar("Tree", bound=ast.Node)

MAX_DEPTH = 100
"""Depth to which expressions and sub-queries may nest."""

MAX_HEIGHT = 200
"""Levels that a syntax tree may have; chains of AND, OR and ``||`` hardly count, those of other
operators have a level for each."""


class Cursor:
    """One token of a query after the other.

    Parameters
    ----------
    text : str
        The query.
    """

    def __init__(self, text: str) -> None:
        self.lexer = Lexer(text)
        self._tokens = iter(self.lexer)
        self._waiting: Token | QueryError | None = None
        self._depth = 0
        self.last = Token("", None, 0, 0)
        self.token = next(self._tokens)

    def advance(self) -> Token:
        """Step to the next token.

        Returns
        -------
        Token
            The one left behind.
        """
        self.last = self.token
        waiting, self._waiting = self._waiting, None
        if isinstance(waiting, QueryError):
            raise waiting
        if self.token.kind != "$end":
            self.token = waiting or next(self._tokens)
        return self.last

    def ahead(self) -> str:
        """Give the kind of the token after the present one, nothing when it is faulty."""
        if self._waiting is None:
            try:
                self._waiting = next(self._tokens, self.token)
            except QueryError as error:
                self._waiting = error
        return self._waiting.kind if isinstance(self._waiting, Token) else ""

    def at(self, *kinds: str) -> bool:
        """Tell whether the token is of one of some kinds."""
        return self.token.kind in kinds

    def accept(self, *kinds: str) -> Token | None:
        """Step over the token if it is of one of some kinds."""
        return self.advance() if self.token.kind in kinds else None

    def expect(self, kind: str, *, saying: tuple[str, ...] | None = None) -> Token:
        """Step over a token of a kind, or refuse the query.

        Parameters
        ----------
        kind : str
            The kind.
        saying : tuple of str, optional
            What the message says would have been right, instead of `kind`.

        Returns
        -------
        Token
            The token.

        Raises
        ------
        QueryError
            It is of another kind.
        """
        if self.token.kind != kind:
            raise self.unexpected(*((kind,) if saying is None else saying))
        return self.advance()

    def name(self) -> str:
        """Step over a name."""
        return str(self.expect("ID").value)

    def unexpected(self, *expected: str) -> QueryError:
        """Make the error for a token that may not stand where it does.

        Parameters
        ----------
        *expected : str
            Kinds of the tokens that would have been right, when they are few.

        Returns
        -------
        QueryError
            The error to raise.
        """
        titles = [Token(kind, None, 0, 0).title for kind in expected]
        wanted = f", expecting {' or '.join(titles)}" if titles else ""
        hint, wrong = hints.token(self.last, self.token, KEYWORDS, self.lexer.text)
        if self.token.kind == "STRING" and expected == ("ID",):
            hint = "a word without quotes is wanted"
        message = f"syntax error: unexpected {self.token.title}{wanted}"
        return self.fault(message, wrong, hint=hint, said=self.token.stop)

    def fault(
        self,
        message: str,
        place: Token | int | None = None,
        *,
        hint: str | None = None,
        said: int | None = None,
    ) -> QueryError:
        """Make the error for a token or place, by default right after the token before this one.

        The message says where a word ends, as that of the original does, and marks stand under it.
        """
        if isinstance(place, Token):
            length = max(place.stop - place.start, 1)
            end = self.last.stop if said is None else said
            return self.lexer.fault(message, place.start, length, hint=hint, said=end)
        return self.lexer.fault(message, self.last.stop if place is None else place, hint=hint)

    def enter(self) -> None:
        """Go one level deeper, or refuse the query."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.fault(f"nested more than {MAX_DEPTH} levels deep", self.token.start)

    def leave(self) -> None:
        """Come back from a level."""
        self._depth -= 1


def checked_tree(parser: Cursor, read: Callable[[], Tree]) -> Tree:
    """Parse a text whose tree has a bounded height.

    Parameters
    ----------
    parser : Cursor
        The parser, which tells where it is.
    read : callable
        Its method for the whole text.

    Returns
    -------
    Node
        The tree.

    Raises
    ------
    QueryError
        The text is not in the language, or nested too deeply.
    """
    try:
        tree = read()
    except RecursionError:  # the caller's own stack is deep
        raise parser.fault("nested too deeply") from None
    if deep := visitor.too_deep(tree, MAX_HEIGHT):
        error = parser.fault(f"more than {MAX_HEIGHT} operators or steps in a row", deep.span[0])
        error.hint = "put parentheses around the halves of long sums"
        raise error
    return tree
