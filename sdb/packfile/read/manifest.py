"""Folders that jobs with many writers fill: which of their packfiles count.

Each attempt of a task writes a packfile with a unique name, unseen by readers. In the end
the job lists those that count in the folder's manifest, in one step, and removes the others. So
readers see all rows of a job or none, and none twice (section "Folders of jobs" of docs/format.md).
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing

from sdb.errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    NotFoundError,
    SdbError,
    UncertainError,
    UnsupportedError,
    UsageError,
    text_of,
)
from sdb.log import Logger
from sdb.records import field_names, record, replace
from sdb.retry import Backoff
from sdb.store.base import child
from sdb.store.url import locked, open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sdb.store.base import Location, Reader

NAME = "_manifest.json"
MODES = ("append", "overwrite", "fail")
ATTEMPTS = 20
_log = Logger("sdb.packfile.manifest")
_VERSION = 1
_REMEMBERED_JOBS = 100
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
_SUFFIX = ".zion"
_JOB = r"[0-9a-f]{32}"
_ATTEMPT = r"part-\d{5,}-([0-9a-f]{32})-[0-9a-f]{8,}\.zion"


@record
class File:
    """A packfile that counts."""

    name: str  # its name, without the folder
    size_bytes: int  # its size
    rows: int  # number of its rows
    job: str = ""  # the job that wrote it; empty before it is published
    etag: str = ""  # which version of the object it is, on S3; may be empty


@record
class Manifest:
    """The manifest of a folder."""

    # The packfiles that count, in the order in which they were published
    files: tuple[File, ...] = ()
    jobs: tuple[str, ...] = ()  # the last jobs that were published, the newest at the end

    @property
    def names(self) -> frozenset[str]:
        """The names of the packfiles that count."""
        return frozenset(file.name for file in self.files)

    def has(self, job: str) -> bool:
        """Return whether a job was published, as far as that is known."""
        return job in self.jobs or any(file.job == job for file in self.files)

    def encode(self) -> bytes:
        """Return the manifest as it is stored: JSON."""
        import json

        files = [
            {
                name: value
                for name in field_names(File)
                if (value := getattr(file, name)) != "" or name == "job"
            }
            for file in self.files
        ]
        content = {"version": _VERSION, "jobs": list(self.jobs), "files": files}
        return json.dumps(content, indent=1).encode() + b"\n"


@record
class Published:
    """The result of publishing."""

    manifest: Manifest  # the manifest now
    is_new: bool = True  # whether anything was done: a job is published once
    # Names of the packfiles that count no more; :func:`sweep` takes them
    replaced: tuple[str, ...] = ()
    attempts: int = 1  # number of attempts: other jobs may publish in between


def attempt_name(task: int, job: str) -> str:
    """Return the name of the packfile that an attempt of a task writes; no two are the same.

    * ``job``: The job: 32 hexadecimal digits.

    >>> attempt_name(7, "0" * 32)[:44]
    'part-00007-00000000000000000000000000000000-'
    """
    if not re.fullmatch(_JOB, job):
        raise UsageError(f"invalid job {job!r}", expected="32 hexadecimal digits")
    return f"part-{task:05}-{job}-{os.urandom(8).hex()}{_SUFFIX}"


def job_of(name: str) -> str | None:
    """Return the job of a packfile by its name, which may have a folder; None: of no job."""
    match = re.fullmatch(_ATTEMPT, name.rpartition("/")[2])
    return match[1] if match else None


def read(prefix: Location) -> Manifest | None:
    """Read the manifest of a folder.

    * ``prefix``: The folder, or the beginning of a URL of S3.

    Raises `CorruptError` if it is damaged, `UnsupportedError` if a later version wrote it and
    `AccessError` if it may not be read.
    """
    try:
        reader = open_read(child(prefix, NAME))
    except NotFoundError:
        return None
    with closing(reader):
        return _decode(reader)


def _decode(reader: Reader) -> Manifest:
    import json

    path = reader.path
    text = reader.read(0, reader.size_bytes)
    try:
        content: dict[str, Any] = json.loads(text)
        version = content["version"]
        files = tuple(_file(entry) for entry in content["files"])
        manifest = Manifest(files, tuple(str(job) for job in content.get("jobs", ())))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError(
            f"invalid manifest {path}: expected a JSON object that lists packfiles", path=path
        ) from error
    if version != _VERSION:
        raise UnsupportedError(
            f"{path}: a manifest of version {version}, this build knows {_VERSION}", path=path
        )
    return manifest


def _file(entry: dict[str, Any]) -> File:
    name, etag = str(entry["name"]), str(entry.get("etag", ""))
    if job_of(name) is None or "/" in name:
        raise ValueError(name)
    return File(name, int(entry["size_bytes"]), int(entry["rows"]), str(entry["job"]), etag)


def prepare(prefix: Location, mode: str = "append") -> None:
    """Make the folder that a job is going to fill, and see whether it may.

    * ``mode``: See :func:`publish`.

    Raises `ExistsError` if there are packfiles, and the mode is ``fail``; `UsageError` for an
    unknown mode, or one to overwrite where there are packfiles of no job.
    """
    store_of(prefix).make_folder(prefix)
    _check(prefix, read(prefix) or Manifest(), mode)


def _check(prefix: Location, manifest: Manifest, mode: str) -> None:
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}", expected=", ".join(MODES))
    if mode == "append":
        return
    path = text_of(prefix)
    if mode == "fail" and manifest.files:
        raise ExistsError(
            f"{path} has packfiles already", path=path, hint="--force replaces them, --append adds"
        )
    if other := [name for name in _names(prefix) if _is_plain(name)]:
        if mode == "fail":
            raise ExistsError(f"{path} has packfiles already: {other[0]}", path=path)
        raise UsageError(
            f"{path} has packfiles that no job wrote, such as {other[0]}",
            path=path,
            hint="remove them, or choose another folder: only what jobs wrote is replaced",
        )


def _names(prefix: Location) -> list[str]:
    return [entry.name for entry in store_of(prefix).list(prefix)]


def _is_plain(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".") and job_of(name) is None


def publish(
    prefix: Location, files: Sequence[File], *, mode: str = "append", job: str
) -> Published:
    """Publish the packfiles of a job, all of them in one step.

    * ``files``: The packfiles, with names from :func:`attempt_name`.
    * ``mode``: Whether they are added to those that count, take their place, or must be the first.
    * ``job``: The job: 32 hexadecimal digits. A job that was published is not published again.

    Raises `ExistsError` if there are packfiles, and the mode is ``fail``. Raises `ConflictError` if
    other jobs published at each attempt. Nothing was changed. Raises `UncertainError` if it is not
    known whether the packfiles count; publishing again is safe. Raises `UsageError` for a name that
    is not one of this job, an unknown mode, or one to overwrite where there are packfiles of no
    job.
    """
    for file in files:
        if job_of(file.name) != job:
            raise UsageError(f"invalid packfile {file.name}: expected a name of job {job}")
    added = tuple(replace(file, job=job) for file in files)
    manifest = child(prefix, NAME)
    backoff = Backoff(
        f"publishing {manifest}",
        _log,
        first_seconds=_FIRST_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        attempts=ATTEMPTS,
    )
    unknown: UncertainError | None = None
    while True:
        try:
            count = backoff.failures + 1
            return replace(_attempt(prefix, manifest, added, mode, job), attempts=count)
        except (ConflictError, UncertainError) as error:
            # Whatever became of it, the next attempt finds this job among those published, or not.
            if not backoff.may_retry(error):
                raise backoff.exhausted(error) from None
            unknown = error if isinstance(error, UncertainError) else unknown
        except SdbError as error:
            if unknown is None or isinstance(error, ExistsError):
                raise
            # Nothing can be found out any more of what an attempt before may have written.
            raise unknown from error
        backoff.pause()


def _attempt(
    prefix: Location, manifest: str, added: tuple[File, ...], mode: str, job: str
) -> Published:
    with ExitStack() as stack:
        is_locked = True
        try:
            stack.enter_context(locked(manifest))
        except NotFoundError:
            is_locked = False
        old, reader = Manifest(), None
        try:
            reader = stack.enter_context(closing(open_read(manifest)))
        except NotFoundError:
            pass
        else:
            if not is_locked:
                raise ConflictError(f"{manifest} was made by another job meanwhile", path=manifest)
            old = _decode(reader)
        if old.has(job):
            return Published(old, is_new=False)
        _check(prefix, old, mode)
        files = () if mode == "overwrite" else old.files
        new = Manifest((*files, *added), (*old.jobs, job)[-_REMEMBERED_JOBS:])
        store_of(manifest).put_if_match(manifest, new.encode(), reader)
    return Published(new, replaced=tuple(sorted(old.names - new.names)))


def sweep(prefix: Location, job: str, replaced: Iterable[str] = ()) -> list[str]:
    """Remove what a job has left behind: packfiles that do not count, and what was only begun.

    Not after an :class:`sdb.errors.UncertainError` of :func:`publish`: the manifest may list them
    yet.

    * ``job``: The job. Packfiles of other jobs are left alone.
    * ``replaced``: Names of packfiles that it has replaced, see :class:`Published`.
    """
    manifest = read(prefix) or Manifest()
    left = [name for name in _names(prefix) if job_of(name) == job]
    gone = [name for name in [*left, *replaced] if name not in manifest.names]
    store = store_of(prefix)
    for name in gone:
        store.delete(child(prefix, name))
    begun = re.compile(rf"part-\d{{5,}}-{job}")
    store.abort_orphaned_uploads(prefix, lambda name: begun.match(name) is not None)
    return gone
