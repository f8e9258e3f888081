"""Translate failures of the store, and of the way to it, into exceptions of `sdb`."""

from __future__ import annotations

import contextlib

from sdb.errors import (
    AccessError,
    ConflictError,
    NotFoundError,
    SdbError,
    UnsupportedError,
    UsageError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SERVER_FAULT = 500
_CREDENTIALS_HINT = "aws configure, AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_NO_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "NoAuthTokenError",
    "TokenRetrievalError",
    "SSOError",
    "LoginError",
    "ProfileNotFound",
    "InfiniteLoopConfigError",
)
_NOT_SENT = (
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ProxyConnectionError",
    "ParamValidationError",
)
_BAD_REQUEST = 400
_NOT_IMPLEMENTED = 501
_MAY_BE_REPEATED = {404, 409, 412}
# What went wrong on the way; another 400 is a request that the store will never take.
_BROKEN = {
    "BadDigest",
    "IncompleteBody",
    "InvalidPart",
    "InvalidPartOrder",
    "RequestTimeout",
    "XAmzContentSHA256Mismatch",
}
_CONFLICTS = {"PreconditionFailed", "ConditionalRequestConflict", "OperationAborted"}
_REGIONS = {
    "PermanentRedirect",
    "TemporaryRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
}
_MEANINGS: tuple[tuple[set[str], type[SdbError], str, str | None], ...] = (
    ({"NoSuchBucket"}, NotFoundError, "there is no S3 bucket {bucket}", None),
    ({"NoSuchKey", "NotFound"}, NotFoundError, "no such object", None),
    (
        {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"},
        NotFoundError,
        "there is no such queue",
        None,
    ),
    ({"NoSuchUpload"}, ConflictError, "another program aborted the upload", "run it again"),
    (
        {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"},
        AccessError,
        "the credentials have expired",
        "log in again",
    ),
    (
        {"InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "UnrecognizedClient"},
        AccessError,
        "the store does not accept the credentials ({code})",
        _CREDENTIALS_HINT,
    ),
    (
        {"RequestTimeTooSkewed"},
        AccessError,
        "the clock of this machine is wrong",
        "set it by NTP",
    ),
    ({"InvalidBucketName", "InvalidURI", "KeyTooLongError"}, UsageError, "{said}", None),
)
_STATUS_CODES = {
    301: "PermanentRedirect",
    307: "TemporaryRedirect",
    400: "BadRequest",
    403: "AccessDenied",
    404: "NoSuchKey",
    405: "MethodNotAllowed",
    409: "ConditionalRequestConflict",
    412: "PreconditionFailed",
    501: "NotImplemented",
}


def is_answer(error: Exception) -> bool:
    """Return whether the store has decided: it answered, and not that it failed itself."""
    status = status_of(error)
    return 0 < status < SERVER_FAULT or status == _NOT_IMPLEMENTED


def is_refusal(error: Exception) -> bool:
    """Return whether the answer says by itself that nothing was written.

    Others may come from a repetition, on the way, of a request that took place: that a condition
    does not hold, or that there is no such upload.
    """
    if not is_answer(error):
        return False
    return status_of(error) not in _MAY_BE_REPEATED or code_of(error) == "NoSuchBucket"


def was_sent(error: Exception) -> bool:
    """Return whether the request may have reached the store; not where no server listens."""
    return not {kind.__name__ for kind in type(error).__mro__} & {*_NO_CREDENTIALS, *_NOT_SENT}


def status_of(error: Exception) -> int:
    """Return the HTTP status of an answer; 0 without one."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def code_of(error: Exception) -> str:
    """Return the name that the store gives an error; an answer without a body has a status only."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    code = str(response.get("Error", {}).get("Code", ""))
    return _STATUS_CODES.get(status_of(error), code) if code.isdigit() or not code else code


@contextlib.contextmanager
def translated(action: str, path: str) -> Iterator[None]:
    """Turn errors of boto3 into those of `sdb`.

    * ``action``: What is tried, as in ``"reading"``.
    """
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (ClientError, BotoCoreError, Boto3Error) as error:
        raise translate(error, action, path) from error


def translate(error: Exception, action: str, path: str) -> SdbError:
    """Return the error to raise for one of boto3.

    * ``error``: What boto3 raised.
    * ``action, path``: See :func:`translated`.
    """
    if status_of(error):
        return _answer(error, f"{action} {path}", path)
    where = f"{action} {path}"
    text = " ".join(str(error).split())
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {*_NO_CREDENTIALS}:
        return AccessError(f"{where}: {_lowered(text)}", path=path, hint=_CREDENTIALS_HINT)
    if names & {"HTTPClientError", "ConnectionError"}:
        return SdbError(
            f"{where}: {_lowered(text)}",
            path=path,
            hint="is the endpoint right? AWS_ENDPOINT_URL_S3, AWS_REGION, network",
        )
    return UsageError(f"{where}: {_lowered(text)}", path=path)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:].removesuffix(".")


def _answer(error: Any, where: str, path: str) -> SdbError:  # noqa: ANN401 - made by boto3
    """Translate an answer of the store."""
    code, status = code_of(error), status_of(error)
    said = _lowered(str(error.response.get("Error", {}).get("Message", "")).strip())
    if code in _CONFLICTS:
        return changed(where, path)
    if code in _REGIONS:
        return _wrong_region(error, where, path)
    for codes, kind, text, hint in _MEANINGS:
        if code in codes:
            bucket = error.response["Error"].get("BucketName", "S3 bucket")
            detail = text.format(code=code, said=said or code, bucket=bucket)
            return kind(f"{where}: {detail}", path=path, hint=hint)
    return _by_status(status, code, said, where, path)


def _by_status(status: int, code: str, said: str, where: str, path: str) -> SdbError:
    """Translate an answer that has no meaning of its own."""
    if status in {401, 403}:
        return AccessError(f"{where}: access denied ({code})", path=path)
    if status == _BAD_REQUEST and code not in _BROKEN:
        return UsageError(f"{where}: the store does not take this ({code}: {said})", path=path)
    if status in {405, _NOT_IMPLEMENTED}:
        return UnsupportedError(f"{where}: the store cannot do this ({code}: {said})", path=path)
    return SdbError(f"{where}: the store answers {status} {code}: {said}", path=path)


def changed(where: str, path: str) -> ConflictError:
    """Return the error for an object that is not what it was any more."""
    return ConflictError(f"{where}: another writer changed it", path=path, hint="run it again")


def _wrong_region(error: Any, where: str, path: str) -> SdbError:  # noqa: ANN401 - made by boto3
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = headers.get("x-amz-bucket-region") or error.response["Error"].get("Region")
    actual = f"region {region}" if region else "another region"
    hint = f"AWS_REGION={region}" if region else "AWS_REGION, or AWS_ENDPOINT_URL_S3"
    return SdbError(f"{where}: the S3 bucket is in {actual}", path=path, hint=hint)
