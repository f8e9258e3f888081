"""The formats that names of files tell, for all that is read and written.

=============================  ==================================================
``.json .ndjson .jsonl``       JSON, one row a line where it is written
``.cloudtrail.json``           JSON of CloudTrail, which is only read
``.csv .tsv``                  CSV, TSV
``.md .markdown``              Markdown, which is only written
``.ion .10n``                  Ion
``.arrow .arrows``             an Arrow IPC stream, which is only written
``.parquet``                   Parquet
``.zion``                      a packfile
``.gz .zst`` behind these      compressed with gzip or zstd
=============================  ==================================================
"""

from __future__ import annotations

from sdb.errors import UsageError, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

_SUFFIXES = {
    ".json": "json",
    ".ndjson": "json",
    ".jsonl": "json",
    ".cloudtrail.json": "cloudtrail",
    ".csv": "csv",
    ".tsv": "tsv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".ion": "ion",
    ".10n": "ion",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".parquet": "parquet",
    ".zion": "packfile",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_MOST_LETTERS = 10


def of_name(name: str) -> tuple[str | None, str]:
    """Give what the longest known suffix of a name says, and its compression.

    Parameters
    ----------
    name : str
        A path, URL or suffix.

    Returns
    -------
    str or None
        The format; None: no suffix tells it.
    str
        ``none``, ``gzip`` or ``zstd``.

    Examples
    --------
    >>> of_name("s3://logs/2026.json.GZ"), of_name("x")
    (('json', 'gzip'), (None, 'none'))
    """
    inner, compression = _without_compression(name.lower())
    known = [suffix for suffix in _SUFFIXES if inner.endswith(suffix)]
    return (_SUFFIXES[max(known, key=len)] if known else None), compression


def _without_compression(name: str) -> tuple[str, str]:
    for suffix, compression in _COMPRESSIONS.items():
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], compression
    return name, "none"


def suffix_of(compression: str) -> str:
    """Give the suffix of a compression; none of ``none``."""
    return next((suffix for suffix, name in _COMPRESSIONS.items() if name == compression), "")


def stem(name: str) -> str:
    """Give a name without what its known suffixes say.

    Examples
    --------
    >>> stem("logs/a.json.gz"), stem("b.cloudtrail.json"), stem("2026.01")
    ('logs/a', 'b', '2026.01')
    """
    inner, _ = _without_compression(name)
    known = [suffix for suffix in _SUFFIXES if inner.lower().endswith(suffix)]
    return inner[: -len(max(known, key=len))] if known else inner


def written(
    target: str | os.PathLike[str] | None,
    fmt: str | None,
    formats: Sequence[str],
    default: str,
) -> tuple[str, str]:
    """Choose format and compression of what is written.

    Parameters
    ----------
    target : path or URL, or None
        Where it goes; None: to a stream without a name.
    fmt : str or None
        The format that the user names, or a suffix that says it.
    formats : sequence of str
        What can be written there.
    default : str
        The format if neither of them tells.

    Returns
    -------
    str
        The format.
    str
        The compression: ``none``, ``gzip`` or ``zstd``.

    Raises
    ------
    UsageError
        No such format, a suffix that tells none or cannot be written, or one that says otherwise
        than the user.

    Examples
    --------
    >>> written("x.ndjson.gz", None, ("json", "csv"), "json")
    ('json', 'gzip')
    """
    if fmt is not None:
        fmt = _named(fmt, formats)
    if target is None:
        return fmt or default, "none"
    path = text_of(target)
    kind, compression = of_name(path)
    kind = "json" if kind == "cloudtrail" else kind
    if kind is None:
        _check_no_suffix(path, fmt, formats)
    elif kind not in formats:
        what = "a packfile" if kind == "packfile" else kind
        message = f"{path} has the name of {what}, which is not written here"
        raise UsageError(message, path=path, hint=f"suffixes: {_listed(formats)}")
    elif fmt is not None and fmt.removesuffix("-text") != kind:
        message = f"the name {path} says {kind}, and the format asked for is {fmt}"
        raise UsageError(message, path=path, hint="leave one of them out")
    return fmt or kind or default, compression


def check_packfile(target: str | os.PathLike[str]) -> None:
    """Insist on a new packfile not having the name of something else.

    Parameters
    ----------
    target : path or URL
        Where it goes. A name without a suffix, or with one that says no format, is fine.

    Raises
    ------
    UsageError
        The suffix says another format, or a compression.

    Examples
    --------
    >>> check_packfile("events.zion"), check_packfile("2026.01")
    (None, None)
    """
    path = text_of(target)
    kind, compression = of_name(path)
    if compression == "none" and kind in {None, "packfile"}:
        return
    what = compression if kind in {None, "packfile"} else kind
    raise UsageError(
        f"the name {path} says {what}, and what is written is a packfile",
        path=path,
        hint=f"call it {stem(path.rpartition('/')[2]) or 'events'}.zion",
    )


def _named(fmt: str, formats: Sequence[str]) -> str:
    """Give the format that a user names: by its name, or as a suffix."""
    if fmt in formats:
        return fmt
    kind = _SUFFIXES.get("." + fmt.lower().removeprefix("."))
    if kind is None or kind not in formats:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(formats))
    return kind


def _check_no_suffix(path: str, fmt: str | None, formats: Sequence[str]) -> None:
    """Refuse a suffix that says something else than any format, unless the user names one."""
    name = _without_compression(path.rpartition("/")[2])[0]
    before, dot, last = name.rpartition(".")
    looks_like_one = last.isalnum() and not last.isdecimal() and len(last) <= _MOST_LETTERS
    if before and dot and looks_like_one and fmt is None:
        message = f"no format has the suffix .{last} of {path}"
        hint = f"name it with --fmt, or use one of {_listed(formats)}"
        raise UsageError(message, path=path, hint=hint)


def _listed(formats: Iterable[str]) -> str:
    known = set(formats)
    suffixes = [suffix for suffix, kind in _SUFFIXES.items() if kind in known]
    return f"{' '.join(suffixes)}, each also with .gz or .zst"
