"""Leftovers of killed writers in a store: open uploads, and parts of jobs that never ended.

Only what is provably ours goes: by a name that nothing else makes, or because the object in that
place was written by `sdb`. Everything else is reported.
"""

from __future__ import annotations

import re
import time

from sdb.errors import NotFoundError, UsageError
from sdb.packfile.read.manifest import job_of
from sdb.packfile.read.manifest import read as read_manifest
from sdb.records import record
from sdb.store.url import open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.base import Entry

LEAST_SECONDS = 3600
_OWN_NAME = re.compile(r"packed-[A-Z2-7]{26}\.zion|\.sdb-.*")
_SCRATCH = re.compile(r"\.sdb-(doctor-[0-9a-f]{16}|lock-.*)")


@record
class Leftover:
    """Something that a writer has left.

    * ``kind``: ``upload``, ``part`` of a job of Spark, or ``scratch``: a lock, or what a test of
      the store writes.
    * ``entry``: Where it is; of an upload, where the object would be.
    * ``age_seconds``: How long nobody has written to it, or to another part of the job.
    * ``is_ours``: Whether `sdb` provably wrote it.
    """

    kind: str
    entry: Entry
    age_seconds: float
    is_ours: bool

    def remove(self) -> None:
        """Abort the upload, or delete the object."""
        store = store_of(self.entry.location)
        if self.kind == "upload":
            store.abort_upload(self.entry)
        else:
            store.delete(self.entry.location)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        facts = {"kind": self.kind, "url": self.entry.location, "is_ours": self.is_ours}
        number = {"id": self.entry.version} if self.kind == "upload" else {}
        return facts | number | {"age_seconds": round(self.age_seconds)}


def find_leftovers(location: str, least_seconds: float) -> list[Leftover]:
    """List what nobody has written to for some time.

    * ``location``: A bucket, the beginning of keys up to a slash, or the key of a packfile: then
      the uploads to that key are taken for ours.
    * ``least_seconds``: How long, at least an hour.

    Raises `UsageError` if it is less than an hour, since a writer may be at work; `AccessError` or
    `NotFoundError` if it may not be listed.
    """
    if least_seconds < LEAST_SECONDS:
        raise UsageError("writers may be at work for an hour", expected="1h, 7d or another time")
    store, now_us = store_of(location), time.time_ns() // 1000
    named = location if location.endswith(".zion") else ""
    folder = location.rpartition("/")[0] if named else location
    uploads = [entry for entry in store.uploads(folder) if named in {"", entry.location}]
    objects = [] if named else list(store.below(folder))
    written_us = _last_of_jobs([*uploads, *objects])
    manifests: dict[str, frozenset[str]] = {}
    leftovers = []
    for kind, entries in (("upload", uploads), ("", objects)):
        for entry in entries:
            actual = kind or _kind_of(entry, manifests)
            last_us = written_us.get(job_of(entry.location) or "", entry.modified_us)
            age = (now_us - last_us) / 1e6
            if actual and age >= least_seconds:
                is_ours = actual != "upload" or bool(named) or _is_ours(entry.location)
                leftovers.append(Leftover(actual, entry, age, is_ours))
    return leftovers


def _last_of_jobs(entries: Iterable[Entry]) -> dict[str, int]:
    """Return when each job of Spark wrote its last part, or began it."""
    last: dict[str, int] = {}
    for entry in entries:
        if (job := job_of(entry.location)) is not None:
            last[job] = max(last.get(job, 0), entry.modified_us)
    return last


def _kind_of(entry: Entry, manifests: dict[str, frozenset[str]]) -> str:
    """Return what an object is that was left; empty if it is something else."""
    folder, _, name = entry.location.rpartition("/")
    if _SCRATCH.fullmatch(name):
        return "scratch"
    if job_of(name) is None:
        return ""
    if folder not in manifests:
        manifest = read_manifest(f"{folder}/")
        manifests[folder] = frozenset() if manifest is None else manifest.names
    return "" if name in manifests[folder] else "part"


def _is_ours(location: str) -> bool:
    """Return whether `sdb` began an upload: by the name, or by the object that is in its place."""
    name = location.rpartition("/")[2]
    if job_of(name) is not None or _OWN_NAME.fullmatch(name):
        return True
    try:
        reader = open_read(location, head_bytes=1)
    except NotFoundError:
        return False
    reader.close()
    return bool(getattr(reader, "history", ()))
