"""The parser of expressions: precedence climbing over the levels of `precedence`."""

from __future__ import annotations

from sdb import instants
from sdb.query.syntax import (
    aggregatecalls,
    aliases,
    ast,
    calls,
    intervals,
    jsonpaths,
    literals,
    operators,
)
from sdb.query.syntax.clauses import (
    lambdas,
    othercalls,
    patterns,
    quantified,
    setqueries,
    timecalls,
)
from sdb.query.syntax.cursor import SOFT_WORDS, Cursor
from sdb.query.syntax.lexer import AGGREGATES
from sdb.query.syntax.literals import INT64_MAX
from sdb.records import replace

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


class ExpressionParser(Cursor):
    """Expressions; the parser of whole queries adds `select` and `sort_keys`.

    * ``has_named_windows``: Whether a window was named, which the end of a SELECT looks up.
    * ``has_unnest``: Whether UNNEST was called, which the end of a SELECT puts into FROM.
    """

    has_named_windows = False
    has_unnest = False

    def subquery(self, left: ast.Select | None = None) -> ast.Select:
        """Parse a query inside of another one."""
        raise NotImplementedError

    def select(self) -> ast.Select:
        """Parse a SELECT without the parentheses around it."""
        raise NotImplementedError

    def count(self) -> int:
        """Parse a number of rows."""
        raise NotImplementedError

    def sort_keys(self, items: tuple[ast.Item, ...] | None = None) -> tuple[ast.Sort, ...]:
        """Parse ORDER BY, if it comes."""
        raise NotImplementedError

    def expressions(self) -> tuple[ast.Expr, ...]:
        """Parse one expression or more, with commas between them."""
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        return tuple(items)

    def expression(self, lowest: int = operators.OR) -> ast.Expr:
        """Parse an expression.

        * ``lowest``: The loosest level of operators that may stand in it.
        """
        self.enter()
        left = self._prefix()
        while True:
            sign = self.token.kind
            op = _SIGNS.get(sign, sign)
            if (operators.LEVELS.get(op) or operators.CALLS.get(op, 0)) >= lowest:
                left = self._infix(left, op)
            elif lowest <= operators.MATCH and (self._matches(sign) or sign in {"IN", "IS"}):
                left = self._test(left)
            elif lowest <= operators.MATCH and self._glob():
                left = patterns.by_word(self, left, negated=False)
            elif lowest <= operators.BETWEEN and self._between():
                left = self._range(left)
            elif lowest <= operators.MATCH and self.at_word("ISNULL", "NOTNULL"):
                negated = str(self.advance().value).upper() == "NOTNULL"
                left = ast.Is(left, "NULL", negated, span=self.since(left))
            else:
                break
        self.leave()
        return left

    def _infix(self, left: ast.Expr, op: str) -> ast.Expr:
        level = operators.LEVELS.get(op) or operators.CALLS[op]
        if op not in operators.ASSOCIATIVE:
            self.advance()
            if op in quantified.COMPARES and (several := quantified.comparison(self, left, op)):
                return several
            right = self.expression(level + 1)
            if op in intervals.OPERATORS and (moved := intervals.combined(op, left, right)):
                return moved
            span = (left.span[0], right.span[1])
            if op in operators.CALLS:
                return aliases.operator(op, left, right, span)
            return ast.Binary(op, left, right, span=span)
        operands = operators.operands(left, op)
        while _SIGNS.get(self.token.kind, self.token.kind) == op:
            self.advance()
            operands += operators.operands(self.expression(level + 1), op)
        return operators.balanced(op, operands)

    def _matches(self, sign: str) -> bool:
        return sign in _MATCHES or (sign == "NOT" and self.ahead() in _NEGATABLE)

    def _glob(self) -> bool:
        """Return whether GLOB, RLIKE or REGEXP and a pattern come; they are names elsewhere."""
        return self.at_word(*patterns.WORDS) and self.ahead() == "STRING"

    def _between(self) -> bool:
        """Return whether BETWEEN comes, or a NOT that only BETWEEN could follow."""
        return self.at("BETWEEN", "NOT")

    def _prefix(self) -> ast.Expr:
        start = self.token.start
        sign = self.token.kind
        if sign == "+":
            self.advance()
            return self.expression(operators.NEGATION)
        if sign not in operators.PREFIX_LEVELS:
            return self._primary()
        self.advance()
        level = operators.PREFIX_LEVELS[sign]
        operand = self.expression(level if sign == "-" else level + 1)
        if sign == "-" and isinstance(operand, ast.Interval):
            return intervals.negative(operand, (start, self.last.stop))
        return ast.Unary(sign, operand, span=(start, self.last.stop))

    def _test(self, left: ast.Expr) -> ast.Expr:
        """Parse what follows the operand of a pattern, IN or IS."""
        negated = bool(self.accept("NOT"))
        match self.advance().kind:
            case "IN":
                if not self.at("(", "PARAM"):
                    # As DuckDB has it: whether a value is in a list.
                    values = self.expression(operators.BIT_OR)
                    test: ast.Expr = ast.Call(
                        "ARRAY_CONTAINS", (values, left), span=self.since(left)
                    )
                else:
                    test = ast.In(left, self._members(), span=self.since(left))
                return ast.Unary("NOT", test, span=test.span) if negated else test
            case "IS":
                negated = bool(self.accept("NOT"))
                if self.accept("DISTINCT"):
                    self.expect("FROM")
                    op = operators.NULL_SAFE[negated]
                    right = self.expression(operators.BIT_OR)
                    return ast.Binary(op, left, right, span=self.since(left))
                if not self.at("NULL", "MISSING", "TRUE", "FALSE"):
                    raise self.unexpected("NULL", "MISSING", "TRUE", "FALSE")
                what = self.advance().kind
                return ast.Is(left, what, negated, span=self.since(left))
            case word:
                return self._patterns(left, _MATCHES[word], negated=negated)

    def _patterns(self, left: ast.Expr, op: str, *, negated: bool) -> ast.Expr:
        """Parse the pattern behind an operator, or ANY or ALL of several."""
        if op == "SIMILAR TO":
            self.expect("TO")
        several = quantified.patterns(self, left, op, negated=negated)
        return several or patterns.pattern(self, left, op, negated=negated)

    def _members(self) -> tuple[ast.Expr, ...] | ast.Subquery:
        if token := self.accept("PARAM"):
            return (ast.Param(str(token.value), span=(token.start, token.stop)),)
        start = self.expect("(").start
        if setqueries.begins(self):
            return self._subquery(start)
        items = self.expressions()
        if len(items) == 1 and isinstance(items[0], ast.Subquery) and setqueries.coming(self):
            return self._subquery(start, items[0].select)
        self.expect(")", saying=(",", ")"))
        return items

    def _subquery(self, start: int, left: ast.Select | None = None) -> ast.Subquery:
        select = self.subquery(left)
        self.expect(")")
        return ast.Subquery(select, span=(start, self.last.stop))

    def _range(self, left: ast.Expr) -> ast.Expr:
        negation = self.accept("NOT")
        if negation and self._glob():
            return patterns.by_word(self, left, negated=True)
        if negation and not self.at("BETWEEN"):
            is_sign = negation.value == "!"
            shown = "!" if is_sign else "NOT"
            hint = "a <> b and a != b compare" if is_sign else None
            message = f"BETWEEN, IN, LIKE, ILIKE, SIMILAR TO or ~ is expected behind {shown}"
            message = f"syntax error: {message}"
            raise self.fault(message, self.token, hint=hint, said=self.token.stop)
        negated = bool(negation)
        self.expect("BETWEEN")
        is_symmetric = self.at_word("SYMMETRIC") and self.ahead() != "AND"
        if is_symmetric:
            self.advance()
        low = self.expression(operators.BIT_OR)
        self.expect("AND")
        high = self.expression(operators.BIT_OR)
        test: ast.Expr = ast.Between(left, low, high, span=self.since(left))
        if is_symmetric:
            turned = ast.Between(left, high, low, span=test.span)
            test = ast.Binary("OR", test, turned, span=test.span)
        return ast.Unary("NOT", test, span=test.span) if negated else test

    def since(self, node: ast.Node) -> ast.Span:
        """Return the span from the start of a node to the last token."""
        return node.span[0], self.last.stop

    def _primary(self) -> ast.Expr:
        start = self.token.start
        value = self._steps(self._value())
        while self.at("::", "->", "->>", "#>", "#>>") or self._at_zone():
            if self.at("AT"):
                value = timecalls.in_zone(self, value, start)
            elif sign := self.accept("#>", "#>>"):
                path = str(self.expect("STRING").value)
                value = jsonpaths.along(sign.kind, value, path, (start, self.last.stop))
            elif sign := self.accept("->", "->>"):
                step = self.advance() if self.at("STRING", "NUMBER") else None
                if step is None or isinstance(step.value, float):
                    hint = "as in x -> 'name' or x -> 0"
                    raise self.fault(f"a name or an index is expected after {sign.kind}", hint=hint)
                value = jsonpaths.step(sign.kind, value, step.value, (start, step.stop))
            else:
                self.advance()
                value = calls.cast(self, value, start, reads_texts=True)
        return value

    def _at_zone(self) -> bool:
        """Return whether AT TIME ZONE comes."""
        return self.at("AT") and self.has_ahead("TIME")

    def _value(self) -> ast.Expr:
        """Parse a value without what `::` makes of it."""
        token = self.token
        kind = token.kind
        if kind == "(":
            return self._parenthesised()
        if kind in calls.SPECIAL:
            self.advance()
            return calls.special(self, token)
        if kind in AGGREGATES or (kind in {"FIRST", "LAST"} and self.ahead() == "("):
            self.advance()
            return aggregatecalls.aggregate(self, token)
        if kind == "UNPIVOT":
            raise self.fault("UNPIVOT makes a table, not a value", token)
        return self._datum()

    def _parenthesised(self) -> ast.Expr:
        start = self.advance().start
        if setqueries.begins(self):
            return self._subquery(start)
        inner = self.expression()
        if isinstance(inner, ast.Subquery) and setqueries.coming(self):
            return self._subquery(start, inner.select)
        if self.at(","):
            return quantified.row(self, inner, start)
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
            case kind if kind == "ID" or kind in SOFT_WORDS:
                return self._named()
            case kind if kind in _CONSTANTS:
                datum: ast.Expr = ast.Literal(token.value, span=span)
            case kind if kind in _WORDS:
                datum = ast.Literal(_WORDS[kind], span=span)
            case "MISSING":
                datum = ast.Missing(span=span)
            case "PARAM":
                datum = ast.Param(str(token.value), span=span)
            case _:
                raise self.unexpected("VALUE")
        self.advance()
        return datum

    def _named(self) -> ast.Expr:
        token = self.advance()
        if self.at("WITH", "ID") and self.has_ahead("TIME") and not token.quoted:
            calls.skip_zone(self, str(token.value).upper())
        if self.at("STRING") and not token.quoted and str(token.value).upper() in _TIME_WORDS:
            return self._time(token.start, str(token.value).upper())
        if self._is_interval(token):
            return intervals.parse(self, token)
        if self.at("(") and token.kind in {"ID", "FILTER"} and not token.quoted:
            return calls.plain(self, token)
        if self.at("[") and token.kind == "ID" and not token.quoted and _is_array(token):
            return self._array(token)
        if not token.quoted and token.kind == "ID" and not self.at(".", "["):
            present = aliases.present(str(token.value).upper(), (token.start, token.stop))
            if present is not None:
                return present
        return ast.Name(str(token.value), span=(token.start, token.stop))

    def _is_interval(self, token: Token) -> bool:
        """Return whether a word is INTERVAL, and not a name: a quantity comes next."""
        word = str(token.value).upper()
        return self.at("STRING", "NUMBER", "(") and not token.quoted and word == "INTERVAL"

    def _time(self, start: int, word: str) -> ast.Expr:
        """Parse the text behind TIMESTAMP or DATE: a constant, or a time that counts from now."""
        token = self.advance()
        text = str(token.value)
        moment = ast.Instant(0) if text == "epoch" else literals.moment(text)
        if word == "TIMESTAMP" and moment is None and instants.relative(text) is not None:
            value = ast.Literal(text, span=(token.start, token.stop))
            return ast.Cast(value, "TIMESTAMP", span=(start, token.stop))
        if moment is None:
            hint = "times look like 2021-01-02 or 2021-01-02T03:04:05Z"
            raise self.fault(f"'{text}' is not a time", token, hint=hint)
        if word == "DATE":
            moment = ast.Instant(moment.us - moment.us % _DAY_US)
        return ast.Literal(moment, span=(start, token.stop))

    def _list(self) -> ast.Expr:
        start = self.advance().start
        items = () if self.at("]") else self.expressions()
        if len(items) == 1 and self.at_word("FOR"):
            made = lambdas.comprehended(self, items[0], start)
            self.expect("]")
            return made
        self.expect("]", saying=(",", "]"))
        return ast.MakeList(items, span=(start, self.last.stop))

    def _array(self, token: Token) -> ast.Expr:
        """Parse ``ARRAY[a, b]``, a list; with one constant it is a step of the field `array`."""
        listed = self._list()
        if not isinstance(listed, ast.MakeList):
            return listed
        listed = replace(listed, span=(token.start, self.last.stop))
        match listed.items:
            case (ast.Literal(int() | str() as step),) if not isinstance(step, bool):
                base = ast.Name(str(token.value), span=(token.start, token.stop))
                if isinstance(step, str):
                    return ast.Dot(base, step, span=listed.span)
                return ast.Index(base, step, span=listed.span)
        return listed

    def _struct(self) -> ast.MakeStruct:
        start = self.advance().start
        members: list[tuple[str, ast.Expr]] = []
        if self.at("STRING", "ID"):
            members.append(self._member())
            while self.accept(","):
                members.append(self._member())
        self.expect("}", saying=(",", "}"))
        return ast.MakeStruct(tuple(members), span=(start, self.last.stop))

    def _member(self) -> tuple[str, ast.Expr]:
        # A name without quotes is one, as elsewhere.
        key = str((self.accept("ID") or self.expect("STRING")).value)
        self.expect(":")
        return key, self.expression()

    def _steps(self, base: ast.Expr) -> ast.Expr:
        """Parse the fields and indexes behind a value that may have them."""
        while self.at(".", "["):
            if self.accept("."):
                base = ast.Dot(base, self.name(), span=self.since(base))
                continue
            self.advance()
            base = self._index(base)
        return base

    def _index(self, base: ast.Expr) -> ast.Expr:
        if not self.at("NUMBER", "STRING"):
            return othercalls.element(self, base)
        step = self.advance().value
        if isinstance(step, float) or (isinstance(step, int) and step > INT64_MAX):
            raise self.fault(f"cannot use {step!r} as an index", self.last)
        self.expect("]")
        span = self.since(base)
        return ast.Index(base, step, span=span) if isinstance(step, int) else _dot(base, step, span)


def _is_array(token: Token) -> bool:
    """Return whether a word is ARRAY."""
    return str(token.value).upper() == "ARRAY"


def _dot(base: ast.Expr, name: ast.Constant, span: ast.Span) -> ast.Dot:
    return ast.Dot(base, str(name), span=span)
