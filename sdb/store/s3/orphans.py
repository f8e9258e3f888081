"""Uploads that nobody will complete: no listing of objects shows them, and still they cost."""

from __future__ import annotations

import contextlib
import datetime as dt

from sdb.errors import SdbError
from sdb.records import record
from sdb.store.s3.address import ObjectAddress
from sdb.store.s3.client import connect
from sdb.store.s3.failures import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CLOCK_SECONDS = 2.0


@record
class OpenUpload:
    """An upload that was neither completed nor given up.

    Attributes
    ----------
    address : ObjectAddress
        Where the object would be.
    id : str
        The number of the upload.
    begun_us : int
        When it was begun, in microseconds since 1970, by the clock of the store.
    age_seconds : float
        How long ago that is, by the same clock.
    """

    address: ObjectAddress
    id: str
    begun_us: int
    age_seconds: float


def open_uploads(bucket: str, prefix: str) -> Iterator[OpenUpload]:
    """List uploads that are open.

    * ``bucket``: The S3 bucket.
    """
    with translated("listing uploads of", str(ObjectAddress(bucket, prefix))):
        pages = connect().get_paginator("list_multipart_uploads")
        for page in pages.paginate(Bucket=bucket, Prefix=prefix):
            now = clock(page)
            for entry in page.get("Uploads", ()):
                begun = entry["Initiated"]
                age = (now - begun).total_seconds()
                begun_us = int(begun.timestamp() * 1_000_000)
                yield OpenUpload(
                    ObjectAddress(bucket, entry["Key"]), entry["UploadId"], begun_us, age
                )


def clock(answer: dict[str, Any]) -> dt.datetime:
    """Return the time at which the store answered, by its own clock."""
    from email.utils import parsedate_to_datetime

    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    return parsedate_to_datetime(date) if date else dt.datetime.now(dt.UTC)


def remove_nameless(address: ObjectAddress, own: str, seconds: float) -> None:
    """Abort uploads that were begun without an answer, so that their number is not known.

    They have no parts, where those of others have got one by now. Should one of another writer be
    hit all the same, that writer starts over.

    * ``own``: The number of the upload that did get an answer.
    * ``seconds``: How long ago the first one without an answer was begun.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    with contextlib.suppress(ClientError, BotoCoreError, SdbError):
        for upload in list(open_uploads(address.bucket, address.key)):
            is_recent = upload.age_seconds <= seconds + _CLOCK_SECONDS
            if upload.address == address and upload.id != own and is_recent:
                part = {**address.names, "UploadId": upload.id}
                if not connect().list_parts(**part, MaxParts=1).get("Parts"):
                    connect().abort_multipart_upload(**part)
