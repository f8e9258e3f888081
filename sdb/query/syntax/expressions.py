"""The parser of expressions: precedence climbing over the levels of `precedence`."""

from __future__ import annotations

from sdb import instants
from sdb.query.syntax import ast, calls, intervals, literals, precedence
from sdb.query.syntax.cursor import Cursor
from sdb.query.syntax.lexer import AGGREGATES
from sdb.query.syntax.literals import INT64_MAX, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.lexer import Token

_SIGNS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "CONCAT": "||"}
_MATCHES = {"LIKE": "LIKE", "ILIKE": "ILIKE", "SIMILAR": "SIMILAR TO", "~": "~", "~*": "~*"}
_NEGATABLE = frozenset({*_MATCHES, "IN"})
_CONSTANTS = frozenset({"NUMBER", "STRING", "TIMESTAMP"})
_TIME_WORDS = frozenset({"TIMESTAMP", "DATE"})
_DAY_US = 86_400_000_000
_WORDS = {"NULL": None, "TRUE": True, "FALSE": False}
# Words that mean something only where the grammar asks for them, and are names elsewhere.
_SOFT_WORDS = words(
    "AT BOTH ESCAPE FILTER FIRST LAST LEADING NULLS OVER PARTITION SIMILAR TO TRAILING"
)


