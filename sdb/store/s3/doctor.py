"""Finds out what an endpoint really does, with scratch objects that it removes again."""

from __future__ import annotations

import time
from contextlib import ExitStack

from sdb.errors import ConflictError, SdbError
from sdb.records import record
from sdb.store.s3.address import split
from sdb.store.s3.client import connect, endpoint
from sdb.store.s3.failures import is_answer, status_of, translate, translated
from sdb.store.s3.history import ids_of, new_id, settings
from sdb.store.s3.objects import S3Reader
from sdb.store.s3.orphans import OpenUpload, open_uploads
from sdb.store.s3.probe import NO_SUCH_VERSION, discard, scratch
from sdb.store.s3.upload import Upload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.s3.address import ObjectAddress

_DATA = b"0123456789"
_REFUSED = 412
_PARTIAL = 206
_FOR_APPEND = {
    "complete-if-match",
    "multipart",
    "put-if-match",
    "put-if-none-match",
    "ranged-reads",
}
_FOR_NEW = {"put-if-none-match", "complete-if-none-match"}


@record
class Check:
    """One thing that was tried.

    Attributes
    ----------
    name : str
        Its stable name.
    what : str
        What should hold.
    ok : bool
        Whether it does.
    detail : str
        What the endpoint did instead.
    """

    name: str
    what: str
    ok: bool
    detail: str


@record
class Diagnosis:
    """The diagnosis of an endpoint.

    Attributes
    ----------
    url : str
        The place that was tried.
    endpoint : str
        The URL of the service.
    checks : tuple of Check
        What was tried, in order.
    uploads : tuple of OpenUpload
        Uploads below that place that are open.
    seconds : float
        How long it took.
    """

    url: str
    endpoint: str
    checks: tuple[Check, ...]
    uploads: tuple[OpenUpload, ...]
    seconds: float

    @property
    def append_is_safe(self) -> bool:
        """True if two who append at the same time cannot undo each other's work."""
        return all(check.ok for check in self.checks if check.name in _FOR_APPEND)

    @property
    def new_is_safe(self) -> bool:
        """True if an object that appears meanwhile is not replaced by a new one."""
        return all(check.ok for check in self.checks if check.name in _FOR_NEW)

    @property
    def copies(self) -> bool:
        """True if the store copies what stays of a packfile that grows."""
        return endpoint().copies_parts and self._holds("part-copy")

    @property
    def recognises(self) -> bool:
        """True if a write without an answer can be recognised afterwards."""
        return self._holds("metadata")

    @property
    def locks(self) -> bool:
        """True if those who append take a lock: only S3 itself is known to choose one."""
        return not endpoint().is_aws

    def _holds(self, name: str) -> bool:
        return any(check.ok for check in self.checks if check.name == name)


def diagnose(url: str) -> Diagnosis:
    """Try what an endpoint does.

    Two scratch objects of a few bytes are written below `url`, whose names begin with
    ``.sdb-doctor-``, and removed again.

    * ``url``: A bucket, or what the keys begin with, such as ``s3://bucket/events/``.

    Raises `AccessError` or `NotFoundError` if there is no such bucket, or it may not be written to.
    """
    began = time.monotonic()
    bucket, key = split(url)
    folder = key if not key or key.endswith("/") else f"{key}/"
    with ExitStack() as stack:
        trial = _Trial(scratch(bucket, folder), scratch(bucket, folder), stack)
        trial.begin()
        checks = [trial.check(*each) for each in trial.checks()]
    uploads = _listed(bucket, folder)
    return Diagnosis(
        url, endpoint().url, tuple(checks), uploads, round(time.monotonic() - began, 3)
    )


def _listed(bucket: str, folder: str) -> tuple[OpenUpload, ...]:
    try:
        return tuple(open_uploads(bucket, folder))
    except SdbError:
        return ()


