"""Draws where in time each block of a packfile lies."""

from __future__ import annotations

from itertools import accumulate

from sdb import instants
from sdb.records import record
from sdb.view.axis import ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.inspect.records import BlockDescription, FileDescription
    from sdb.packfile.trailer.sparseindex import Path

Span = tuple[int, int]

_MOST_LINES = 24
_TICK_COLUMNS = 12
_LEAST_PLOT = 10


@record
class Line:
    """One line of the picture: a block, or several that follow each other."""

    # The blocks ``start <= b < stop``
    start: int
    stop: int
    # The bounds of the times of those of them that have any, in µs, both included
    spans: tuple[Span, ...]

    @property
    def label(self) -> str:
        """The number of the block, or of the first and the last one."""
        last = self.stop - 1
        return str(last) if last == self.start else f"{self.start}-{last}"


@record
class Glyphs:
    """The characters to draw with."""

    full: str
    left: str
    right: str
    shades: str
    corner: str
    line: str
    tick: str


UNICODE = Glyphs("█", "▌", "▐", "░▒▓█", "└", "─", "┴")
ASCII = Glyphs("#", "#", "#", ".:+#", "+", "-", "+")


def lines(blocks: Sequence[BlockDescription], path: Path, most: int) -> list[Line]:
    """Group blocks into lines of a picture."""
    each = -(-len(blocks) // most) or 1
    grouped = []
    for start in range(0, len(blocks), each):
        group = blocks[start : start + each]
        spans = tuple(span for block in group if (span := block.times.get(path)))
        grouped.append(Line(start, start + len(group), spans))
    return grouped


def draw(file: FileDescription, *, columns: int, glyphs: Glyphs = UNICODE) -> str:
    """Draw where in time each block lies, once for each trusted time index."""
    blocks = file.blocks()
    indexes = [index for index in file.indexes if index.trusted]
    if not indexes:
        return "no time index\n"
    drawn: list[str] = []
    for index in indexes:
        span = (index.first_us, index.last_us)
        drawn += [""] if drawn else []
        drawn += _title(index.name, span, columns)
        drawn += _draw(lines(blocks, index.path, _MOST_LINES), span, columns, glyphs)
    return "".join(f"{line.rstrip()}\n" for line in drawn)


def _title(name: str, span: Span, columns: int) -> list[str]:
    first, last = (instants.text(us, fraction=False) for us in span)
    whole = f"{name}  {first} to {last}"
    return [whole] if len(whole) <= columns else [name, f"{first} to {last}"]


def _draw(rows: list[Line], span: Span, columns: int, glyphs: Glyphs) -> list[str]:
    gutter = max(len(row.label) for row in rows)
    width = max(_LEAST_PLOT, columns - gutter - 3)
    binned = any(row.stop - row.start > 1 for row in rows)
    drawn = []
    for row in rows:
        if not row.spans:
            picture = "no times"
        elif binned:
            picture = _shaded(row, span, width, glyphs)
        else:
            picture = _solid(row.spans[0], span, width, glyphs)
        drawn.append(f" {row.label:>{gutter}} {picture}")
    return drawn + _axis(gutter, width, span, glyphs)


def _place(us: int, span: Span, cells: int) -> int:
    """Return the cell of a time, of those that share the whole span."""
    return min(cells - 1, max(0, (us - span[0]) * cells // (span[1] - span[0] + 1)))


def _solid(times: Span, span: Span, width: int, glyphs: Glyphs) -> str:
    """Draw one block to half a character."""
    lo, hi = (_place(us, span, 2 * width) for us in times)
    cells = []
    for column in range(hi // 2 + 1):
        left, right = lo <= 2 * column <= hi, lo <= 2 * column + 1 <= hi
        both = glyphs.full if left and right else glyphs.left if left else glyphs.right
        cells.append(both if left or right else " ")
    return "".join(cells)


def _shaded(row: Line, span: Span, width: int, glyphs: Glyphs) -> str:
    """Draw several blocks: the more of them may have a time, the darker."""
    changes = [0] * (width + 1)
    for lo, hi in row.spans:
        changes[_place(lo, span, width)] += 1
        changes[_place(hi, span, width) + 1] -= 1
    top = len(glyphs.shades)
    shares = [-(-count * top // (row.stop - row.start)) for count in accumulate(changes[:-1])]
    return "".join(glyphs.shades[share - 1] if share else " " for share in shares)


def _axis(gutter: int, width: int, span: Span, glyphs: Glyphs) -> list[str]:
    rule = [glyphs.line] * width
    labels = [" "] * width
    free = 0
    for tick in ticks(*span, max(1, width // _TICK_COLUMNS)):
        at = _place(tick.us, span, width)
        rule[at] = glyphs.tick
        start = min(max(0, at - len(tick.label) // 2), width - len(tick.label))
        if start >= free:
            labels[start : start + len(tick.label)] = tick.label
            free = start + len(tick.label) + 1
    indent = " " * (gutter + 1)
    return [f"{indent}{glyphs.corner}{''.join(rule)}", f"{indent} {''.join(labels)}"]
