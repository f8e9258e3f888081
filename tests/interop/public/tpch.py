"""Rows of the eight tables of TPC-H, of any scale: its names, types and shares, values of our own.

Keys, dates and amounts are spread as its specification says, so that no query is without rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

TEXTS = Path(__file__).with_suffix(".sql")
_REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
_NATIONS = {
    "ALGERIA": 0, "ARGENTINA": 1, "BRAZIL": 1, "CANADA": 1, "EGYPT": 4, "ETHIOPIA": 0, "FRANCE": 3,
    "GERMANY": 3, "INDIA": 2, "INDONESIA": 2, "IRAN": 4, "IRAQ": 4, "JAPAN": 2, "JORDAN": 4,
    "KENYA": 0, "MOROCCO": 0, "MOZAMBIQUE": 0, "PERU": 1, "CHINA": 2, "ROMANIA": 3,
    "SAUDI ARABIA": 4, "VIETNAM": 2, "RUSSIA": 3, "UNITED KINGDOM": 3, "UNITED STATES": 1,
}  # fmt: skip
_COLOURS = (
    "almond azure beige black blue brown coral cream cyan forest frosted green grey ivory khaki "
    "lace lemon lime linen magenta maroon navy olive orange pale pink plum puff red rose salmon"
).split()
_TYPES = [
    f"{a} {b} {c}"
    for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
_CONTAINERS = [
    f"{a} {b}"
    for a in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for b in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
_SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
_PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
_INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
_MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "AIR REG"]
_WORDS = (
    "carefully quickly final pending regular deposits accounts packages special requests Customer "
    "Complaints ideas theodolites foxes among above the sleep wake haggle nag against furiously"
).split()
_FIRST, _LAST, _NOW = (
    np.datetime64(text).astype(int) for text in ("1992-01-01", "1998-08-02", "1995-06-17")
)


def queries() -> list[str]:
    """Return the 22 queries, with the parameters by which the public benchmark validates."""
    return TEXTS.read_text().split(";\n")[:-1]


def tables(scale: float, seed: int = 1) -> dict[str, pa.Table]:
    """Return the tables by their names."""
    return _Maker(scale, np.random.default_rng(seed)).tables()


class _Maker:
    def __init__(self, scale: float, dice: np.random.Generator) -> None:
        self._dice = dice
        self._suppliers = max(int(10_000 * scale), 25)
        self._customers = max(int(150_000 * scale), 60)
        self._parts = max(int(200_000 * scale), 100)
        self._orders = max(int(1_500_000 * scale), 600)

    def tables(self) -> dict[str, pa.Table]:
        """Make all tables; lines first, of which orders have their totals."""
        dates = self._dice.integers(_FIRST, _LAST - 151, self._orders)
        counts = self._dice.integers(1, 8, self._orders)
        counts[::997] = 7
        lines, totals, open_lines = self._lines(dates, counts)
        columns = {
            "region": {"r_regionkey": np.arange(5), "r_name": pa.array(_REGIONS)},
            "nation": {
                "n_nationkey": np.arange(25),
                "n_name": pa.array(_NATIONS),
                "n_regionkey": np.array(list(_NATIONS.values())),
            },
            "supplier": self._partners("s", self._suppliers, "suppkey", "Supplier"),
            "customer": self._partners("c", self._customers, "custkey", "Customer")
            | {"c_mktsegment": self._one_of(_SEGMENTS, self._customers)},
            "part": self._part(),
            "partsupp": self._partsupp(),
            "orders": self._order(dates, counts, totals, open_lines),
            "lineitem": lines,
        }
        return {name: pa.table(table) for name, table in columns.items()}

    def _partners(self, letter: str, count: int, key: str, title: str) -> dict[str, object]:
        keys = np.arange(1, count + 1)
        nations = self._dice.integers(0, 25, count)
        digits = self._dice.integers(1000, 9999, count)
        phones = [f"{n + 10}-{d % 900 + 100}-{d}" for n, d in zip(nations, digits, strict=True)]
        return {
            f"{letter}_{key}": keys,
            f"{letter}_name": pa.array([f"{title}#{number:09}" for number in keys]),
            f"{letter}_address": self._comments(count, 2),
            f"{letter}_nationkey": nations,
            f"{letter}_phone": pa.array(phones),
            f"{letter}_acctbal": _money(self._dice.integers(-99_999, 999_999, count)),
            f"{letter}_comment": self._comments(count, 7),
        }

    def _part(self) -> dict[str, object]:
        dice, count = self._dice, self._parts
        keys = np.arange(1, count + 1)
        brands = [f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)]
        return {
            "p_partkey": keys,
            "p_name": self._phrases(_COLOURS, count, 5),
            "p_mfgr": self._one_of([f"Manufacturer#{number}" for number in range(1, 6)], count),
            "p_brand": self._one_of(brands, count),
            "p_type": self._one_of(_TYPES, count),
            "p_size": dice.integers(1, 51, count),
            "p_container": self._one_of(_CONTAINERS, count),
            "p_retailprice": _money(_price(keys)),
            "p_comment": self._comments(count, 3),
        }

    def _partsupp(self) -> dict[str, object]:
        parts = np.repeat(np.arange(1, self._parts + 1), 4)
        count = len(parts)
        return {
            "ps_partkey": parts,
            "ps_suppkey": self._supplier_of(parts, np.tile(np.arange(4), self._parts)),
            "ps_availqty": self._dice.integers(1, 10_000, count),
            "ps_supplycost": _money(self._dice.integers(100, 100_001, count)),
            "ps_comment": self._comments(count, 9),
        }

    def _supplier_of(self, parts: Numbers, which: Numbers) -> Numbers:
        return (parts + which * (self._suppliers // 4 + 1)) % self._suppliers + 1

    def _lines(self, dates: Numbers, counts: Numbers) -> tuple[dict[str, object], Numbers, Numbers]:
        """Return the lines, and of each order the cents that it costs and its open lines."""
        dice = self._dice
        orders = np.repeat(np.arange(self._orders), counts)
        count = len(orders)
        parts = dice.integers(1, self._parts + 1, count)
        quantities = dice.integers(1, 51, count)
        quantities[orders % 997 == 0] = 47  # large orders, which are rare otherwise
        prices = quantities * _price(parts)
        discounts, taxes = dice.integers(0, 11, count), dice.integers(0, 9, count)
        shipped = dates[orders] + dice.integers(1, 122, count)
        received = shipped + dice.integers(1, 31, count)
        is_open = shipped > _NOW
        flags = np.where(received > _NOW, 0, dice.integers(1, 3, count))
        numbers = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        totals = np.bincount(orders, prices * (100 - discounts) * (100 + taxes) // 10_000)
        lines = {
            "l_orderkey": _order_keys(orders),
            "l_partkey": parts,
            "l_suppkey": self._supplier_of(parts, dice.integers(0, 4, count)),
            "l_linenumber": numbers,
            "l_quantity": quantities,
            "l_extendedprice": _money(prices),
            "l_discount": _money(discounts),
            "l_tax": _money(taxes),
            "l_returnflag": pa.array(["N", "R", "A"]).take(pa.array(flags)),
            "l_linestatus": pa.array(["F", "O"]).take(pa.array(is_open.astype(int))),
            "l_shipdate": _days(shipped),
            "l_commitdate": _days(dates[orders] + dice.integers(30, 91, count)),
            "l_receiptdate": _days(received),
            "l_shipinstruct": self._one_of(_INSTRUCTIONS, count),
            "l_shipmode": self._one_of(_MODES, count),
            "l_comment": self._comments(count, 4),
        }
        return lines, totals.astype(np.int64), np.bincount(orders, is_open).astype(np.int64)

    def _order(
        self, dates: Numbers, counts: Numbers, totals: Numbers, open_lines: Numbers
    ) -> dict[str, object]:
        count = self._orders
        # A third of the customers has no orders.
        customers = self._dice.integers(0, self._customers // 3, count) * 3
        states = np.where(open_lines == 0, 0, np.where(open_lines == counts, 1, 2))
        clerks = self._dice.integers(1, 1000, count)
        return {
            "o_orderkey": _order_keys(np.arange(count)),
            "o_custkey": customers + self._dice.integers(1, 3, count),
            "o_orderstatus": pa.array(["F", "O", "P"]).take(pa.array(states)),
            "o_totalprice": _money(totals),
            "o_orderdate": _days(dates),
            "o_orderpriority": self._one_of(_PRIORITIES, count),
            "o_clerk": pa.array([f"Clerk#{number:09}" for number in clerks]),
            "o_shippriority": np.zeros(count, np.int64),
            "o_comment": self._comments(count, 6),
        }

    def _one_of(self, texts: list[str], count: int) -> pa.Array:
        return pa.array(texts).take(pa.array(self._dice.integers(0, len(texts), count)))

    def _comments(self, count: int, words: int) -> pa.Array:
        return self._phrases(_WORDS, count, words)

    def _phrases(self, words: list[str], count: int, length: int) -> pa.Array:
        columns = [self._one_of(words, count) for _ in range(length)]
        return pc.binary_join_element_wise(*columns, " ")


def _order_keys(numbers: Numbers) -> Numbers:
    """Return sparse keys: eight of each 32 are used."""
    return numbers // 8 * 32 + numbers % 8 + 1


def _price(parts: Numbers) -> Numbers:
    return 90_000 + parts // 10 % 20_001 + 100 * (parts % 1000)


def _money(cents: Numbers) -> pa.Array:
    return pc.divide(pa.array(cents), 100.0)


def _days(days: Numbers) -> pa.Array:
    return pa.array(days.astype("datetime64[D]").astype("datetime64[us]"))
