"""Versions of tables for people: a log, a version, and what is different between two."""

from __future__ import annotations

from sdb import instants, sizes
from sdb.view.schemachanges import difference_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.state import VersionChanges
    from sdb.table.history.diff import TableDifference
    from sdb.table.history.log import LoggedVersion, ShownVersion

MOST_LISTED = 20
_LEAST_MESSAGE = 16


def versions(
    logged: Sequence[LoggedVersion], shown: Sequence[ShownVersion] = (), *, columns: int
) -> str:
    """List versions, a line each, which fits a narrow terminal.

    * ``shown``: The same with their packfiles, if these are wanted.
    """
    rows = [_cells(version_) for version_ in logged]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = []
    for number, (version_, cells) in enumerate(zip(logged, rows, strict=True)):
        parts = [
            cell.rjust(width) if at in {0, 4, 5} else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
            if width
        ]
        line = "  ".join(parts).rstrip()
        message = _message(version_)
        room = columns - len(line) - 2
        if message and room >= min(len(message), _LEAST_MESSAGE):
            lines.append(
                f"{line}  {message if len(message) <= room else f'{message[: room - 3]}...'}"
            )
        else:
            lines += [line, *([f"    {message}"] if message else [])]
        if shown:
            lines += [f"    {line}" for line in _packfiles(shown[number], columns=columns - 4)]
    return "".join(f"{line}\n" for line in lines)


def version(shown: ShownVersion, *, columns: int) -> str:
    """Show a version, and what came and went with it."""
    logged = shown.logged
    changes = logged.changes
    number = "not a version yet" if logged.version is None else f"{logged.version:,}"
    facts = [
        ("version", number),
        ("time", instants.text(logged.at_us)),
        ("operation", logged.operation),
        ("author", logged.author),
        ("message", logged.message),
        ("names", ", ".join(logged.names)),
        ("parents", " and ".join(f"{parent:,}" for parent in logged.parents)),
        ("id", logged.commit),
        ("rows", f"{_count(logged.rows)}{_parted(_changed_rows(changes))}"),
        ("size", f"{sizes.human(logged.size_bytes)}{_signed_size(logged)}"),
        ("packfiles", f"{shown.packfiles:,}{_signed(len(shown.added), len(shown.removed))}"),
        ("inputs", f"{len(shown.inputs):,} taken" if shown.inputs else ""),
    ]
    lines = [shown.name, *[f"  {name:<10} {text}" for name, text in facts if text]]
    lines += ["", *_packfiles(shown, columns=columns)] if shown.added or shown.removed else []
    lines += ["", *difference_lines(shown.schema)] if shown.schema else []
    return "".join(f"{line}\n" for line in lines)


def differences(difference: TableDifference, *, columns: int) -> str:
    """Show which packfiles came and went between two versions."""
    lines = _listed("-", difference.removed, columns) + _listed("+", difference.added, columns)
    for word, packfiles in (("removed", difference.removed), ("added", difference.added)):
        counts = [descriptor.rows for descriptor in packfiles]
        known = [count for count in counts if count is not None]
        rows = sizes.counted(sum(known), "row") if known == counts else "? rows"
        number = sizes.counted(len(packfiles), "packfile")
        size = sizes.human(sum(descriptor.size_bytes for descriptor in packfiles))
        lines.append(f"{word:8} {number}, {rows}, {size}")
    changes = difference.row_counts
    if changes is None:
        lines.append("rows     it is not known which were updated: --rows --key FIELD tells")
    else:
        texts = [f"{number:,} {name}" for name, number in changes.as_dict().items()]
        lines.append(f"rows     {', '.join(texts)}")
    if difference.schema:
        lines += ["schema", *[f"  {line}" for line in difference_lines(difference.schema)]]
    lines.append(f"the same {sizes.counted(difference.same, 'packfile')}")
    return "".join(f"{line}\n" for line in lines)


def change_line(logged: LoggedVersion) -> str:
    """Describe the change of a version in a line: what made it, when, its author and its rows."""
    when = instants.text(logged.at_us, fraction=False)
    by = f" by {logged.author}" if logged.author else ""
    rows = _changed_rows(logged.changes)
    reason = logged.message.replace("\n", " ")
    parts = [f"{logged.operation} at {when}{by}", f"{rows} rows" if rows else "", reason]
    return ", ".join(filter(None, parts))


def _cells(logged: LoggedVersion) -> list[str]:
    rows = _changed_rows(logged.changes)
    return [
        "-" if logged.version is None else str(logged.version),
        instants.text(logged.at_us, fraction=False),
        logged.author,
        logged.operation,
        rows or "0",
        _signed_size(logged).strip(" ()") or "0",
    ]


def _message(logged: LoggedVersion) -> str:
    names = f"({', '.join(logged.names)})" if logged.names else ""
    return " ".join(filter(None, (names, logged.message.replace("\n", " "))))


def _changed_rows(changes: VersionChanges) -> str:
    """Report rows that were inserted, updated and deleted; empty: none was."""
    counts = changes.row_counts
    if counts is None:
        both = changes.packfiles_added and changes.packfiles_removed
        return "?" if both else "+?" if changes.packfiles_added else "-?"
    numbers = ("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted)
    return " ".join(f"{sign}{number:,}" for sign, number in numbers if number)


def _parted(text: str) -> str:
    return f" ({text})" if text else ""


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _signed(added: int | None, removed: int | None) -> str:
    """Report what came and went, in parentheses; empty: nothing."""
    parts = [
        "" if added == 0 else f"+{_count(added)}",
        "" if removed == 0 else f"-{_count(removed)}",
    ]
    text = " ".join(filter(None, parts))
    return f" ({text})" if text else ""


def _signed_size(logged: LoggedVersion) -> str:
    added, removed = logged.changes.bytes_added, logged.changes.bytes_removed
    parts = [
        f"+{sizes.human(added)}" if added else "",
        f"-{sizes.human(removed)}" if removed else "",
    ]
    text = " ".join(filter(None, parts))
    return f" ({text})" if text else ""


def _packfiles(shown: ShownVersion, *, columns: int) -> list[str]:
    return _listed("-", shown.removed, columns) + _listed("+", shown.added, columns)


def _listed(sign: str, descriptors: Iterable[Descriptor], columns: int) -> list[str]:
    """List packfiles, of many the first."""
    packfiles = list(descriptors)
    lines = []
    for descriptor in packfiles[:MOST_LISTED]:
        rows = "? rows" if descriptor.rows is None else sizes.counted(descriptor.rows, "row")
        facts = f"{sign} {rows:>15} {sizes.human(descriptor.size_bytes):>10}"
        room = columns - len(facts) - 2
        key = (
            descriptor.key
            if len(descriptor.key) <= room
            else f"...{descriptor.key[-max(room - 3, 8) :]}"
        )
        lines.append(f"{facts}  {key}")
    if missing := len(packfiles) - len(lines):
        lines.append(f"{sign} and {missing:,} more; --json lists them all")
    return lines