class ExpressionParser(Cursor):
    """Expressions; the parser of whole queries adds `select` and `sort_keys`."""

    def select(self) -> ast.Select:
        """Parse a SELECT without the parentheses around it."""
        raise NotImplementedError

    def sort_keys(self, items: tuple[ast.Item, ...] | None = None) -> tuple[ast.Sort, ...]:
        """Parse ORDER BY, if it comes."""
        raise NotImplementedError

    def expressions(self) -> tuple[ast.Expr, ...]:
        """Parse one expression or more, with commas between them."""
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        return tuple(found)

    def expression(self, lowest: int = precedence.OR) -> ast.Expr:
        """Parse an expression.

        Parameters
        ----------
        lowest : int
            The loosest level of operators that may stand in it.

        Returns
        -------
        ast.Expr
            The tree.
        """
        self.enter()
        left = self._prefix()
        while True:
            sign = self.token.kind
            op = _SIGNS.get(sign, sign)
            if precedence.LEVELS.get(op, 0) >= lowest:
                left = self._infix(left, op)
            elif lowest <= precedence.MATCH and (self._matches(sign) or sign in {"IN", "IS"}):
                left = self._test(left)
            elif lowest <= precedence.BETWEEN and self._between():
                left = self._range(left)
            else:
                break
        self.leave()
        return left

    def _infix(self, left: ast.Expr, op: str) -> ast.Expr:
        level = precedence.LEVELS[op]
        if op not in precedence.ASSOCIATIVE:
            self.advance()
            right = self.expression(level + 1)
            if op in {"+", "-"} and (moved := intervals.shifted(op, left, right)):
                return moved
            return ast.Binary(op, left, right, span=(left.span[0], right.span[1]))
        operands = precedence.operands(left, op)
        while _SIGNS.get(self.token.kind, self.token.kind) == op:
            self.advance()
            operands += precedence.operands(self.expression(level + 1), op)
        return precedence.balanced(op, operands)

    def _matches(self, sign: str) -> bool:
        return sign in _MATCHES or (sign == "NOT" and self.ahead() in _NEGATABLE)

    def _between(self) -> bool:
        """Tell whether BETWEEN comes, or a NOT that only BETWEEN could follow."""
        return self.at("BETWEEN", "NOT")

    def _prefix(self) -> ast.Expr:
        start = self.token.start
        sign = self.token.kind
        if sign == "+":
            self.advance()
            return self.expression(precedence.NEGATION)
        if sign not in precedence.PREFIX_LEVELS:
            return self._primary()
        self.advance()
        level = precedence.PREFIX_LEVELS[sign]
        operand = self.expression(level if sign == "-" else level + 1)
        return ast.Unary(sign, operand, span=(start, self.last.stop))

    def _test(self, left: ast.Expr) -> ast.Expr:
        """Parse what follows the operand of a pattern, IN or IS."""
        negated = bool(self.accept("NOT"))
        match self.advance().kind:
            case "IN":
                found = ast.In(left, self._members(), span=self.since(left))
                return ast.Unary("NOT", found, span=found.span) if negated else found
            case "IS":
                negated = bool(self.accept("NOT"))
                if not self.at("NULL", "MISSING", "TRUE", "FALSE"):
                    raise self.unexpected()
                what = self.advance().kind
                return ast.Is(left, what, negated, span=self.since(left))
            case word:
                return self._pattern(left, _MATCHES[word], negated=negated)

    def _pattern(self, left: ast.Expr, op: str, *, negated: bool) -> ast.Match:
        if op == "SIMILAR TO":
            self.expect("TO")
        pattern = str(self.expect("STRING").value)
        escape = None
        if op.endswith("LIKE") and self.accept("ESCAPE"):
            escape = str(self.expect("STRING").value)
        return ast.Match(op, left, pattern, escape, negated, span=self.since(left))

    def _members(self) -> tuple[ast.Expr, ...] | ast.Subquery:
        start = self.expect("(").start
        if self.at("SELECT"):
            select = self.select()
            self.expect(")")
            return ast.Subquery(select, span=(start, self.last.stop))
        found = self.expressions()
        self.expect(")", saying=(",", ")"))
        return found

    def _range(self, left: ast.Expr) -> ast.Expr:
        negated = bool(self.accept("NOT"))
        self.expect("BETWEEN", saying=())
        low = self.expression(precedence.BIT_OR)
        self.expect("AND")
        high = self.expression(precedence.BIT_OR)
        found = ast.Between(left, low, high, span=self.since(left))
        return ast.Unary("NOT", found, span=found.span) if negated else found

    def since(self, node: ast.Node) -> ast.Span:
        """Give the span from the start of a node to the last token."""
        return node.span[0], self.last.stop

    def _primary(self) -> ast.Expr:
        start = self.token.start
        found = self._value()
        while self.accept("::"):
            found = calls.cast(self, found, self.name(), start)
        return found

    def _value(self) -> ast.Expr:
        """Parse a value without what `::` makes of it."""
        token = self.token
        kind = token.kind
        if kind == "(":
            return self._parenthesised()
        if kind in calls.SPECIAL:
            self.advance()
            return calls.special(self, token)
        if kind in AGGREGATES:
            self.advance()
            return calls.aggregate(self, token)
        if kind == "UNPIVOT":
            raise self.fault("UNPIVOT makes a table, not a value", token)
        return self._steps(self._datum())

    def _parenthesised(self) -> ast.Expr:
        start = self.advance().start
        if self.at("SELECT"):
            select = self.select()
            self.expect(")")
            return ast.Subquery(select, span=(start, self.last.stop))
        inner = self.expression()
        self.expect(")")
        return inner

    def _datum(self) -> ast.Expr:
        token = self.token
        span = (token.start, token.stop)
        match token.kind:
            case "[":
                return self._list()
            case "{":
                return self._struct()
            case kind if kind == "ID" or kind in _SOFT_WORDS:
                return self._named()
            case kind if kind in _CONSTANTS:
                found: ast.Expr = ast.Literal(token.value, span=span)
            case kind if kind in _WORDS:
                found = ast.Literal(_WORDS[kind], span=span)
            case "MISSING":
                found = ast.Missing(span=span)
            case "PARAM":
                found = ast.Param(str(token.value), span=span)
            case _:
                raise self.unexpected()
        self.advance()
        return found

    def _named(self) -> ast.Expr:
        token = self.advance()
        if self.at("STRING") and not token.quoted and str(token.value).upper() in _TIME_WORDS:
            return self._time(token.start, str(token.value).upper())
        if self._is_interval(token):
            return self._interval(token.start)
        if self.at("(") and token.kind == "ID" and not token.quoted:
            return calls.plain(self, token)
        return ast.Name(str(token.value), span=(token.start, token.stop))

    def _is_interval(self, token: Token) -> bool:
        """Tell whether a word is INTERVAL, and not a name: a quantity comes next."""
        word = str(token.value).upper()
        return self.at("STRING", "NUMBER") and not token.quoted and word == "INTERVAL"

    def _interval(self, start: int) -> ast.Interval:
        """Parse the quantities behind INTERVAL, with their units or the unit behind them."""
        token = self.advance()
        text = str(token.value)
        if self.at("ID") and text.strip("+- ").isdecimal():
            text += f" {self.advance().value}"
        found = intervals.read(text, (start, self.last.stop))
        if found is None:
            hint = "as in INTERVAL '1 day 12 hours', or INTERVAL 7 DAY"
            raise self.fault(f"'{text}' is no interval", token.start, hint=hint)
        return found

    def _time(self, start: int, word: str) -> ast.Expr:
        """Parse the text behind TIMESTAMP or DATE: a constant, or a time that counts from now."""
        token = self.advance()
        text = str(token.value)
        moment = literals.moment(text)
        if word == "TIMESTAMP" and moment is None and instants.relative(text) is not None:
            value = ast.Literal(text, span=(token.start, token.stop))
            return ast.Cast(value, "TIMESTAMP", span=(start, token.stop))
        if moment is None:
            hint = "times look like 2021-01-02 or 2021-01-02T03:04:05Z"
            raise self.fault(f"'{text}' is not a time", token, hint=hint)
        if word == "DATE":
            moment = ast.Instant(moment.us - moment.us % _DAY_US)
        return ast.Literal(moment, span=(start, token.stop))

    def _list(self) -> ast.MakeList:
        start = self.advance().start
        items = () if self.at("]") else self.expressions()
        self.expect("]", saying=(",", "]"))
        return ast.MakeList(items, span=(start, self.last.stop))

    def _struct(self) -> ast.MakeStruct:
        start = self.advance().start
        members: list[tuple[str, ast.Expr]] = []
        if self.at("STRING"):
            members.append(self._member())
            while self.accept(","):
                members.append(self._member())
        self.expect("}", saying=(",", "}"))
        return ast.MakeStruct(tuple(members), span=(start, self.last.stop))

    def _member(self) -> tuple[str, ast.Expr]:
        key = str(self.expect("STRING").value)
        self.expect(":")
        return key, self.expression()

    def _steps(self, base: ast.Expr) -> ast.Expr:
        """Parse the fields and indexes behind a value that may have them."""
        if isinstance(base, ast.Call):
            return base
        while self.at(".", "["):
            if self.accept("."):
                base = ast.Dot(base, self.name(), span=self.since(base))
                continue
            self.advance()
            base = self._index(base)
        return base

    def _index(self, base: ast.Expr) -> ast.Expr:
        if not self.at("NUMBER", "STRING"):
            raise self.unexpected("NUMBER", "STRING")
        step = self.advance().value
        if isinstance(step, float) or (isinstance(step, int) and step > INT64_MAX):
            raise self.fault(f"cannot use {step!r} as an index", self.last)
        self.expect("]")
        span = self.since(base)
        return ast.Index(base, step, span=span) if isinstance(step, int) else _dot(base, step, span)


def _dot(base: ast.Expr, name: ast.Constant, span: ast.Span) -> ast.Dot:
    return ast.Dot(base, str(name), span=span)
