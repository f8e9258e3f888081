"""Fields that no row has, as far as trailers prove it, and what may have been meant."""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, UsageError
from sdb.packfile.prune.selection import time_path
from sdb.packfile.trailer.fieldcounts import field_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.trailer import Trailer

_CLOSE, _CLOSER = 0.7, 0.85
_MOST_COMPARED = 5000
# Types of Ion, as bits
_NUMBERS = 1 << 2 | 1 << 3 | 1 << 4
_TEXTS = 1 << 7 | 1 << 8


class AbsentFieldError(UsageError):
    """No row has a field that is named."""


def warn_unknown(
    paths: Iterable[FieldPath],
    files: Sequence[tuple[str, Trailer]],
    *,
    of: str = "",
    strict: bool = False,
    top_only: bool = False,
) -> None:
    """Warn of paths at which no row of packfiles has a value.

    Where the packfiles do not prove it, nothing is said.

    * ``paths``: The paths that are asked for, with None for elements of lists.
    * ``of``: What they are together, for the message; their own names if not given.
    * ``top_only``: Whether only fields at the top of rows can have been meant.

    Raises `AbsentFieldError` if there is such a path, and `strict` is set.
    """
    for text, hint in unknown(paths, files, of=of, top_only=top_only):
        if strict:
            raise AbsentFieldError(text, hint=hint)
        notes.warn(f"{text}; {hint}" if hint else text)


def unknown(
    paths: Iterable[FieldPath],
    files: Sequence[tuple[str, Trailer]],
    *,
    of: str = "",
    top_only: bool = False,
) -> Iterator[tuple[str, str | None]]:
    """Yield what :func:`warn_unknown` warns of: that no row has a path, and what may be meant."""
    filled = [(name, trailer) for name, trailer in files if trailer.blocks]
    if not filled:
        return
    for path in dict.fromkeys(paths):
        if path and not any(_may_have(trailer, path) for _, trailer in filled):
            meant = _suggestion(path, [trailer_ for _, trailer_ in filled], top_only=top_only)
            others = f" and {len(filled) - 1:,} more" if len(filled) > 1 and not of else ""
            shown = f'"{path[0]}"' if len(path) == 1 else field_name(path)
            text = f"no row of {of or filled[0][0]}{others} has {shown}"
            yield text, f"did you mean {meant}?" if meant else None


def warn_unknown_fields(
    files: Sequence[tuple[str, Trailer]],
    fields: Iterable[str] | None,
    time_field: str | Sequence[str] | None,
    *,
    strict: bool = False,
) -> None:
    """Warn of names of fields, and of the path of a time, that no row of packfiles has."""
    warn_unknown([(name,) for name in fields or ()], files, strict=strict, top_only=True)
    if time_field is not None:
        for path in [time_path(trailer, time_field) for _, trailer in files[:1]]:
            warn_unknown([path], files, strict=strict)
            warn_no_times(path, files)


def warn_no_times(path: Path, files: Sequence[tuple[str, Trailer]]) -> None:
    """Warn where rows of packfiles have values at a path, and none of them is a timestamp."""
    indexes = [trailer.sparse for _, trailer in files if trailer.blocks]
    if not indexes or not all(sparse.is_without_times(path) for sparse in indexes):
        return
    types = 0
    for sparse in indexes:
        types |= sparse.summary.types.get(path, 0) if sparse.summary is not None else 0
    name = ".".join(path)
    if types & _NUMBERS:
        how = f"--time-field {name}:unix, or :unix_ms, :unix_us, :unix_ns"
    elif types & _TEXTS:
        how = f"--time-field '{name}:%d/%m/%Y %H:%M', or what its texts look like"
    else:
        return
    have = "numbers" if types & _NUMBERS else "texts"
    notes.warn(f"{name} has {have} and no timestamp in any row: pack it with {how} (docs/times.md)")


def is_absent(trailer: Trailer, name: str) -> bool:
    """Return whether a trailer proves that no row has a field at its top."""
    return not _may_have(trailer, (name,))


def is_cut(trailer: Trailer) -> bool:
    """Return whether a trailer knows how many rows there are, and not which types they have."""
    summary = trailer.sparse.summary
    return summary is not None and not summary.types and not summary.complete


def has(trailer: Trailer, path: FieldPath) -> bool:
    """Return whether a trailer proves that a row has a value at a path."""
    summary = trailer.sparse.summary
    if summary is not None and path in summary.types:
        return True
    return None in path and path in (_counted(trailer) or ())


def _may_have(trailer: Trailer, path: FieldPath) -> bool:
    """Check whether a row may have a value at a path: one has, or the trailer does not prove it."""
    summary = trailer.sparse.summary
    if summary is None or path in summary.types:
        return True
    if None not in path:
        return not summary.complete
    fields = _counted(trailer)
    return fields is None or path in fields


def _counted(trailer: Trailer) -> frozenset[FieldPath] | None:
    """Return all paths, through lists too; None where some may be missing."""
    try:
        presence = trailer.sparse.presence()
    except CorruptError:
        return None
    return frozenset(presence.fields) if presence is not None and presence.complete else None


def _suggestion(path: FieldPath, trailers: Sequence[Trailer], *, top_only: bool) -> str | None:
    """Find the field that a path is a slip of: by dots, case, one struct up or down, or letters."""
    paths: dict[FieldPath, None] = {}
    for trailer in trailers:
        summary = trailer.sparse.summary
        fields = _counted(trailer) if len(trailers) == 1 else None
        paths |= dict.fromkeys(fields or (summary.types if summary else ()))
        if len(paths) > _MOST_COMPARED:
            break
    ordered = sorted(
        paths, key=lambda known_path: (len(known_path), [name or "" for name in known_path])
    )
    if top_only:
        ordered = [known_path for known_path in ordered if len(known_path) == 1]
    plain, lower = _flat(path), _flat(path).lower()
    for same in (
        lambda known_path: _flat(known_path) == plain,
        lambda known_path: _flat(known_path).lower() == lower,
        lambda known_path: (
            known_path[-len(path) :] == path or path[-len(known_path) :] == known_path
        ),
        lambda known_path: top_only and plain.startswith(f"{known_path[0]}."),
    ):
        match = next((known_path for known_path in ordered if same(known_path)), None)
        if match is not None:
            return field_name(match)
    return _similar(path, ordered)


def _similar(path: FieldPath, paths: Sequence[FieldPath]) -> str | None:
    """Find a field of about the same letters: in the same struct, or else anywhere."""
    from difflib import get_close_matches

    beside = {
        other_path[-1] or "": other_path for other_path in paths if other_path[:-1] == path[:-1]
    }
    if close := get_close_matches(path[-1] or "", beside, 1, _CLOSE):
        return field_name(beside[close[0]])
    others = {
        _flat(other_path): other_path
        for other_path in paths
        if other_path[:-1] != path[:-1] and other_path != path[:-1]
    }
    if close := get_close_matches(_flat(path), others, 1, _CLOSER):
        return field_name(others[close[0]])
    return None


def _flat(path: FieldPath) -> str:
    return ".".join(name for name in path if name is not None)
