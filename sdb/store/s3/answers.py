"""Answers that S3 does not give, such as the page of a proxy: they are errors, and not empty."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.store.s3.client import Client

_NEEDED = {
    "HeadObject": {"ETag"},
    "ListObjectsV2": {"Name", "KeyCount", "IsTruncated", "Contents", "CommonPrefixes"},
}
"""Members of which each answer has one at least."""
_REGION = "x-amz-bucket-region"


def register(client: Client) -> None:
    """Look at all answers that a client gets."""
    for name in _NEEDED:
        client.meta.events.register_last(f"after-call.s3.{name}", _check)
    client.meta.events.register_first("needs-retry.s3", _check_redirection)


def _check(http_response: Any, parsed: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's
    if http_response.status_code < 300 and not _NEEDED[model.name] & parsed.keys():  # noqa: PLR2004
        raise _not_s3(f"the answer to {model.name} has none of its members")


def _check_redirection(response: Any, **_: object) -> None:  # noqa: ANN401 - botocore's
    """Refuse to look for the region of an S3 bucket where the answer is not one of S3.

    botocore asks the endpoint for it, which redirects that, too, and so on.
    """
    if response is None or not 300 <= response[0].status_code < 400:  # noqa: PLR2004
        return
    error = response[1].get("Error", {})
    if _REGION not in response[0].headers and not str(error.get("Code", "")).isalpha():
        raise _not_s3("a redirection without a region")


def _not_s3(text: str) -> Exception:
    from botocore.parsers import ResponseParserError

    error: Exception = ResponseParserError(text)
    return error
