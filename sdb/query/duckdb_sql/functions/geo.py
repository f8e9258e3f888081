"""Functions of places on the earth."""

from __future__ import annotations

from sdb.query.analyze.types import MISSING, NUMBER, STRING
from sdb.query.duckdb_sql.functions.strings import position
from sdb.query.duckdb_sql.values.lanes import Typed, Value
from sdb.query.duckdb_sql.values.operators import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function

_RADIUS_M = 6371000


def _distance(call: Arguments) -> Value:
    lat1, lon1, lat2, lon2 = (f"radians({arg.lane('n')})" for arg in call.values)
    half_lat, half_lon = f"sin(({lat2} - {lat1}) / 2)", f"sin(({lon2} - {lon1}) / 2)"
    square = f"{half_lat} * {half_lat} + cos({lat1}) * cos({lat2}) * {half_lon} * {half_lon}"
    half = f"CASE WHEN {square} > 1 THEN 1.0::DOUBLE ELSE {square} END"
    return number(f"({2 * _RADIUS_M} * asin(sqrt({half})))", *call.values)


def _zoom(value: Value) -> str:
    return f"least(greatest({position(value)}, 0), 32)"


def _clamped(part: str, zoom: str) -> str:
    """Return SQL of a tile number, from where the place lies between 0 and 1."""
    tiles = f"pow(2.0::DOUBLE, {zoom})"
    return f"least(greatest(floor({part} * {tiles}), 0), {tiles} - 1)::BIGINT"


def _x(lon: str, zoom: str) -> str:
    return _clamped(f"(({lon} + 180) / 360)", zoom)


def _y(lat: str, zoom: str) -> str:
    sine = f"sin(radians({lat}))"
    return _clamped(f"(0.5 - ln((1 + {sine}) / (1 - {sine})) / (4 * pi()))", zoom)


def _present(sql: str, args: list[Value]) -> str:
    absent = [f"{arg.lane('n')} IS NOT NULL" for arg in args if arg.mask & ~NUMBER]
    return f"CASE WHEN {' AND '.join(absent)} THEN {sql} END" if absent else sql


def _tile(make: Callable[[str, str], str]) -> Function:
    def function(call: Arguments) -> Value:
        sql = _present(make(call.values[0].lane("n"), _zoom(call.values[1])), call.values)
        absent = MISSING if any(arg.mask & ~NUMBER for arg in call.values) else 0
        return Typed(NUMBER, sql, absent=absent, integer=True)

    return function


def _tile_es(call: Arguments) -> Value:
    lat, lon, zoom = call.values[0].lane("n"), call.values[1].lane("n"), _zoom(call.values[2])
    sql = f"concat_ws('/', {zoom}, {_x(lon, zoom)}, {_y(lat, zoom)})"
    return Typed(STRING, _present(sql, call.values))


def _hash(call: Arguments) -> Value:
    lat, lon = call.values[0].lane("n"), call.values[1].lane("n")
    return Typed(STRING, f"sdb_geo_hash({lat}, {lon}, {position(call.values[2])})")


FUNCTIONS: dict[str, Function] = {
    "GEO_DISTANCE": _distance,
    "GEO_HASH": _hash,
    "GEO_TILE_X": _tile(_x),
    "GEO_TILE_Y": _tile(_y),
    "GEO_TILE_ES": _tile_es,
}
