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
    from sdb.query.catalog.ondemand import CacheContents

EXAMPLES = ("sdb cache", "sdb cache --json", "sdb cache clear")


def command(
    action: Annotated[
        str, Argument(metavar="show|clear", help="Show what is kept, or remove it.")
    ] = "show",
    as_json: AsJson = False,
) -> None:
    """Show or clear what queries on JSON, CSV and the like keep.

    Such inputs are packed for the first query on them. The packfiles stay for the next queries in
    $SDB_CACHE or ~/.cache/sdb, up to $SDB_CACHE_SIZE (10GiB); see also `sdb config`.
    """
    from sdb.query.catalog.ondemand import cached, clear_cache

    if action not in {"show", "clear"}:
        raise UsageError(f"unknown action {action!r}", expected="show, clear")
    contents = cached() if action == "show" else clear_cache()
    if as_json:
        output.say_json(_facts(contents, action))
    else:
        output.say(output.plain(_text(contents, action)))


def _facts(contents: CacheContents, action: str) -> dict[str, object]:
    return {
        "folder": contents.folder,
        "most_bytes": contents.most_bytes,
        "shown" if action == "show" else "removed": [
            {
                "name": entry.name,
                "size_bytes": entry.size_bytes,
                "used_at": instants.text(entry.used_us),
            }
            for entry in contents.entries
        ],
        "size_bytes": contents.size_bytes,
    }


def _text(contents: CacheContents, action: str) -> str:
    from sdb.view.facts import table

    count, size = len(contents.entries), sizes.human(contents.size_bytes)
    files = f"{count:,} packfile{'' if count == 1 else 's'}, {size}"
    if action == "clear":
        return f"removed {files} from {contents.folder}"
    rows = [
        [
            instants.text(entry.used_us, fraction=False),
            sizes.human(entry.size_bytes),
            entry.input_name,
        ]
        for entry in contents.entries
    ]
    lines = table(["used", "size", "input"], rows, columns=1 << 16) if rows else ""
    return f"{lines}{contents.folder}: {files} of at most {sizes.human(contents.most_bytes)}"
