"""Objects that appear when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import io
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeVar, cast

from sdb.errors import ExistsError
from sdb.store.s3.address import ObjectAddress, parse
from sdb.store.s3.client import connect
from sdb.store.s3.failures import status_of, translated
from sdb.store.s3.history import new_id, settings
from sdb.store.s3.lock import exclusive
from sdb.store.s3.parts import Parts
from sdb.store.s3.publish import Condition, Publication
from sdb.store.s3.upload import Upload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from _typeshed import ReadableBuffer

_NOT_FOUND = 404
_AnyDraft = TypeVar("_AnyDraft", bound="S3Draft")


class S3Draft:
    """An object in the making.

    * ``before``: The settings of what it grows from, see :mod:`sdb.store.s3.history`.
    """

    def __init__(self, address: ObjectAddress, before: dict[str, Any]) -> None:
        self.write_id = new_id()
        self.address = address
        self.settings = settings(self.write_id, before)
        self.upload = Upload(address, self.settings)
        self.parts = Parts(self.upload)

    @property
    def written_bytes(self) -> int:
        """Number of bytes that went through this program."""
        return self.parts.written_bytes

    def write(self, data: bytes, /) -> int:
        """Write bytes at the end."""
        return self.parts.write(data)

    def publish(self, condition: Condition, *, alone: bool = True) -> str:
        """Publish the object, and return its ETag, see :meth:`Publication.run`.

        A small one is sent with one request, others appear when their upload is completed.

        * ``alone``: Whether nobody else may publish there at the same time. A single request that
          makes an object that is not there needs no lock: it is what the lock itself is made with.
        """
        if not self.upload.id:
            send = partial(
                connect(once=True).put_object,
                **self.address.names,
                Body=self.parts.rest(),
                **self.settings,
                **condition.headers,
            )
            publication = Publication(self.address, self.write_id, condition, send)
        else:
            self.parts.flush()
            send = partial(
                connect(once=True).complete_multipart_upload,
                **self.address.names,
                UploadId=self.upload.id,
                MultipartUpload=self.upload.parts(),
                **condition.headers,
            )
            publication = Publication(self.address, self.write_id, condition, send, self.upload)
        guard: AbstractContextManager[None] = nullcontext()
        if condition.headers and (alone or not condition.absent or self.upload.id):
            guard = exclusive(self.address, required=condition.replaced is not None)
        with guard, translated("writing", str(self.address)):
            etag = publication.run()
        self.upload.finish()
        return etag


class _File(io.RawIOBase):
    """Makes a draft a file."""

    def __init__(self, draft: S3Draft) -> None:
        super().__init__()
        self._draft = draft

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        return self._draft.write(bytes(data))


@contextlib.contextmanager
def atomic_write(url: str, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Write an object that appears when it is complete, or not at all.

    A small object is sent in one request; a larger one in parts, in the background, so that the
    writer goes on meanwhile. Any exception, an interrupt included, gives the upload up.

    * ``overwrite``: Whether an object that is there may be replaced. Without it, one that appears
      while the block runs is left alone too.

    Raises `ExistsError` if there is an object, and `overwrite` is off; `NotFoundError` or
    `AccessError` if there is no such bucket, or it may not be written to; `UncertainError` if it is
    not known whether the object was written.
    """
    address = parse(url)
    if not overwrite:
        check_absent(address)
    with drafting(S3Draft(address, {})) as draft:
        yield cast("BinaryIO", _File(draft))
        draft.publish(Condition(absent=not overwrite))


@contextlib.contextmanager
def drafting(draft: _AnyDraft) -> Iterator[_AnyDraft]:
    """Yield the upload of a draft up when the block fails."""
    try:
        yield draft
    except BaseException:
        draft.upload.abort()
        raise


def check_absent(address: ObjectAddress) -> None:
    """Check that nothing is there, before anything is done.

    Raises `ExistsError` if there is an object.
    """
    from botocore.exceptions import ClientError

    with translated("writing", str(address)):
        try:
            connect().head_object(**address.names)
        except ClientError as error:
            if status_of(error) == _NOT_FOUND:
                return
            raise
    raise ExistsError(f"{address} exists already", path=str(address), hint="--force replaces it")
