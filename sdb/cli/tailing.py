"""Log files that grow, as `sdb sync --tail` follows them: what is meant, and what is said."""

from __future__ import annotations

import os
import sys

from sdb.cli import output
from sdb.cli.streaming import feed_lines
from sdb.cli.tablenames import named_table
from sdb.cli.values import malformed
from sdb.errors import NotFoundError, UsageError
from sdb.table.format.keys import TableKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.streaming import Telling
    from sdb.table.catalog.root import TableRoot
    from sdb.table.feed.lines import LineFeed, LineTarget
    from sdb.table.feed.logs import LogFiles
    from sdb.table.tail.names import LogNames


def table_and_files(
    root: TableRoot, words: list[str], files: list[str]
) -> tuple[TableKeys, list[str]]:
    """Return the table, and the files to follow.

    A shell makes several words of a pattern behind ``--tail``: those but the table are files. The
    table is the last word, or the first one if that is a table and the last one is not.

    Raises
    ------
    UsageError
        No word is the name of a table.
    """
    for at in (-1, 0):
        name = words[at]
        database, dot, table = name.partition(".")
        if dot and "/" not in name and _is_table(root, database, table):
            return TableKeys(database, table), [
                *files,
                *words[:at],
                *(words[1:] if at == 0 else ()),
            ]
    name = words[0] if len(words) == 1 else words[-1]
    if "/" in name or "." not in name:
        raise UsageError(f"{name} is not the name of a table", expected="DB.TABLE")
    database, table, _ = named_table(name)
    raise root.absent(TableKeys(database, table))


def _is_table(root: TableRoot, database: str, table: str) -> bool:
    if "@" in table:
        hint = "sdb insert DB.TABLE@BRANCH - takes lines into a branch"
        raise UsageError(f"{database}.{table}: --tail takes lines into main", hint=hint)
    try:
        keys = TableKeys(database, table)
    except UsageError:
        return False
    return root.has(keys.index) or root.has(keys.definition)


def tail_into(target: LineTarget, files: LogFiles, on_error: str, telling: Telling) -> int:
    """Take the lines of files into a table as they are written, and say what came of it."""
    from sdb.table.feed.events import Remark
    from sdb.table.feed.logs import follow_logs

    _, quarantine = malformed(on_error)
    if quarantine and files.names.means(os.path.abspath(quarantine)):  # noqa: PTH100
        raise UsageError(f"--on-error {on_error}: it is one of the files that --tail follows")

    def run(feed: LineFeed) -> None:
        for text in _absent(files.names, is_once=files.is_once):
            if not telling.is_quiet:
                feed.on_event(Remark(text))
        follow_logs(feed, files)

    done = feed_lines(target, run, on_error, telling)
    if telling.is_verbose and not done.versions and not telling.is_quiet:
        output.say("sdb: nothing new", to=sys.stderr)
    return 0


def _absent(names: LogNames, *, is_once: bool) -> list[str]:
    """Return a line for each argument that finds nothing yet.

    Raises
    ------
    NotFoundError
        A file is not there, and nobody waits for it.
    UsageError
        It is a folder or a pipe.
    """
    lines = [f"{pattern}: finds nothing yet" for pattern in names.idle_patterns()]
    for path in names.plain:
        if os.path.isdir(path):  # noqa: PTH112
            raise UsageError(f"{path} is a folder", hint=f"--tail '{path}/*.log'")
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            hint = f"sdb insert DB.TABLE - < {path} takes lines of a pipe"
            raise UsageError(f"{path}: --tail follows files", hint=hint)
        if not os.path.exists(path):  # noqa: PTH110
            if is_once:
                raise NotFoundError(f"opening {path}: no such file or directory", path=path)
            lines.append(f"{path}: not there yet")
    return lines
