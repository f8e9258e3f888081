"""Objects below a prefix of keys, which is the nearest that S3 has to a folder."""

from __future__ import annotations

from itertools import islice

from sdb.errors import ConflictError, ExistsError, NotFoundError
from sdb.store.base import Entry
from sdb.store.keypatterns import literal_start
from sdb.store.s3.address import HIDDEN, SCHEME, matcher, parse, split
from sdb.store.s3.client import connect
from sdb.store.s3.drafts import S3Draft, drafting
from sdb.store.s3.failures import code_of, translated
from sdb.store.s3.orphans import open_uploads
from sdb.store.s3.probe import check_conditions
from sdb.store.s3.publish import Condition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.store.s3.objects import S3Reader


def entries(url: str, after: str = "", most: int | None = None) -> list[Entry]:
    """List the objects directly below a URL; see :meth:`sdb.store.base.Store.list`."""
    bucket, start = _start(url)
    listed = _listed(bucket, start, url, flat=True, after=after)
    return sorted(islice(listed, most), key=lambda entry: entry.name)


def below(url: str) -> Iterator[Entry]:
    """List the objects below a URL at any depth; see :meth:`sdb.store.base.Store.below`."""
    bucket, start = _start(url)
    return _listed(bucket, start, url, flat=False)


def folders(url: str) -> list[str]:
    """List the folders directly below a URL; see :meth:`sdb.store.base.Store.folders`."""
    bucket, start = _start(url)
    names: set[str] = set()
    with translated("listing", url):
        pages = connect().get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=start, Delimiter="/"):
            prefixes = (
                str(prefix_entry["Prefix"]) for prefix_entry in page.get("CommonPrefixes", ())
            )
            names.update(prefix[len(start) : -1] for prefix in prefixes)
    return sorted(names - {""})


def matching(pattern: str) -> list[Entry]:
    """List the objects that a pattern matches.

    Only what begins like the pattern is listed.

    * ``pattern``: A URL, such as ``s3://bucket/2026/**/*.json.gz``; see
      :func:`sdb.store.s3.address.matcher`.

    Raises `NotFoundError` if there is no such S3 bucket and `AccessError` if the S3 bucket may not
    be listed.
    """
    bucket, key = split(pattern)
    start = literal_start(key)
    rest = key[len(start) :]
    fits = matcher(pattern)
    listed = _listed(bucket, start, pattern, flat="/" not in rest and "**" not in rest)
    return sorted(
        (entry for entry in listed if fits(entry.location)),
        key=lambda entry: entry.location.encode(),
    )


def _listed(bucket: str, start: str, url: str, *, flat: bool, after: str = "") -> Iterator[Entry]:
    """List the objects whose keys begin so; flat: without those that have a slash after that."""
    options = {"Delimiter": "/"} if flat else {}
    options |= {"StartAfter": start + after} if after else {}
    with translated("listing", url):
        pages = connect().get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=start, **options):
            for listed in page.get("Contents", ()):
                key = str(listed["Key"])
                if key.endswith("/") or key.rpartition("/")[2].startswith(HIDDEN):
                    continue
                modified_us = int(listed["LastModified"].timestamp() * 1_000_000)
                location = f"{SCHEME}{bucket}/{key}"
                yield Entry(location, int(listed["Size"]), str(listed["ETag"]), modified_us)


def version(url: str) -> str | None:
    """Return the ETag of an object; None: it does not exist."""
    address = parse(url)
    try:
        with translated("looking at", url):
            return str(connect().head_object(**address.names)["ETag"])
    except NotFoundError:
        return None


def head(url: str) -> Entry | None:
    """Look at an object; None: it does not exist. Its time has whole seconds."""
    address = parse(url)
    try:
        with translated("looking at", url):
            answer = connect().head_object(**address.names)
    except NotFoundError:
        return None
    modified_us = int(answer["LastModified"].timestamp() * 1_000_000)
    return Entry(str(address), int(answer["ContentLength"]), str(answer["ETag"]), modified_us)


def delete(url: str) -> None:
    """Delete an object; one that is not there is deleted already."""
    address = parse(url)
    with translated("removing", url):
        connect().delete_object(**address.names)


def uploads(url: str) -> list[Entry]:
    """List open uploads below a URL; see :meth:`sdb.store.base.Store.uploads`."""
    bucket, start = _start(url)
    return [
        Entry(str(upload.address), 0, upload.id, upload.begun_us)
        for upload in open_uploads(bucket, start)
    ]


def abort_upload(upload: Entry) -> None:
    """Abort an upload; see :meth:`sdb.store.base.Store.abort_upload`."""
    from botocore.exceptions import ClientError

    address = parse(upload.location)
    with translated("giving up an upload of", upload.location):
        try:
            connect().abort_multipart_upload(**address.names, UploadId=upload.version)
        except ClientError as error:
            if code_of(error) != "NoSuchUpload":
                raise


def abort_orphaned_uploads(url: str, is_ours: Callable[[str], bool]) -> None:
    """Abort the uploads that nobody will complete."""
    _, start = _start(url)
    for upload in uploads(url):
        if is_ours(parse(upload.location).key[len(start) :]):
            abort_upload(upload)


def put_if_match(url: str, data: bytes, replaced: S3Reader | None, *, durable: bool = True) -> str:
    """Replace a version of an object; see :meth:`sdb.store.base.Store.put_if_match`."""
    address = parse(url)
    check_conditions(address, completion=False)
    with drafting(S3Draft(address, replaced.settings if replaced else {})) as draft:
        draft.write(data)
        if draft.upload.id:
            check_conditions(address, completion=True)
        try:
            condition = Condition(replaced=replaced, absent=replaced is None)
            return draft.publish(condition, alone=durable)
        except ExistsError as error:
            raise ConflictError(error.message, path=url, hint="run it again") from error


def _start(url: str) -> tuple[str, str]:
    """Return the bucket, and what the keys below a URL begin with."""
    bucket, key = split(url)
    return bucket, f"{key.rstrip('/')}/" if key.strip("/") else ""
