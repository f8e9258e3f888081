"""`sdb expire`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import (
    AsJson,
    DryRun,
    Message,
    Quiet,
    Root,
    TableName,
    TableRest,
    table_root,
)
from sdb.cli.parameters import Context, Option
from sdb.cli.tablenames import author, table_of
from sdb.typed import Annotated

EXAMPLES = (
    "sdb expire --root lake web.gha",
    "sdb expire --keep-last 10 --keep-within 30d --dry-run --root lake web.gha",
)


def command(
    context: Context,
    name: TableName,
    table: TableRest = None,
    keep_last: Annotated[
        int | None,
        Option("--keep-last", metavar="N", bounds=bounds.ATTEMPTS, help="The newest N versions."),
    ] = None,
    keep_within: Annotated[
        str | None,
        Option("--keep-within", metavar="TIME", help="What was the newest within it (30d, 12h)."),
    ] = None,
    keep_tag: Annotated[
        list[str] | None,
        Option("--keep-tag", metavar="PATTERN", help="Only these tags keep their versions."),
    ] = None,
    all_but_head: Annotated[
        bool, Option("--all-but-head", help="Keep the newest version, and tagged ones, alone.")
    ] = False,
    dry_run: DryRun = False,
    message: Message = "",
    root: Root = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let old versions leave the history of a table.

    What is kept tell the options, or versions in the definition of the table. Nothing is deleted:
    gc does that later.
    """
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.expire import expire, policy_of

    place = table_root(context, root)
    names = table_of(name, table)
    policy = policy_of(
        place,
        TableKeys(*names),
        keep_last=keep_last,
        keep_within=keep_within,
        keep_tags=keep_tag or (),
        all_but_head=all_but_head,
    )
    found = expire(place, *names, policy, dry_run=dry_run, author=author(), message=message)
    if as_json:
        output.say_json(found.as_dict())
        return
    if quiet:
        return
    count = len(found.dropped)
    if not count:
        text = f"nothing expires, {_kept(found.kept)}"
    else:
        verb = "would expire" if dry_run else "expired"
        first, last = found.dropped[0].version, found.dropped[-1].version
        span = f"version {first}" if count == 1 else f"{count:,} versions from {first} to {last}"
        text = f"{span} {verb}, {_kept(found.kept)}"
    output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
    if found.for_branches:
        listed = ", ".join(map(str, found.for_branches))
        text = f"sdb: for merges of branches stay: {listed}"
        output.say(output.plain(text), to=sys.stderr)
    if found.untagged:
        listed = ", ".join(found.untagged)
        output.say(output.plain(f"sdb: tags that go with them: {listed}"), to=sys.stderr)


def _kept(count: int) -> str:
    return "1 version is kept" if count == 1 else f"{count:,} versions are kept"
