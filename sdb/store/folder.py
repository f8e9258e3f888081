"""What stands together in a folder, or on S3 below a prefix: names, removal, and taking turns."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import cast

from sdb.errors import ConflictError, ExistsError, NotFoundError
from sdb.store.local import atomic, files, growing
from sdb.store.url import is_local, local_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.s3.objects import S3Reader
    from sdb.store.url import Location, Reader


def child(folder: Location, name: str) -> str:
    """Give the path or URL of an object directly below a folder."""
    above = os.fspath(folder)
    return above + name if above.endswith("/") else f"{above}/{name}"


def make(folder: Location) -> None:
    """Make a folder and those above it, unless it is there; S3 has none to make.

    Raises
    ------
    AccessError, UsageError
        It cannot be made, or a file has its name.
    """
    if is_local(folder):
        path = local_path(folder)
        with files.Translated(path):
            os.makedirs(path, exist_ok=True)  # noqa: PTH103 - a plain string


def names(folder: Location) -> list[str]:
    """List the files, or objects, directly below a folder.

    Parameters
    ----------
    folder : path or str
        A path or URL, with or without a slash at its end.

    Returns
    -------
    list of str
        Their names without the folder, sorted; hidden ones of files too. A folder that is not
        there has none.

    Raises
    ------
    AccessError
        It may not be listed.
    """
    if not is_local(folder):
        from sdb.store.s3 import prefix as s3

        return sorted(s3.names(os.fspath(folder)))
    path = local_path(folder)
    try:
        with files.Translated(path), os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    except NotFoundError:
        return []


def remove(location: Location) -> None:
    """Remove a file or object; one that is not there is removed already.

    Raises
    ------
    AccessError
        It may not be removed.
    """
    if not is_local(location):
        from sdb.store.s3 import prefix as s3

        s3.remove(os.fspath(location))
        return
    path = local_path(location)
    with files.Translated(path), suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - a plain string


def abandon(folder: Location, is_ours: Callable[[str], bool]) -> None:
    """Give up what writers that were killed have begun below a folder.

    Parameters
    ----------
    folder : path or str
        A path or URL.
    is_ours : callable
        Tells by the name of the object that would have come of it whether it is to be given up.
        What a file system without nameless files keeps has the first 50 characters of it.
    """
    if not is_local(folder):
        from sdb.store.s3 import prefix as s3

        s3.abandon(os.fspath(folder), is_ours)
        return
    for name in names(folder):
        if name.startswith(".") and name.endswith(".tmp") and is_ours(name[1:]):
            remove(child(folder, name))


def exchange(source: Reader | None, data: bytes, location: Location) -> None:
    """Put an object in the place of the version that was read, if it is still the one there.

    Parameters
    ----------
    source : Reader or None
        The version that was read; None: there was none.
    data : bytes
        The new object.
    location : path or str
        A path or URL. Whoever replaces a local file holds its lock, see
        :func:`sdb.store.url.locked`.

    Raises
    ------
    ConflictError
        Someone else was faster; theirs stays.
    UnsupportedError
        The endpoint ignores conditions.
    UncertainError
        It is not known whether the object was written.
    """
    if not is_local(location):
        from sdb.store.s3 import prefix as s3

        s3.exchange(cast("S3Reader | None", source), data, os.fspath(location))
        return
    path = local_path(location)
    if source is not None:
        with growing.grow(source, 0, path) as draft:
            draft.write(data)
        return
    try:
        with atomic.atomic_write(path) as file:
            file.write(data)
    except ExistsError as error:
        raise ConflictError(f"{path} appeared meanwhile", path=path, hint="run it again") from error
