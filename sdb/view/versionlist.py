"""Versions of tables for people: a log, a version, and what is different between two."""

from __future__ import annotations

from sdb import instants, sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.format.descriptor import Descriptor
    from sdb.table.history.diff import TableDifference
    from sdb.table.history.log import LoggedVersion, ShownVersion

MOST_LISTED = 20
_LEAST_MESSAGE = 16


def versions(
    found: Sequence[LoggedVersion], shown: Sequence[ShownVersion] = (), *, columns: int
) -> str:
    """List versions, a line each, which fits a narrow terminal.

    Parameters
    ----------
    found : sequence of LoggedVersion
        The versions.
    shown : sequence of ShownVersion
        The same with their packfiles, if these are wanted.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        The lines.
    """
    rows = [_cells(one) for one in found]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = []
    for number, (one, cells) in enumerate(zip(found, rows, strict=True)):
        parts = [
            cell.rjust(width) if at in {0, 4, 5} else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
            if width
        ]
        line = "  ".join(parts).rstrip()
        told = _told(one)
        room = columns - len(line) - 2
        if told and room >= min(len(told), _LEAST_MESSAGE):
            lines.append(f"{line}  {told if len(told) <= room else f'{told[: room - 3]}...'}")
        else:
            lines += [line, *([f"    {told}"] if told else [])]
        if shown:
            lines += [f"    {line}" for line in _packfiles(shown[number], columns=columns - 4)]
    return "".join(f"{line}\n" for line in lines)


def version(found: ShownVersion, *, columns: int) -> str:
    """Show a version, and what came and went with it."""
    one = found.logged
    number = "not a version yet" if one.version is None else f"{one.version:,}"
    facts = [
        ("version", number),
        ("time", instants.text(one.at_us)),
        ("operation", one.operation),
        ("author", one.author),
        ("message", one.message),
        ("names", ", ".join(one.names)),
        ("parents", " and ".join(f"{parent:,}" for parent in one.parents)),
        ("id", one.commit),
        ("rows", f"{_count(one.rows)}{_signed(one.changes.rows_added, one.changes.rows_removed)}"),
        ("size", f"{sizes.human(one.size_bytes)}{_signed_size(one)}"),
        ("packfiles", f"{found.packfiles:,}{_signed(len(found.added), len(found.removed))}"),
        ("inputs", f"{len(found.inputs):,} taken" if found.inputs else ""),
    ]
    lines = [found.name, *[f"  {name:<10} {text}" for name, text in facts if text]]
    lines += ["", *_packfiles(found, columns=columns)] if found.added or found.removed else []
    return "".join(f"{line}\n" for line in lines)


def differences(found: TableDifference, *, columns: int) -> str:
    """Show which packfiles came and went between two versions."""
    lines = _listed("-", found.removed, columns) + _listed("+", found.added, columns)
    for word, packfiles in (("removed", found.removed), ("added", found.added)):
        counts = [one.rows for one in packfiles]
        rows = "?" if None in counts else f"{sum(filter(None, counts)):,}"
        size = sizes.human(sum(one.size_bytes for one in packfiles))
        lines.append(f"{word:8} {len(packfiles):,} packfiles, {rows} rows, {size}")
    lines.append(f"the same {found.same:,} packfiles")
    return "".join(f"{line}\n" for line in lines)


def _cells(one: LoggedVersion) -> list[str]:
    changes = one.changes
    rows = _signed(changes.rows_added, changes.rows_removed).strip(" ()")
    return [
        "-" if one.version is None else str(one.version),
        instants.text(one.at_us, fraction=False),
        one.author,
        one.operation,
        rows or "0",
        _signed_size(one).strip(" ()") or "0",
    ]


def _told(one: LoggedVersion) -> str:
    names = f"({', '.join(one.names)})" if one.names else ""
    return " ".join(filter(None, (names, one.message.replace("\n", " "))))


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _signed(added: int | None, removed: int | None) -> str:
    """Tell what came and went, in parentheses; empty: nothing."""
    parts = [
        "" if added == 0 else f"+{_count(added)}",
        "" if removed == 0 else f"-{_count(removed)}",
    ]
    text = " ".join(filter(None, parts))
    return f" ({text})" if text else ""


def _signed_size(one: LoggedVersion) -> str:
    added, removed = one.changes.bytes_added, one.changes.bytes_removed
    parts = [
        f"+{sizes.human(added)}" if added else "",
        f"-{sizes.human(removed)}" if removed else "",
    ]
    text = " ".join(filter(None, parts))
    return f" ({text})" if text else ""


def _packfiles(found: ShownVersion, *, columns: int) -> list[str]:
    return _listed("-", found.removed, columns) + _listed("+", found.added, columns)


def _listed(sign: str, found: Iterable[Descriptor], columns: int) -> list[str]:
    """List packfiles, of many the first."""
    packfiles = list(found)
    lines = []
    for one in packfiles[:MOST_LISTED]:
        rows = "?" if one.rows is None else f"{one.rows:,}"
        facts = f"{sign} {rows:>10} rows {sizes.human(one.size_bytes):>10}"
        room = columns - len(facts) - 2
        key = one.key if len(one.key) <= room else f"...{one.key[-max(room - 3, 8) :]}"
        lines.append(f"{facts}  {key}")
    if missing := len(packfiles) - len(lines):
        lines.append(f"{sign} and {missing:,} more; --json lists them all")
    return lines
