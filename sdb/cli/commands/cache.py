"""`sdb cache`."""

from __future__ import annotations

from sdb import instants, sizes
from sdb.cli import output
from sdb.cli.options import AsJson
from sdb.cli.parameters import Argument
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.exec.ondemand import CacheContents

EXAMPLES = ("sdb cache", "sdb cache --json", "sdb cache clear")


def command(
    action: Annotated[str, Argument(metavar="show|clear", help="What to do.")] = "show",
    as_json: AsJson = False,
) -> None:
    """Show or clear what queries on JSON, CSV, Parquet and the like have kept.

    Such inputs are packed for the first query on them. The packfiles stay in a folder of the user,
    $SDB_CACHE or ~/.cache/sdb, up to $SDB_CACHE_SIZE (10GiB), for the next queries.
    """
    from sdb.query.exec.ondemand import cached, clear_cache

    if action not in {"show", "clear"}:
        raise UsageError(f"unknown action {action!r}", expected="show, clear")
    kept = cached() if action == "show" else clear_cache()
    if as_json:
        output.say_json(_facts(kept, action))
    else:
        output.say(output.plain(_text(kept, action)))


def _facts(kept: CacheContents, action: str) -> dict[str, object]:
    return {
        "folder": kept.folder,
        "most_bytes": kept.most_bytes,
        "shown" if action == "show" else "removed": [
            {
                "name": entry.name,
                "size_bytes": entry.size_bytes,
                "used_at": instants.text(entry.used_us),
            }
            for entry in kept.entries
        ],
        "size_bytes": kept.size_bytes,
    }


def _text(kept: CacheContents, action: str) -> str:
    from sdb.view.facts import table

    count, size = len(kept.entries), sizes.human(kept.size_bytes)
    files = f"{count:,} packfile{'' if count == 1 else 's'}, {size}"
    if action == "clear":
        return f"removed {files} from {kept.folder}"
    rows = [
        [instants.text(one.used_us, fraction=False), sizes.human(one.size_bytes), one.input_name]
        for one in kept.entries
    ]
    lines = table(["used", "size", "input"], rows, columns=1 << 16) if rows else ""
    return f"{lines}{kept.folder}: {files} of at most {sizes.human(kept.most_bytes)}"