class _Trial:
    """A scratch object and a second one that is not there."""

    def __init__(self, address: ObjectAddress, absent: ObjectAddress, stack: ExitStack) -> None:
        self._place = address
        self._absent = absent
        self._stack = stack
        self._write_id = new_id()
        self._etag = ""

    def begin(self) -> None:
        """Write the scratch object; without the right to, the error says why."""
        for address in (self._place, self._absent):
            self._stack.callback(self._remove, address)
        with translated("writing", str(self._place)):
            self._etag = self._put(**settings(self._write_id, {}))

    def _remove(self, address: ObjectAddress) -> None:
        discard(lambda: connect().delete_object(**address.names))

    def _put(self, **options: object) -> str:
        answer = connect().put_object(**self._place.names, Body=_DATA, **options)
        return str(answer["ETag"])

    def checks(self) -> list[tuple[str, str, Callable[[], str]]]:
        """Return name, description and function of each check; the function tells what is wrong."""
        wrong, absent = {"IfMatch": NO_SUCH_VERSION}, {"IfNoneMatch": "*"}
        return [
            ("ranged-reads", "reads ranges, and the end without knowing the size", self._ranges),
            ("read-if-match", "refuses to read a version that is gone", self._read_version),
            ("metadata", "keeps metadata, by which lost answers are resolved", self._metadata),
            ("listing", "lists what was just written", self._listing),
            (
                "put-if-none-match",
                "does not replace with If-None-Match",
                lambda: self._refuses(absent),
            ),
            (
                "put-if-match",
                "puts only over the version of If-Match",
                lambda: self._refuses(wrong),
            ),
            ("multipart", "completes uploads over the version of If-Match", self._multipart),
            (
                "complete-if-none-match",
                "does not complete over an object with If-None-Match",
                lambda: self._completion_refuses(absent),
            ),
            (
                "complete-if-match",
                "completes only over the version of If-Match",
                lambda: self._completion_refuses(wrong),
            ),
            ("part-copy", "copies ranges of objects", self._copy),
            ("copy-if-match", "refuses to copy a version that is gone", self._copy_version),
            ("part-size", "parts but the last need 5 MiB, as on S3", self._part_size),
        ]

    def check(self, name: str, what: str, attempt: Callable[[], str]) -> Check:
        """Try one thing."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            detail = attempt()
        except (ClientError, BotoCoreError) as error:
            detail = translate(error, "trying", str(self._place)).message.rpartition(": ")[2]
        except SdbError as error:
            detail = error.message
        return Check(name, what, not detail, detail)

    def _ranges(self) -> str:
        client = connect()
        for wanted, start, stop in (("bytes=2-4", 2, 5), ("bytes=-3", 7, 10)):
            answer = client.get_object(**self._place.names, Range=wanted)
            data = answer["Body"].read()
            if answer["ResponseMetadata"]["HTTPStatusCode"] != _PARTIAL:
                return "sends whole objects"
            if data != _DATA[start:stop]:
                return f"sends other bytes for {wanted}"
            if answer.get("ContentRange") != f"bytes {start}-{stop - 1}/{len(_DATA)}":
                return "does not tell the size of the object"
        return ""

    def _read_version(self) -> str:
        return _refusal(lambda: connect().get_object(**self._place.names, IfMatch=NO_SUCH_VERSION))

    def _metadata(self) -> str:
        ids = ids_of(connect().head_object(**self._place.names))
        return "" if self._write_id in ids else "loses it"

    def _listing(self) -> str:
        address = self._place
        answer = connect().list_objects_v2(Bucket=address.bucket, Prefix=address.key)
        return (
            "" if [entry["Key"] for entry in answer.get("Contents", ())] == [address.key] else "no"
        )

    def _refuses(self, condition: dict[str, str]) -> str:
        wrong = _refusal(lambda: self._put(**condition))
        self._etag = self._put() if wrong else self._put(IfMatch=self._etag)
        return wrong

    def _multipart(self) -> str:
        upload = self._upload()
        upload.put(_DATA)
        answer = self._complete(upload, IfMatch=self._etag)
        self._etag = str(answer["ETag"])
        return ""

    def _completion_refuses(self, condition: dict[str, str]) -> str:
        upload = self._upload()
        upload.put(_DATA)
        wrong = _refusal(lambda: self._complete(upload, **condition))
        if wrong:
            self._etag = self._put()
        return wrong

    def _upload(self, address: ObjectAddress | None = None) -> Upload:
        upload = Upload(address or self._place, {})
        self._stack.callback(upload.abort)
        return upload

    def _complete(self, upload: Upload, **condition: str) -> dict[str, object]:
        answer: dict[str, object] = connect().complete_multipart_upload(
            **upload.address.names, UploadId=upload.id, MultipartUpload=upload.parts(), **condition
        )
        return answer

    def _copy(self) -> str:
        self._copy_of(self._etag)
        return ""

    def _copy_version(self) -> str:
        try:
            self._copy_of(NO_SUCH_VERSION)
        except ConflictError:
            return ""
        return "ignores the condition"

    def _copy_of(self, etag: str) -> None:
        upload = self._upload(self._absent)
        upload.copy(S3Reader(self._place, len(_DATA), etag, {}, (0, b"")), 2, 5)
        upload.parts()

    def _part_size(self) -> str:
        from botocore.exceptions import ClientError

        upload = self._upload(self._absent)
        upload.put(_DATA)
        upload.put(_DATA)
        try:
            self._complete(upload)
        except ClientError as error:
            return "" if is_answer(error) else "fails"
        return "accepts smaller ones"


def _refusal(request: Callable[[], object]) -> str:
    """Report what is wrong with the answer to something that must be refused."""
    from botocore.exceptions import ClientError

    try:
        request()
    except ClientError as error:
        status = status_of(error)
        return "" if status == _REFUSED else f"answers {status} and not {_REFUSED}"
    return "ignores the condition"
