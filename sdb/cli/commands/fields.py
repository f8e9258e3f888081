"""`sdb fields`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Packfiles
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = ("sdb fields events.zion", "sdb fields --match 'payload.*' events.zion")


def command(
    context: Context,
    packfiles: Packfiles,
    match: Annotated[
        str | None,
        Option(metavar="PATTERN", help="Only fields of this name; * is any text: 'items[].*'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the fields of packfiles: types, and in how many rows they are.

    Only the end of each file is read. Several files are taken together.
    """
    from sdb import notes
    from sdb.packfile.describe import fields
    from sdb.packfile.inventory import as_facts

    found = fields(packfiles, match=match, root=context.obj or None)
    for name in found.silent:
        notes.warn(
            f"{name} does not tell its fields; sdb pack -o NEW.zion {name} makes one that does"
        )
    if as_json:
        output.say_json(as_facts(found))
        return
    from sdb.view.fieldlist import draw

    is_nested = match is None
    text = draw(found, columns=output.columns(), is_nested=is_nested, can_draw=output.can_draw())
    output.say(output.plain(text.removesuffix("\n")))
