"""`sdb doctor`."""

from __future__ import annotations

import sys

from sdb import sizes
from sdb.cli import output
from sdb.cli.options import AsJson, Yes
from sdb.cli.output import agreed, can_ask
from sdb.cli.parameters import Argument, Option
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.store.s3.doctor import Diagnosis

EXAMPLES = (
    "sdb doctor s3://bucket/events/",
    "sdb doctor --json s3://bucket",
    "sdb doctor --clean --older-than 2d s3://bucket/events/",
)

_HOUR_SECONDS = 3600
_DAY_SECONDS = 24 * _HOUR_SECONDS


def command(
    url: Annotated[str, Argument(metavar="URL", help="A bucket, or a prefix in it.")],
    clean: Annotated[
        bool, Option("--clean", help="List what killed writers have left, and remove it if told.")
    ] = False,
    older_than: Annotated[
        str,
        Option(
            "--older-than", metavar="TIME", help="With --clean: what nobody wrote to for so long."
        ),
    ] = "7d",
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Test what an S3 endpoint can do, and if append is safe.

    Writes small scratch objects below the URL and removes them. Exit code 1 when append is not
    safe. With --clean it tests nothing: open uploads and parts of killed jobs are listed, and those
    that are provably of sdb are removed after a yes, or with --yes.
    """
    if clean:
        return _clean(url, older_than, yes=yes, as_json=as_json)
    from sdb.store.url import diagnose

    diagnosis = diagnose(url)
    if as_json:
        output.say_json(_facts(diagnosis))
    else:
        output.say(output.plain("\n".join(_lines(diagnosis))))
    return 0 if diagnosis.append_is_safe else 1


def _clean(url: str, older_than: str, *, yes: bool, as_json: bool) -> int:
    from sdb import durations
    from sdb.table.maintenance.leftovers import find_leftovers

    leftovers = find_leftovers(url, durations.seconds(older_than))
    ours = [left for left in leftovers if left.is_ours]
    if not as_json:
        for left in leftovers:
            whose = "" if left.is_ours else ", perhaps not of sdb: it stays"
            what = f"{left.kind:8}{left.entry.location}"
            output.say(output.plain(f"{what}, for {_age(left.age_seconds)}{whose}"))
    question = f"Remove {sizes.counted(len(ours), 'leftover')}?"
    is_agreed = bool(ours) and (yes or (not as_json and can_ask() and agreed(question)))
    if is_agreed:
        for left in ours:
            left.remove()
    if as_json:
        removed = [left.as_dict() | {"removed": is_agreed and left.is_ours} for left in leftovers]
        output.say_json({"url": url, "leftovers": removed})
    elif is_agreed:
        output.say(f"sdb: removed {sizes.counted(len(ours), 'leftover')}", to=sys.stderr)
    else:
        hint = ": --yes does" if ours else ""
        output.say(f"sdb: nothing was removed{hint}", to=sys.stderr)
    return 0


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
