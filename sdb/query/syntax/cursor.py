"""The parser's place in the tokens, and how it refuses one."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import hints, visitor
from sdb.query.syntax.lexer import KEYWORDS, Lexer, Token
from sdb.query.syntax.literals import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, TypeVar

    from sdb.query.syntax import ast

    Tree = TypeVar("Tree", bound=ast.Node)

MAX_DEPTH = 100
"""Depth to which expressions and sub-queries may nest."""

MAX_HEIGHT = 200
"""Levels that a syntax tree may have; chains of AND, OR and ``||`` hardly count, those of other
operators have a level for each."""

SOFT_WORDS = words(
    "AT BOTH ESCAPE FILTER FIRST LAST LEADING NULLS OVER PARTITION SIMILAR TO TRAILING"
)
"""Words that mean something only where the grammar asks for them, and are names elsewhere."""

_EXPECTED = {
    "ID": "a name",
    "NUMBER": "a number",
    "STRING": "a text in single quotes",
    "TABLE": "a table",
    "VALUE": "a value",
    "EQ": "'='",
}


class Cursor:
    """One token of a query after the other."""

    WHAT: ClassVar[str] = "query"
    """What the text is, for messages."""

    def __init__(self, text: str) -> None:
        self.lexer = Lexer(text)
        self._tokens = iter(self.lexer)
        self._waiting: Token | QueryError | None = None
        self._depth = 0
        self.last = Token("", None, 0, 0)
        self.token = next(self._tokens)

    def advance(self) -> Token:
        """Step to the next token."""
        self.last = self.token
        waiting, self._waiting = self._waiting, None
        if isinstance(waiting, QueryError):
            raise waiting
        if self.token.kind != "$end":
            self.token = waiting or next(self._tokens)
        return self.last

    def ahead(self) -> str:
        """Return the kind of the token after the present one, nothing when it is faulty."""
        if self._waiting is None:
            try:
                self._waiting = next(self._tokens, self.token)
            except QueryError as error:
                self._waiting = error
        return self._waiting.kind if isinstance(self._waiting, Token) else ""

    def at_word(self, *words: str) -> bool:
        """Return whether one of some words comes that are none of the language elsewhere."""
        token = self.token
        return self.at("ID") and not token.quoted and str(token.value).upper() in words

    def has_ahead(self, *words: str) -> bool:
        """Return whether the token after the present one is one of some words, in no quotes."""
        if self.ahead() != "ID" or not isinstance(self._waiting, Token):
            return False
        return not self._waiting.quoted and str(self._waiting.value).upper() in words

    def is_star_behind_dot(self) -> bool:
        """Return whether a dot and a star right behind it come after the present token."""
        is_dot = self.ahead() == "." and isinstance(self._waiting, Token)
        return is_dot and self.lexer.has_star(getattr(self._waiting, "stop", 0))

    def at(self, *kinds: str) -> bool:
        """Return whether the token is of one of some kinds."""
        return self.token.kind in kinds

    def accept(self, *kinds: str) -> Token | None:
        """Step over the token if it is of one of some kinds."""
        return self.advance() if self.token.kind in kinds else None

    def expect(self, kind: str, *, saying: tuple[str, ...] | None = None) -> Token:
        """Step over a token of a kind, or refuse the query.

        * ``saying``: What the message says would have been right, instead of `kind`.

        Raises `QueryError` if it is of another kind.
        """
        if self.token.kind != kind:
            raise self.unexpected(*((kind,) if saying is None else saying))
        return self.advance()

    def name(self) -> str:
        """Step over a name."""
        token = self.accept(*SOFT_WORDS) or self.expect("ID")
        return str(token.value)

    def unexpected(self, *expected: str) -> QueryError:
        """Make the error for a token that may not stand where it does.

        * ``*expected``: Kinds of the tokens that would have been right, when they are few; or
          ``VALUE`` and ``TABLE``, which many tokens begin.
        """
        hint, wrong = hints.token(self.last, self.token, KEYWORDS, self.lexer.text)
        if self.token.kind == "STRING" and expected == ("ID",):
            hint = "a word without quotes is wanted"
        wanted = f"{_listed(expected)} is expected" if expected else ""
        if self.token.kind == "$end":
            message = f"the {self.WHAT} ends too early" + (f": {wanted}" if wanted else "")
        else:
            shown = self.lexer.shown(self.token)
            message = f"{wanted}, not {shown}" if wanted else f"{shown} cannot stand here"
        return self.fault(f"syntax error: {message}", wrong, hint=hint, said=self.token.stop)

    def fault(
        self,
        message: str,
        at: Token | int | None = None,
        *,
        hint: str | None = None,
        said: int | None = None,
    ) -> QueryError:
        """Make the error for a token or place, by default right after the token before this one.

        The message says where a word ends, as that of the original does, and marks stand under it.
        """
        if isinstance(at, Token):
            length = max(at.stop - at.start, 1)
            end = self.last.stop if said is None else said
            return self.lexer.fault(message, at.start, length, hint=hint, said=end)
        return self.lexer.fault(message, self.last.stop if at is None else at, hint=hint)

    def enter(self) -> None:
        """Go one level deeper, or refuse the query."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.fault(f"nested more than {MAX_DEPTH} levels deep", self.token.start)

    def leave(self) -> None:
        """Come back from a level."""
        self._depth -= 1


def _listed(kinds: tuple[str, ...]) -> str:
    """Return what tokens of some kinds are, in words."""
    *others, last = [
        _EXPECTED.get(kind) or (kind if kind[0].isalpha() else f"'{kind}'") for kind in kinds
    ]
    return f"{', '.join(others)} or {last}" if others else last


def checked_tree(parser: Cursor, read: Callable[[], Tree]) -> Tree:
    """Parse a text whose tree has a bounded height.

    Raises `QueryError` if the text is not in the language, or nested too deeply.
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
