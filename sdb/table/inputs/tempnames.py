"""Temporary names: those that files have while they are written or copied.

A table passes over new inputs with such a name. A pattern that names the ending, or the dot, itself
asks for them.
"""

from __future__ import annotations

ENDINGS = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".filepart",
    ".crdownload",
    ".download",
    ".inprogress",
    "._copying_",
)
"""In small letters; names are compared without regard to case."""


def is_temporary(uri: str, pattern: str) -> bool:
    """Return whether an input has a temporary name that its pattern does not ask for.

    Returns: True if its name has one of `ENDINGS`, or if it or a folder above it begins with a dot.
    A pattern asks for them whose last segment has the same ending, or whose segment at the same
    place begins with a dot.

    >>> is_temporary("file://in/a.tmp", "file://in/*"), is_temporary("file://.x/a", "file://*/*")
    (True, True)
    >>> is_temporary("file://in/a.tmp", "file://in/*.tmp"), is_temporary("file://a", "file://*")
    (False, False)
    """
    lower = uri.lower()
    if lower.endswith(ENDINGS) and not _ends_alike(lower, pattern.lower()):
        return True
    return "/." in uri and _has_hidden(uri, pattern)


def _ends_alike(uri: str, pattern: str) -> bool:
    return any(uri.endswith(ending) and pattern.endswith(ending) for ending in ENDINGS)


def _has_hidden(uri: str, pattern: str) -> bool:
    """Return whether a segment begins with a dot, and that of the pattern does not."""
    segments, asked = uri.split("/"), pattern.split("/")
    if len(segments) != len(asked):  # the pattern has a class with a slash in it
        return False
    return any(
        segment.startswith(".") and not wanted.removeprefix("\\").startswith(".")
        for segment, wanted in zip(segments, asked, strict=True)
    )
