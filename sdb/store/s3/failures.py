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
_FORBIDDEN = 403
_MOST_SKEW_SECONDS = 900  # as AWS has it
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
_SETTINGS_HINT = "is the endpoint right? AWS_ENDPOINT_URL_S3, AWS_REGION, network"
# Classes of errors without an answer of a store, what they mean, and what to do.
_UNANSWERED: tuple[tuple[set[str], type[SdbError], str, str | None], ...] = (
    ({"SSOError", "TokenRetrievalError", "LoginError"}, AccessError, "{said}", "aws sso login"),
    ({*_NO_CREDENTIALS}, AccessError, "{said}", _CREDENTIALS_HINT),
    (
        {"SSLError"},
        SdbError,
        "no TLS with {place}: {reason}",
        "http:// if the endpoint has no TLS; AWS_CA_BUNDLE=FILE for a certificate of your own",
    ),
    (
        {"ProxyConnectionError"},
        SdbError,
        "the proxy {place} does not answer",
        "HTTPS_PROXY, HTTP_PROXY, NO_PROXY",
    ),
    (
        {"ConnectionClosedError"},
        SdbError,
        "{place} closes the connection without an answer",
        "is it an endpoint of S3? https:// if it has TLS; AWS_ENDPOINT_URL_S3",
    ),
    ({"ReadTimeoutError"}, SdbError, "{place} gives no answer", "run it again"),
    (
        {"EndpointConnectionError", "ConnectTimeoutError"},
        SdbError,
        "could not connect to {place}",
        _SETTINGS_HINT,
    ),
    (
        {"ResponseParserError"},
        SdbError,
        "the endpoint answers, but not as S3 does",
        "AWS_ENDPOINT_URL_S3 names another service",
    ),
    ({"HTTPClientError", "ConnectionError"}, SdbError, "{said}", _SETTINGS_HINT),
    (
        {"ConfigParseError", "ConfigNotFound"},
        UsageError,
        "{said}",
        "AWS_CONFIG_FILE, by default ~/.aws/config",
    ),
)
_HEADER_FAULT = "Invalid header value"  # the rest of the text has the credentials in it
_NEEDED = {
    "opening": "s3:GetObject",
    "reading": "s3:GetObject",
    "looking at": "s3:GetObject",
    "listing": "s3:ListBucket",
    "writing": "s3:PutObject",
    "locking": "s3:PutObject",
    "removing": "s3:DeleteObject",
    "listing uploads of": "s3:ListBucketMultipartUploads",
}
_MEANINGS: tuple[tuple[set[str], type[SdbError], str, str | None], ...] = (
    (
        {"NoSuchBucket"},
        NotFoundError,
        "there is no S3 bucket {bucket}",
        "aws s3 mb makes one; is AWS_ENDPOINT_URL_S3 right?",
    ),
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
    (
        {"SlowDown", "TooManyRequests", "RequestLimitExceeded", "Throttling"},
        SdbError,
        "the store takes no more requests at the moment ({code})",
        "run it again later, and fewer programs at a time",
    ),
    (
        {"InvalidObjectState"},
        AccessError,
        "the object is in an archive",
        "aws s3api restore-object brings it back",
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
    from botocore.parsers import ResponseParserError

    try:
        yield
    except (ClientError, BotoCoreError, Boto3Error, ResponseParserError) as error:
        raise translate(error, action, path) from error


def translate(error: Exception, action: str, path: str) -> SdbError:
    """Return the error to raise for one of boto3.

    * ``error``: What boto3 raised.
    * ``action, path``: See :func:`translated`.
    """
    where = f"{action} {path}"
    if status_of(error):
        answer = _answer(error, where, path)
        if isinstance(answer, AccessError) and answer.hint is None and action in _NEEDED:
            answer.hint = f"the policy of these credentials needs {_NEEDED[action]}"
        return answer
    text = " ".join(str(error).split())
    if _HEADER_FAULT in text:
        message = f"{where}: the credentials have a line end, or what else no request can have"
        return AccessError(message, path=path, hint=_CREDENTIALS_HINT)
    facts: dict[str, Any] = getattr(error, "kwargs", {})
    service = _service(str(facts.get("endpoint_url") or facts.get("proxy_url") or ""))
    names = {kind.__name__ for kind in type(error).__mro__}
    for kinds, kind, meaning, hint in _UNANSWERED:
        if names & kinds:
            said = meaning.format(said=_lowered(text), place=service, reason=_reason(facts))
            return kind(f"{where}: {said}", path=path, hint=hint)
    return UsageError(f"{where}: {_lowered(text)}", path=path, hint=_SETTINGS_HINT)


def _service(url: str) -> str:
    """Return the beginning of a URL up to the name of the host, and a port."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.partition("/")[0].rpartition("@")[2]


def _reason(facts: dict[str, Any]) -> str:
    """Return what OpenSSL says, without its numbers."""
    import re

    text = str(facts.get("error", ""))
    if "No such file" in text:
        return "AWS_CA_BUNDLE names no file"
    return re.sub(r"^.*\[SSL: [A-Z0-9_]+\] | \(_ssl.*$", "", text)


def _lowered(text: str) -> str:
    """Begin a sentence of others as our own begin."""
    first = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    return first.rstrip(".: ")


def _is_clock_wrong(error: Any) -> bool:  # noqa: ANN401 - made by boto3
    """Return whether the store has another time: it refuses that, and a HEAD has no reason."""
    import time
    from email.utils import parsedate_to_datetime

    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        stored_at = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        return False
    return abs(stored_at - time.time()) > _MOST_SKEW_SECONDS


def _answer(error: Any, where: str, path: str) -> SdbError:  # noqa: ANN401 - made by boto3
    """Translate an answer of the store."""
    code, status = code_of(error), status_of(error)
    if status == _FORBIDDEN and code == "AccessDenied" and _is_clock_wrong(error):
        code = "RequestTimeTooSkewed"
    said = _lowered(str(error.response.get("Error", {}).get("Message", "")).strip())
    if code in _CONFLICTS:
        return changed(where, path)
    if code in _REGIONS or (code == "BadRequest" and _region(error)):
        return _wrong_region(error, where, path)
    for codes, kind, text, hint in _MEANINGS:
        if code in codes:
            bucket = error.response["Error"].get("BucketName", "S3 bucket")
            detail = text.format(code=code, said=said or code, bucket=bucket)
            return kind(f"{where}: {detail}", path=path, hint=hint)
    return _by_status(status, code, said, where, path)


def _by_status(status: int, code: str, said: str, where: str, path: str) -> SdbError:
    """Translate an answer that has no known meaning."""
    if status in {401, 403}:
        return AccessError(f"{where}: access denied ({code})", path=path)
    if status == _BAD_REQUEST and code == "BadRequest":  # of an answer without a body
        message = f"{where}: the store does not take this, and gives no reason"
        hint = "have the credentials expired? is AWS_REGION right?"
        return UsageError(message, path=path, hint=hint)
    if status == _BAD_REQUEST and code not in _BROKEN:
        return UsageError(f"{where}: the store does not take this ({code}: {said})", path=path)
    if status in {405, _NOT_IMPLEMENTED}:
        return UnsupportedError(f"{where}: the store cannot do this ({code}: {said})", path=path)
    named = "" if code == str(status) else f" {code}"
    message = f"{where}: the store answers {status}{named}: {said}"
    return SdbError(message, path=path, hint="run it again")


def changed(where: str, path: str) -> ConflictError:
    """Return the error for an object that is not what it was any more."""
    return ConflictError(f"{where}: another writer changed it", path=path, hint="run it again")


def _wrong_region(error: Any, where: str, path: str) -> SdbError:  # noqa: ANN401 - made by boto3
    region = _region(error)
    actual = f"region {region}" if region else "another region"
    hint = f"AWS_REGION={region}" if region else "AWS_REGION, or AWS_ENDPOINT_URL_S3"
    return SdbError(f"{where}: the S3 bucket is in {actual}", path=path, hint=hint)


def _region(error: Any) -> str:  # noqa: ANN401 - made by boto3
    """Return the region of the S3 bucket, as far as an answer has it."""
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return str(headers.get("x-amz-bucket-region") or error.response["Error"].get("Region") or "")
