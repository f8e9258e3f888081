from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from sdb.packfile.inspect.records import Description
from sdb.view.html import MOST_ROWS, page

HOUR = 3_600_000_000
VOID = {"meta", "line", "rect"}
NASTY = '<script>alert("x")</script>&\x00\x1b'


class Checker(HTMLParser):
    """Checks that elements nest, and collects what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    return checker


def spans(count: int) -> list[tuple[int, int]]:
    return [(at * HOUR, (at + 1) * HOUR) for at in range(count)]


def test_page_stands_alone(make: Any) -> None:
    text = page(Description((make({("ts",): spans(3)}, types={("ts",): 64, ("a",): 256}),)))
    checker = check(text)
    names = {name for name, _ in checker.attributes}
    assert not names & {"src", "href", "onclick", "onload", "srcset"}
    assert "script" not in checker.seen
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert checker.seen.count("svg") == 1
    assert "timestamp" in text
    assert "&lt;eu&gt;" in text


def test_page_is_accessible(make: Any) -> None:
    text = page(Description((make({("ts",): spans(3)}),)))
    checker = check(text)
    assert '<html lang="en">' in text
    assert checker.seen.count("title") == 1 + 3
    assert ("role", "img") in checker.attributes
    assert all(re.search(rf"<{tag}[ >]", text) for tag in ("main", "h1", "h2", "thead"))
    assert text.count('scope="row"') == 3


def test_text_is_escaped(make: Any) -> None:
    file = make({(NASTY,): spans(2)}, name=NASTY, types={(NASTY, "b"): 64})
    text = page(Description((file,)))
    check(text)
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)


def test_large_tables_are_cut(make: Any) -> None:
    text = page(Description((make({("ts",): spans(5000)}),)))
    check(text)
    assert text.count('scope="row"') == MOST_ROWS
    assert "4,500 rows left out" in text
    assert len(text) < 300_000


def test_many_ranges_in_one_line_stay_bounded(make: Any) -> None:
    scattered = [(at * 7919 % 100_003 * HOUR,) * 2 for at in range(20_000)]
    text = page(Description((make({("ts",): scattered}),)))
    assert text.count("<rect") < 2500


def test_several_files(make: Any) -> None:
    text = page(Description((make({}), make({("ts",): spans(1)}), make({("ts",): [(5, 5)]}))))
    check(text)
    assert text.count("<section>") == 4
    assert "<h1>All files</h1>" in text
