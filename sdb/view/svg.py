"""The timeline of a packfile as a picture for the page."""

from __future__ import annotations

from html import escape

from sdb import instants
from sdb.view.axis import ticks
from sdb.view.timeline import Line, Span, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.inspect.records import BlockDescription, IndexDescription

_MOST_LINES = 40
_MOST_BARS = 32
_WIDTH = 960
_LINE_HEIGHT = 16
_BAR_HEIGHT = 11
_LEAST_BAR = 2.0
_CHARACTER = 7
_TICK_WIDTH = 90
_LABEL_DISTANCE = 20


def timeline(index: IndexDescription, blocks: Sequence[BlockDescription]) -> str:
    """Draw where in time each block lies.

    * ``blocks``: All blocks of the file; many are drawn several to a line.
    """
    rows = lines(blocks, index.path, _MOST_LINES)
    span = (index.first_us, index.last_us)
    first, last = (instants.text(us, fraction=False) for us in span)
    left = max(len(row.label) for row in rows) * _CHARACTER + 12
    height = len(rows) * _LINE_HEIGHT
    name = escape("".join(c if c.isprintable() else "\ufffd" for c in index.name))
    drawn = _grid(span, left, height) + "".join(
        _line(row, span, left, at * _LINE_HEIGHT) for at, row in enumerate(rows)
    )
    return (
        f"<figure>\n<figcaption><b>{name}</b> <span>{first} to {last}</span></figcaption>\n"
        f'<div class="wide" tabindex="0" role="region" aria-label="Timeline of {name}">\n'
        f'<svg viewBox="0 0 {_WIDTH} {height + _LABEL_DISTANCE}" role="img" '
        f'aria-label="Times of {len(blocks)} blocks by {name}, from {first} to {last}">\n'
        f"{drawn}</svg>\n</div>\n</figure>\n"
    )


def _place(us: int, span: Span, left: int) -> float:
    return left + (us - span[0]) / ((span[1] - span[0]) or 1) * (_WIDTH - left - _LEAST_BAR)


def _grid(span: Span, left: int, height: int) -> str:
    drawn = []
    for tick in ticks(*span, (_WIDTH - left) // _TICK_WIDTH):
        x = _place(tick.us, span, left)
        half = len(tick.label) * _CHARACTER / 2
        middle = min(max(x, left + half), _WIDTH - half)
        drawn.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
            f'<text x="{middle:.1f}" y="{height + 14}" text-anchor="middle">{tick.label}</text>\n'
        )
    return "".join(drawn)


def _line(row: Line, span: Span, left: int, top: int) -> str:
    bars = _merged(row.spans)
    share = max(0.15, min(1.0, len(row.spans) / (row.stop - row.start)))
    position = f'x="{left - 8}" y="{top + 11}"'
    label = f'<text {position} text-anchor="end" aria-hidden="true">{row.label}</text>'
    drawn = []
    for lo, hi in bars:
        x = _place(lo, span, left)
        width = max(_LEAST_BAR, _place(hi, span, left) - x)
        drawn.append(
            f'<rect class="bar" x="{x:.1f}" y="{top + 2}" width="{width:.1f}" '
            f'height="{_BAR_HEIGHT}" rx="2" fill-opacity="{share:.2f}"/>'
        )
    what = "block" if row.stop - row.start == 1 else "blocks"
    times = f"{instants.text(bars[0][0])} to {instants.text(bars[-1][1])}" if bars else "no times"
    return f"<g><title>{what} {row.label}: {times}</title>{label}{''.join(drawn)}</g>\n"


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Join spans that overlap, and if there are still too many, the nearest ones."""
    joined: list[Span] = []
    for lo, hi in sorted(spans):
        if joined and lo <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(hi, joined[-1][1]))
        else:
            joined.append((lo, hi))
    if len(joined) <= _MOST_BARS:
        return joined
    return [(joined[0][0], joined[-1][1])]
