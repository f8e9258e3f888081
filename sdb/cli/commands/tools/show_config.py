"""`sdb show-config`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, Root, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb show-config", "sdb show-config --root lake sh")


def command(
    context: Context,
    form: Annotated[
        str, Argument(metavar="text|sh|pwsh|cmd", help="Text, or commands for a shell.")
    ] = "text",
    root: Root = None,
    reveal: Annotated[bool, Option("--reveal", help="Print secrets as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a root is reached: region, keys, endpoint.

    Secrets are printed only with --reveal; scripts for a shell leave them out without it. The
    settings of sdb itself: `sdb config`.
    """
    from sdb.table.catalog.config import FORMATS, root_config

    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}", expected=", ".join(FORMATS))
    config = root_config(table_root(context, root))
    if as_json:
        output.say_json(config.as_dict(reveal=reveal))
        return
    text = config.text(reveal=reveal) if form == "text" else config.script(form, reveal=reveal)
    output.say(output.plain(text.removesuffix("\n")))
    if form != "text" and config.hidden and not reveal:
        left = f"sdb: left out: {', '.join(config.hidden)}; --reveal prints secrets"
        output.say(left, to=sys.stderr)
