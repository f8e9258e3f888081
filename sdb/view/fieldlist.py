"""Fields of packfiles as a table, nested by indentation."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.read.fields import FieldDescription, Inventory
    from sdb.packfile.trailer.fieldcounts import FieldPath

_GAP = "  "
_INDENT = "  "
_LEAST = 12


def draw(
    inventory: Inventory, *, columns: int, is_nested: bool = True, can_draw: bool = True
) -> str:
    """List fields, one a line, under a line that counts them.

    * ``columns``: Width to stay within, in characters: long names are cut.
    * ``is_nested``: Whether fields are indented under the one that they are in; else their names
      are whole.
    """
    lines = _lines(inventory, is_nested=is_nested)
    head = [_heading(inventory, len(lines))]
    if not lines:
        return head[0] + "\n"
    names, types, rows, shares = zip(*lines, strict=True)
    rest = [types, *([rows, shares] if any(rows) else [])]
    widths = [max(map(len, column)) for column in rest]
    room = columns - sum(widths) - len(_GAP) * len(widths)
    if room < _LEAST and len(rest) > 1:
        # The shares follow from the numbers.
        rest, widths = rest[:-1], widths[:-1]
        room = columns - sum(widths) - len(_GAP) * len(widths)
    if room < _LEAST:
        widths[0] = max(_LEAST, widths[0] - _LEAST + room)
        room = max(_LEAST, columns - sum(widths) - len(_GAP) * len(widths))
    width = min(room, max(map(len, names)))
    ellipsis = "…" if can_draw else "~"
    for name, *cells in zip(names, *rest, strict=True):
        line = [cut(name, width, ellipsis).ljust(width)]
        line.append(cut(cells[0], widths[0], ellipsis).ljust(widths[0]))
        line += [cell.rjust(size) for cell, size in zip(cells[1:], widths[1:], strict=True)]
        head.append(_GAP.join(line).rstrip())
    return "".join(f"{line}\n" for line in head)


def _heading(inventory: Inventory, count: int) -> str:
    rows = "an unknown number of" if inventory.rows is None else f"{inventory.rows:,}"
    noun = "row" if inventory.rows == 1 else "rows"
    listed = f"{count:,} field{'' if count == 1 else 's'}"
    return f"{rows} {noun}, {listed}{'' if inventory.complete else ', not all of them known'}"


def _lines(inventory: Inventory, *, is_nested: bool) -> list[tuple[str, str, str, str]]:
    by_path = {field.path: field for field in inventory.fields}
    lines = []
    for field in inventory.fields:
        if is_nested and field.path[-1] is None and field.path[:-1] in by_path:
            continue  # shown with its list
        name, types = field.name, ", ".join(field.types)
        if is_nested:
            name, types = _nested(field, by_path)
        share = ""
        if field.rows is not None and inventory.rows:
            share = percent(field.rows, inventory.rows)
        lines.append((name, types, "" if field.rows is None else f"{field.rows:,}", share))
    return lines


def _nested(field: FieldDescription, by_path: dict[FieldPath, FieldDescription]) -> tuple[str, str]:
    """Return the indented name of a field, and its types with those of its elements."""
    from sdb.packfile.trailer.fieldcounts import quoted

    depth = sum(name is not None for name in field.path) - 1
    name, types, path = quoted(field.path[-1] or ""), list(field.types), field.path
    words = [name for name in types if name != "list"]
    of = ""
    while "list" in types:
        path = (*path, None)
        name += "[]"
        inner = by_path.get(path)
        types = list(inner.types) if inner else []
        rest = ", ".join(kind for kind in types if kind != "list")
        of = f"{of} of list" if of else "list"
        if rest:
            words.append(f"{of} of {rest}")
        elif "list" not in types:
            words.append(of)
    return _INDENT * depth + name, ", ".join(words)


def percent(part: int, whole: int) -> str:
    """Round to a tenth, but never to all or nothing."""
    tenths = min(max(round(1000 * part / whole), 1), 999)
    if part in {0, whole}:
        return "100 %" if part else "0 %"
    return f"{tenths / 10:.1f} %"


def cut(text: str, width: int, ellipsis: str) -> str:
    """Shorten a text to a width."""
    return text if len(text) <= width else text[: width - 1] + ellipsis
