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
    """Find out what an S3 endpoint really does, and whether append is safe there.

    Small scratch objects are written below the URL and removed. Exit code 1 when append is not
    safe.
    """
    from sdb.store.url import diagnose

    diagnosis = diagnose(url)
    if as_json:
        output.say_json(_facts(diagnosis))
    else:
        output.say(output.plain("\n".join(_lines(diagnosis))))
    return 0 if diagnosis.append_is_safe else 1


def _lines(found: Diagnosis) -> list[str]:
    lines = [f"{found.url} at {found.endpoint}"]
    for check in found.checks:
        mark = "ok" if check.ok else "NO"
        lines.append(f"  {mark}  {check.what}" + (f": {check.detail}" if check.detail else ""))
    lines.append("append:    " + _append(found))
    known = "protected" if found.new_is_safe else "an object that appears meanwhile is replaced"
    lines.append(f"pack:      {known}")
    lost = "resolved by looking" if found.recognises else "exit code 9"
    lines.append(f"no answer: {lost}")
    if found.uploads:
        oldest = max(upload.age_seconds for upload in found.uploads)
        lines.append(f"uploads:   {len(found.uploads)} open, the oldest for {_age(oldest)}")
    return lines


def _append(found: Diagnosis) -> str:
    copied = "the store copies what stays" if found.copies else "what stays is read and sent again"
    safe = "safe among writers that are sdb, by a lock" if found.locks else "safe"
    if not found.append_is_safe:
        safe = "only with --unsafe-single-writer"
    return f"{safe}; {copied}"


def _age(seconds: float) -> str:
    for unit, size in (("days", _DAY_SECONDS), ("hours", _HOUR_SECONDS), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _facts(found: Diagnosis) -> dict[str, Any]:
    return {
        "url": found.url,
        "endpoint": found.endpoint,
        "append_is_safe": found.append_is_safe,
        "new_is_safe": found.new_is_safe,
        "locks": found.locks,
        "copies": found.copies,
        "recognises": found.recognises,
        "checks": [
            {"name": check.name, "ok": check.ok, "detail": check.detail} for check in found.checks
        ],
        "open_uploads": [
            {
                "url": str(upload.place),
                "id": upload.id,
                "age_seconds": round(upload.age_seconds),
            }
            for upload in found.uploads
        ],
        "seconds": found.seconds,
    }
