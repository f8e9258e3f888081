"""JSON: texts that hold values, and values as texts."""

from __future__ import annotations

from json import dumps

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import ANY, LIST, MISSING, NULL, STRING, STRUCT
from sdb.query.duckdb_sql.values import casts, quoting
from sdb.query.duckdb_sql.values.case_values import Chosen, Narrowed
from sdb.query.duckdb_sql.values.lanes import Keyed, Nothing, Typed, Value, bounded
from sdb.query.syntax import jsonpaths
from sdb.query.syntax.ast import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


class Parsed(Keyed):
    """A value of a JSON text, or one inside of it; members keep their order.

    * ``source``: SQL of the text.
    * ``steps``: The way from the value of the text to this one.
    """

    def __init__(self, source: str, steps: tuple[str | int, ...] = ()) -> None:
        self.source = source
        self.steps = steps
        path = dumps(steps)
        key, text = (
            bounded(f"sdb_json_key({source}, {quoting.string(order + path)})") for order in "kv"
        )
        super().__init__(key, ANY, text)

    def step(self, step: str | int) -> Value:
        """Return the value of a member or element."""
        return Parsed(self.source, (*self.steps, step))


def parsed(value: Value) -> Value:
    """Return the value that a JSON text holds, MISSING where it is no JSON."""
    return Parsed(value.lane("s")) if value.mask & STRING else Nothing()


def _parse(call: Arguments) -> Value:
    return parsed(call.values[0])


def _to_json(call: Arguments) -> Value:
    (value,) = call.values
    absent = MISSING if value.mask & MISSING else 0
    return Nothing() if value.mask == MISSING else Typed(STRING, value.lane("j"), absent=absent)


def _at(call: Arguments) -> Value:
    """Return the value at a path, of a structure or list or of a text that holds one."""
    path = call.node.args[1]
    text = path.value if isinstance(path, Literal) else None
    steps = jsonpaths.steps(text) if isinstance(text, str) else None
    if steps is None:
        fault = rejected("a path into JSON is expected", path)
        fault.hint = "as in '$.a.b[0]', a constant"
        raise fault
    base = call.values[0]
    value, inside = base, parsed(base)
    for step in steps:
        value, inside = value.step(step), inside.step(step)
    if not base.mask & STRING:
        return value
    return Chosen([(f"{base.lane('s')} IS NOT NULL", inside)], value)


def _text_at(call: Arguments) -> Value:
    return casts.cast(_at(call), "STRING", reads_texts=True)


def _scalar_at(call: Arguments) -> Value:
    value = _at(call)
    scalars = value.mask & ~(LIST | STRUCT | NULL)
    if value.mask & (LIST | STRUCT):
        fits = f"{value.lane('t')} NOT IN ({LIST}, {STRUCT})"
        value = Chosen([(fits, Narrowed(value, scalars | MISSING))], Nothing())
    return casts.cast(value, "STRING", reads_texts=True)


FUNCTIONS: dict[str, Function] = {
    "PARSE_JSON": _parse,
    "TO_JSON": _to_json,
    "JSON_EXTRACT": _at,
    "JSON_EXTRACT_STRING": _text_at,
    "JSON_VALUE": _scalar_at,
}
