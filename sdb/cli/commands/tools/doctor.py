"""`sdb doctor`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson
from sdb.cli.parameters import Argument
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.store.s3.doctor import Diagnosis

EXAMPLES = ("sdb doctor s3://bucket/events/", "sdb doctor --json s3://bucket")

_HOUR_SECONDS = 3600
_DAY_SECONDS = 24 * _HOUR_SECONDS


def command(
    url: Annotated[str, Argument(metavar="URL", help="A bucket, or a prefix in it.")],
    as_json: AsJson = False,
) -> int:
    """Test what an S3 endpoint can do, and if append is safe.

    Writes small scratch objects below the URL and removes them. Exit code 1 when append is not
    safe.
    """
    from sdb.store.url import diagnose

    diagnosis = diagnose(url)
    if as_json:
        output.say_json(_facts(diagnosis))
    else:
        output.say(output.plain("\n".join(_lines(diagnosis))))
    return 0 if diagnosis.append_is_safe else 1


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = [f"{diagnosis.url} at {diagnosis.endpoint}"]
    for check in diagnosis.checks:
        mark = "ok" if check.ok else "NO"
        lines.append(f"  {mark}  {check.what}" + (f": {check.detail}" if check.detail else ""))
    lines.append("append:    " + _append(diagnosis))
    known = "protected" if diagnosis.new_is_safe else "an object that appears meanwhile is replaced"
    lines.append(f"pack:      {known}")
    lost = "resolved by looking" if diagnosis.recognises else "exit code 9"
    lines.append(f"no answer: {lost}")
    if diagnosis.uploads:
        oldest = max(upload.age_seconds for upload in diagnosis.uploads)
        lines.append(f"uploads:   {len(diagnosis.uploads)} open, the oldest for {_age(oldest)}")
    return lines


def _append(diagnosis: Diagnosis) -> str:
    copied = (
        "the store copies what stays" if diagnosis.copies else "what stays is read and sent again"
    )
    safe = "safe among writers that are sdb, by a lock" if diagnosis.locks else "safe"
    if not diagnosis.append_is_safe:
        safe = "only with --unsafe-single-writer"
    return f"{safe}; {copied}"


def _age(seconds: float) -> str:
    for unit, size in (("days", _DAY_SECONDS), ("hours", _HOUR_SECONDS), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _facts(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "url": diagnosis.url,
        "endpoint": diagnosis.endpoint,
        "append_is_safe": diagnosis.append_is_safe,
        "new_is_safe": diagnosis.new_is_safe,
        "locks": diagnosis.locks,
        "copies": diagnosis.copies,
        "recognises": diagnosis.recognises,
        "checks": [
            {"name": check.name, "ok": check.ok, "detail": check.detail}
            for check in diagnosis.checks
        ],
        "open_uploads": [
            {
                "url": str(upload.address),
                "id": upload.id,
                "age_seconds": round(upload.age_seconds),
            }
            for upload in diagnosis.uploads
        ],
        "seconds": diagnosis.seconds,
    }
