"""Try if an endpoint enforces the conditions of requests that publish an object.

S3 does. Some stores that speak its protocol pass over what they do not know, and then the last of
two writers wins, and what the other one added is lost. So they are tried, with a name that nobody
has: a condition that cannot hold must fail. Nothing appears where conditions count; where they do
not, the scratch object is removed.
"""

from __future__ import annotations

import os
import threading

from sdb.errors import SdbError, UnsupportedError
from sdb.store.s3.address import HIDDEN, ObjectAddress
from sdb.store.s3.client import connect, endpoint
from sdb.store.s3.failures import status_of, translate
from sdb.store.s3.upload import Upload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NO_SUCH_VERSION = '"00000000000000000000000000000000"'
_REFUSALS = {404, 409, 412}
_NOT_IMPLEMENTED = 501
_HINT = "--unsafe-single-writer does without, if nobody else writes"

_guard = threading.Lock()
_known: dict[tuple[str, str, str], bool] = {}


def scratch(bucket: str, folder: str) -> ObjectAddress:
    """Return a place that nobody uses.

    * ``bucket``: The S3 bucket.
    * ``folder``: What its key begins with, up to a slash.
    """
    return ObjectAddress(bucket, f"{folder}{HIDDEN}doctor-{os.urandom(8).hex()}")


def check_conditions(address: ObjectAddress, *, completion: bool) -> None:
    """Require an endpoint that keeps one of two writers from undoing the other's work.

    It is tried once in a process for each endpoint and bucket; S3 itself is not tried.

    * ``completion``: Whether by completing an upload, and not with one request.

    Raises `UnsupportedError` if the endpoint ignores conditions and `SdbError` if it could not be
    tried.
    """
    service = endpoint()
    if service.is_aws:
        return
    probe = completes_conditionally if completion else puts_conditionally
    identity = (service.url, address.bucket, probe.__name__)
    folder = address.key[: address.key.rfind("/") + 1]
    with _guard:
        if identity not in _known:
            _known[identity] = probe(scratch(address.bucket, folder))
        if not _known[identity]:
            raise UnsupportedError(
                f"{service.url} ignores conditions of writes: two writers would undo each other",
                path=str(address),
                hint="sdb doctor tells more; --unsafe-single-writer if nobody else writes",
            )


def puts_conditionally(address: ObjectAddress) -> bool:
    """Check whether the endpoint enforces ``If-Match`` of a request; one request if it does."""
    return _is_refused(
        address,
        lambda: connect().put_object(**address.names, Body=b"", IfMatch=NO_SUCH_VERSION),
    )


def completes_conditionally(address: ObjectAddress) -> bool:
    """Return whether the endpoint enforces ``If-Match`` of a completion; five requests."""
    upload = Upload(address, {})
    try:
        upload.put(b"sdb")
        parts = upload.parts()
        return _is_refused(
            address,
            lambda: connect().complete_multipart_upload(
                **address.names,
                UploadId=upload.id,
                MultipartUpload=parts,
                IfMatch=NO_SUCH_VERSION,
            ),
        )
    except SdbError as error:
        error.hint = error.hint or _HINT
        raise
    finally:
        upload.abort()


def _is_refused(address: ObjectAddress, request: Callable[[], object]) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        request()
    except ClientError as error:
        if status_of(error) in _REFUSALS:
            return True
        if status_of(error) == _NOT_IMPLEMENTED:
            return False
        raise _untried(error, address) from error
    except BotoCoreError as error:
        raise _untried(error, address) from error
    discard(lambda: connect().delete_object(**address.names))
    return False


def _untried(error: Exception, address: ObjectAddress) -> Exception:
    failed = translate(error, "trying conditional writes with", str(address))
    failed.hint = failed.hint or _HINT
    return failed


def discard(request: Callable[[], object]) -> None:
    """Remove something that may be gone already."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        request()
    except (ClientError, BotoCoreError):
        return
