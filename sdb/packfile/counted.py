"""Which packfiles count of those that names and patterns stand for; see `sdb.packfile.manifest`."""

from __future__ import annotations

import os

from sdb.errors import NotFoundError, text_of
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sdb.packfile.manifest import Manifest
    from sdb.store.url import Location


def visible(
    places: Iterable[str], fits: Callable[[str], bool] | None = None, *, root: str | None = None
) -> list[str]:
    """Leave out the packfiles that do not count.

    Parameters
    ----------
    places : iterable of str
        Paths and URLs. No manifest is read unless one of them has a name of an attempt.
    fits : callable, optional
        Tells of a path whether the pattern matches it that has found `places`. With it, what the
        manifests list takes the place of what was found, because a job may have been published
        between the two.
    root : str, optional
        What the paths are relative to.

    Returns
    -------
    list of str
        Those of the paths that count.
    """
    return _visible(places, fits, root, {})


def _visible(
    places: Iterable[str],
    fits: Callable[[str], bool] | None,
    root: str | None,
    known: dict[str, Manifest],
) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for place in places:
        name = place.rpartition("/")[2]
        above = place.removesuffix(name)
        if not _is_attempt(name):
            found.append(place)
            continue
        if above not in known:
            from sdb.packfile.manifest import Manifest, read

            known[above] = read(os.fspath(url.under(root, above)) or ".") or Manifest()
        if fits is None:
            found += [place] if name in known[above].names else []
        elif above not in seen:
            seen.add(above)
            found += filter(fits, [above + file.name for file in known[above].files])
    return found


def _is_attempt(name: str) -> bool:
    """Tell whether a name is that of an attempt; most are not, which is seen at once."""
    if not name.startswith("part-"):
        return False
    from sdb.packfile.manifest import job_of

    return job_of(name) is not None


def expand(locations: Iterable[Location], root: str | None = None) -> list[Location]:
    """Put what they match in the place of patterns, and leave out what does not count.

    Parameters
    ----------
    locations, root
        See :func:`sdb.store.url.expand`.

    Returns
    -------
    list of path or str
        The same without patterns and without packfiles that no job has published.

    Raises
    ------
    NotFoundError
        Nothing matches a pattern, or nothing of it counts.
    AccessError, CorruptError
        A folder may not be listed, or its manifest is damaged.
    """
    found: list[Location] = []
    known: dict[str, Manifest] = {}
    unpublished = ""
    for given in locations:
        location = given if not root or url.is_local(root) else url.under(root, given)
        path = os.fspath(location)
        if url.is_pattern(path):
            matches = [os.fspath(match) for match in url.expand([path])]
            kept = _visible(matches, url.matcher(path), None, known)
            kept.sort(key=str.encode)
            found += kept
        else:
            kept = _visible([path], None, root, known)
            found += [location] if kept else []
        unpublished = unpublished if kept else path
    if unpublished and not found:
        from sdb.packfile.manifest import NAME

        raise NotFoundError(
            f"{text_of(unpublished)}: no job has published this",
            path=unpublished,
            hint=f"{NAME} beside it lists what counts",
        )
    return found
