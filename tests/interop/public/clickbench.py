"""Rows like those of ClickBench's table `hits`: its names and types, values of our own.

All fields that its queries name are there, and others that make rows wide.
Values are skewed as those of visits are: few counters, users and pages have most rows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TEXTS = Path(__file__).with_suffix(".sql")
ROW_BYTES = 1_200  # of JSON, about
# The rows of the public table, for which thresholds and offsets of its queries are made.
_PUBLIC_ROWS = 100_000_000
_USER, _REFERER_HASH, _URL_HASH = 435090932899640449, 3594120000172545465, 2868770270353813622
_WORDS = (
    "auto car price buy cheap flat rent moscow news photo video online game free download music "
    "weather forecast map hotel tour ticket phone case watch film season series recipe cake soup "
    "house garden wood door lamp table chair kids dress shoes bag coat summer winter sale delivery"
).split()
_DOMAINS = [f"{a}-{b}.example" for a in _WORDS[:30] for b in _WORDS[30:38]]
_MODELS = ["iPhone 4", "iPad", "Nokia 6300", "GT-I9100", "Desire", "Xperia Z", "Lumia 520"]
_SIZES = np.array([1024, 1280, 1366, 1368, 1440, 1600, 1638, 1750, 1917, 1996, 2020])


def queries(rows: int) -> list[str]:
    """Return the 43 queries, with thresholds and offsets for a table of this many rows."""

    def scaled(match: re.Match[str]) -> str:
        return f"{match[1]} {int(match[2]) * rows // _PUBLIC_ROWS}"

    texts = TEXTS.read_text().split(";\n")[:-1]
    return [re.sub(r"(HAVING COUNT\(\*\) >|OFFSET) (\d+)", scaled, text) for text in texts]


def table(rows: int, seed: int = 1) -> pa.Table:
    """Return that many rows, in the order of their time."""
    return _Maker(rows, np.random.default_rng(seed)).table()


class _Maker:
    def __init__(self, rows: int, dice: np.random.Generator) -> None:
        self._rows = rows
        self._dice = dice

    def table(self) -> pa.Table:
        """Make all columns."""
        return pa.table(self._visit() | self._pages() | self._search() | self._browser())

    def _visit(self) -> dict[str, pa.Array]:
        dice, rows = self._dice, self._rows
        seconds = np.sort(dice.integers(0, 31 * 86400, rows)) + 1_372_636_800  # July 2013
        users = dice.integers(1 << 50, 1 << 62, max(rows // 6, 50))
        users[3] = _USER
        # Counter 62 has some hundredths of the rows, as there.
        counters = np.append(dice.integers(100, 200_000, max(rows // 300, 20)), [0] * 2)
        counters[5] = 62
        day = (seconds // 86400 * 86400).astype("datetime64[s]")
        return {
            "WatchID": pa.array(dice.integers(1 << 60, (1 << 63) - 1, rows)),
            "JavaEnable": self._small(2),
            "EventTime": pa.array(seconds.astype("datetime64[s]").astype("datetime64[us]")),
            "EventDate": pa.array(day.astype("datetime64[us]")),
            "CounterID": pa.array(counters[self._skewed(len(counters) - 2, 2)]),
            "ClientIP": pa.array(
                dice.integers(-(1 << 31), 1 << 31, max(rows // 5, 40))[
                    self._skewed(max(rows // 5, 40), 1.5)
                ]
            ),
            "RegionID": pa.array(dice.integers(1, 6_000, 400)[self._skewed(400, 3)]),
            "UserID": pa.array(users[self._skewed(len(users), 2)]),
            "CounterClass": self._small(2),
        }

    def _pages(self) -> dict[str, pa.Array]:
        rows = self._rows
        count = max(rows // 3, 60)
        urls = self._urls(count, "google")
        referers = ["", *self._urls(count, "yandex")]
        url = self._skewed(count, 1.5)
        referer = np.where(self._share(0.19), 0, self._skewed(count + 1, 2.5))
        titles = ["", *(self._sentence(9) for _ in range(max(rows // 12, 30)))]
        for number in range(1, len(titles), 211):
            titles[number] += " - Google search"
        url_hashes, referer_hashes = self._hashes(count), self._hashes(count + 1)
        url_hashes[1], referer_hashes[2] = _URL_HASH, _REFERER_HASH
        return {
            "URL": _picked(urls, url),
            "Referer": _picked(referers, referer),
            "Title": _picked(titles, self._skewed(len(titles), 2)),
            "URLHash": pa.array(url_hashes[url]),
            "RefererHash": pa.array(referer_hashes[referer]),
            "IsRefresh": self._flag(0.1),
            "IsLink": self._flag(0.05),
            "IsDownload": self._flag(0.002),
            "IsNotBounce": self._flag(0.3),
            "DontCountHits": self._flag(0.04),
            "OriginalURL": _picked(urls, np.where(self._share(0.9), 0, url)),
            "HTTPError": self._small(3),
        }

    def _search(self) -> dict[str, pa.Array]:
        phrases = ["", *(self._sentence(3) for _ in range(max(self._rows // 15, 40)))]
        phrase = np.where(self._share(0.87), 0, self._skewed(len(phrases), 2))
        engine = np.where(phrase == 0, 0, self._dice.choice([2, 3, 4, 13, 22], self._rows))
        adv = np.where(self._share(0.994), 0, self._dice.integers(1, 60, self._rows))
        return {
            "TraficSourceID": pa.array(self._dice.choice([-1, 0, 1, 2, 3, 6, 7], self._rows)),
            "SearchEngineID": pa.array(engine),
            "SearchPhrase": _picked(phrases, phrase),
            "AdvEngineID": pa.array(adv),
            "Params": _picked(["", "price=10", "utm=a"], self._skewed(3, 6)),
            "ParamPrice": pa.array(np.where(self._share(0.99), 0, 100)),
            "UTMSource": _picked(["", "mail", "banner"], self._skewed(3, 9)),
            "FromTag": _picked(["", "top", "menu"], self._skewed(3, 9)),
        }

    def _browser(self) -> dict[str, pa.Array]:
        models = ["", *_MODELS]
        model = np.where(self._share(0.93), 0, self._skewed(len(models), 2))
        names = ("OS", "UserAgent", "UserAgentMajor", "NetMajor", "FlashMajor", "Age", "Sex")
        more = ("Income", "Interests", "Robotness", "SilverlightVersion1", "WindowName", "HID")
        return {
            "MobilePhone": pa.array(np.where(model == 0, 0, model * 3 % 7)),
            "MobilePhoneModel": _picked(models, model),
            "ResolutionWidth": pa.array(_SIZES[self._skewed(len(_SIZES), 1)]),
            "ResolutionHeight": pa.array(_SIZES[self._skewed(len(_SIZES), 1)] * 5 // 8),
            "WindowClientWidth": pa.array(self._dice.integers(300, 2000, self._rows)),
            "WindowClientHeight": pa.array(self._dice.integers(200, 1200, self._rows)),
            "ClientTimeZone": self._small(24),
            "BrowserLanguage": _picked(["ru", "en", "de", "uk"], self._skewed(4, 3)),
            "BrowserCountry": _picked(["RU", "UA", "DE", "US"], self._skewed(4, 3)),
            "HitColor": _picked(["5", "F", "T"], self._skewed(3, 3)),
            **{name: self._small(20) for name in names},
            **{name: pa.array(self._dice.integers(0, 1 << 20, self._rows)) for name in more},
        }

    def _skewed(self, count: int, power: float) -> NDArray[np.int64]:
        """Return numbers below `count`, small ones more often."""
        return (self._dice.random(self._rows) ** (1 + power) * count).astype(np.int64)

    def _share(self, part: float) -> NDArray[np.bool_]:
        return self._dice.random(self._rows) < part

    def _flag(self, part: float) -> pa.Array:
        return pa.array(self._share(part).astype(np.int64))

    def _small(self, count: int) -> pa.Array:
        return pa.array(self._skewed(count, 1))

    def _hashes(self, count: int) -> NDArray[np.int64]:
        return self._dice.integers(-(1 << 62), 1 << 62, count)

    def _sentence(self, words: int) -> str:
        picks = self._dice.random(words) ** 2 * len(_WORDS)
        return " ".join(_WORDS[int(pick)] for pick in picks)

    def _urls(self, count: int, engine: str) -> list[str]:
        picks = self._dice.random((count, 4)).tolist()
        urls = []
        for number, (a, b, c, d) in enumerate(picks):
            host = _DOMAINS[int(a * a * len(_DOMAINS))]
            if number % 97 == 5:  # not the most frequent ones alone, and with a path below www
                host = f"www.{engine}.{host}" if number % 2 else f"{engine}-{host}"
            first, second = _WORDS[int(b * len(_WORDS))], _WORDS[int(c * c * len(_WORDS))]
            urls.append(f"http://{host}/{first}/{second}/{number:x}?page={int(d * 50)}&lang=ru#top")
        return urls


def _picked(texts: Sequence[str], picks: NDArray[np.int64]) -> pa.Array:
    """Return the texts of these numbers, one for each."""
    return pa.array(texts).take(pa.array(picks))
