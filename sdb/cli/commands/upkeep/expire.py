"""`sdb expire`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.optionrecords import CHANGE, Change
from sdb.cli.options import AsJson, NextWord, TableName
from sdb.cli.parameters import Option, TableContext, Together
from sdb.cli.tablenames import author, table_of
from sdb.cli.values import table_root
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb expire --root lake web.gha",
    "sdb expire --keep-last 10 --keep-within 30d --dry-run --root lake web.gha",
    "sdb expire --thin 1h:all,1d:1m,7d:1h --root lake web.gha",
)


@record
class _Kept(Together):
    """The versions that stay; none: the policy of the definition says it."""

    keep_last: Annotated[
        int | None,
        Option(
            "--keep-last", metavar="N", bounds=bounds.ATTEMPTS, help="Keep the newest N versions."
        ),
    ] = None
    keep_within: Annotated[
        str | None,
        Option(
            "--keep-within",
            metavar="TIME",
            help="Keep versions that were the newest within this time (30d, 12h).",
        ),
    ] = None
    keep_tag: Annotated[
        list[str] | None,
        Option(
            "--keep-tag",
            metavar="PATTERN",
            help="Only tags that match keep their versions. Repeatable.",
        ),
    ] = None
    thin: Annotated[
        str | None,
        Option(
            "--thin",
            metavar="STEPS",
            help="Keep fewer the older they are: 1h:all,1d:1m,7d:1h (1m: one a minute); or off.",
        ),
    ] = None
    all_but_head: Annotated[
        bool, Option("--all-but-head", help="Keep only the newest version and tagged ones.")
    ] = False


KEPT = _Kept()


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    keeping: _Kept = KEPT,
    change: Change = CHANGE,
    as_json: AsJson = False,
) -> None:
    """Remove old versions from the history of a table.

    Options say which versions to keep; without any, the `versions` policy of the definition.
    Nothing is deleted: `sdb gc` does that later.
    """
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.expire import expire, policy_of

    location = table_root(context)
    names = table_of(name, table)
    policy = policy_of(
        location,
        TableKeys(*names),
        keep_last=keeping.keep_last,
        keep_within=keeping.keep_within,
        keep_tags=keeping.keep_tag or (),
        thin=keeping.thin,
        all_but_head=keeping.all_but_head,
    )
    expired = expire(
        location, *names, policy, dry_run=change.dry_run, author=author(), message=change.message
    )
    if as_json:
        output.say_json(expired.as_dict())
        return
    count = len(expired.dropped)
    if not count:
        text = f"nothing expires, {_kept(expired.kept_count)}"
    else:
        verb = "would expire" if change.dry_run else "expired"
        first, last = expired.dropped[0].version, expired.dropped[-1].version
        span = f"version {first}" if count == 1 else f"{count:,} versions from {first} to {last}"
        thinned = f", {len(expired.thinned):,} of them thinned out" if expired.thinned else ""
        text = f"{span} {verb}{thinned}, {_kept(expired.kept_count)}"
    output.note(text)
    if expired.for_branches:
        listed = ", ".join(map(str, expired.for_branches))
        text = f"sdb: for merges of branches stay: {listed}"
        output.say(output.plain(text), to=sys.stderr)
    if expired.untagged:
        listed = ", ".join(expired.untagged)
        output.note(f"tags that go with them: {listed}")


def _kept(count: int) -> str:
    return "1 version is kept" if count == 1 else f"{count:,} versions are kept"
