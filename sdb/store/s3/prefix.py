"""Objects below a prefix of keys, which is the nearest that S3 has to a folder."""

from __future__ import annotations

from sdb.errors import ConflictError, ExistsError
from sdb.store.s3.client import connect
from sdb.store.s3.drafts import Draft, drafting
from sdb.store.s3.failures import code_of, translated
from sdb.store.s3.orphans import open_uploads
from sdb.store.s3.place import HIDDEN, parse, split
from sdb.store.s3.probe import check_conditions
from sdb.store.s3.publish import Condition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.s3.objects import S3Reader


def names(url: str) -> list[str]:
    """List the names directly below a URL; see :func:`sdb.store.folder.names`."""
    bucket, start = _start(url)
    found: list[str] = []
    with translated("listing", url):
        pages = connect().get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=start, Delimiter="/"):
            keys = (str(entry["Key"]) for entry in page.get("Contents", ()))
            found += [key[len(start) :] for key in keys if not key.endswith("/")]
    return [name for name in found if not name.startswith(HIDDEN)]


def remove(url: str) -> None:
    """Remove an object; one that is not there is removed already."""
    place = parse(url)
    with translated("removing", url):
        connect().delete_object(**place.names)


def abandon(url: str, is_ours: Callable[[str], bool]) -> None:
    """Give up the uploads that nobody will complete; see :func:`sdb.store.folder.abandon`."""
    from botocore.exceptions import ClientError

    bucket, start = _start(url)
    for upload in list(open_uploads(bucket, start)):
        if not is_ours(upload.place.key[len(start) :]):
            continue
        with translated("giving up an upload of", str(upload.place)):
            try:
                connect().abort_multipart_upload(**upload.place.names, UploadId=upload.id)
            except ClientError as error:
                if code_of(error) != "NoSuchUpload":
                    raise


def exchange(source: S3Reader | None, data: bytes, url: str) -> None:
    """Put an object in the place of another version; see :func:`sdb.store.folder.exchange`."""
    place = parse(url)
    check_conditions(place, completion=False)
    with drafting(Draft(place, source.settings if source else {})) as draft:
        draft.write(data)
        if draft.upload.id:
            check_conditions(place, completion=True)
        try:
            draft.publish(Condition(replaced=source, absent=source is None))
        except ExistsError as error:
            raise ConflictError(error.message, path=url, hint="run it again") from error


def _start(url: str) -> tuple[str, str]:
    """Give the bucket, and what the keys below a URL begin with."""
    bucket, key = split(url)
    return bucket, f"{key.rstrip('/')}/" if key.strip("/") else ""
