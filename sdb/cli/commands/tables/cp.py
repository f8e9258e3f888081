"""`sdb cp`."""

from __future__ import annotations

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import REPORT, ReportOptions
from sdb.cli.options import At, Message, NextWord, TableVersion
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.tablenames import author, joined_table, named_table, opened_table
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb cp --root lake web.gha web.copy",
    "sdb cp --root lake web.gha@-1 web.before -m 'as it was'",
    "sdb cp --root lake --share web.gha web.shared",
    "sdb cp --root lake web.gha ./copy --as web.events",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.table.catalog.handle import TableHandle


@record
class _Copy(Together):
    """The name, place and content of the copy."""

    new: Annotated[
        str, Option("--as", metavar="DB.NEW", help="Name below another root; default: the same.")
    ] = ""
    share: Annotated[
        bool, Option("--share", help="Copy no packfiles: refer to those of the other table.")
    ] = False
    is_push: Annotated[
        bool, Option("--push", help="Take the last word as a root, whatever it looks like.")
    ] = False


COPY = _Copy()


def command(
    context: TableContext,
    name: TableVersion,
    target: Annotated[
        str, Argument(metavar="DB.NEW|ROOT", help="The new table; or another root, as ./backup.")
    ],
    last: NextWord = None,
    copy: _Copy = COPY,
    at: At = "",
    message: Message = "",
    report: ReportOptions = REPORT,
) -> None:
    """Copy a table, or a version of it, to a new table or root.

    Packfiles are copied by the file system or the store where these can. To another root only those
    that are missing there are sent; if another program has written to the table there, nothing
    changes (exit code 5). Run a copy that was interrupted again: it continues.
    """
    name, words = joined_table(name, target, last, at=at)
    if not words:
        expected = "DB.TABLE ROOT" if copy.is_push else "DB.TABLE DB.NEW, or DB.TABLE ROOT"
        what = "no root to send it to" if copy.is_push else "there is nothing to copy it to"
        raise UsageError(f"{name} is the table: {what}", expected=expected)
    target = words[0]
    source = opened_table(context, name)
    with Meter("copying", report.progress) as meter:
        labels = {"author": author(), "message": message, "progress": meter}
        if copy.is_push or _is_root(target):
            if copy.share:
                raise UsageError("--share is for tables of one root", expected="DB.TABLE DB.NEW")
            facts, text = _pushed(source, target, copy.new, labels)
        elif copy.new:
            raise UsageError(f"--as names a table below another root; {target} is a table")
        else:
            facts, text = _forked(source, name, target, labels, share=copy.share)
    if report.as_json:
        output.say_json(facts)
    else:
        output.note(text)


def _is_root(word: str) -> bool:
    from sdb.store.url import store_of

    return "/" in word or ("." not in word.strip(".") and store_of(word).is_folder(word))


def _pushed(
    source: TableHandle, target: str, new: str, labels: dict[str, Any]
) -> tuple[dict[str, object], str]:
    from sdb.table.catalog.root import table_root
    from sdb.table.history.fork import push

    if new and named_table(new)[2]:
        raise UsageError(f"{new} is no table", expected="--as DB.NEW")
    pushed = push(source, table_root(target), name=new, **labels)
    text = f"version {pushed.version} of {pushed.name} below {pushed.root}"
    text += f": {pushed.sent:,} of {pushed.packfiles:,} packfiles were sent"
    return pushed.as_dict(), f"{text}, {sizes.human(pushed.sent_bytes)}"


def _forked(
    source: TableHandle, name: str, new: str, labels: dict[str, Any], *, share: bool
) -> tuple[dict[str, object], str]:
    from sdb.table.history.fork import fork

    if "." not in new:
        hint = f"DB.{new} is a new table, ./{new} another root"
        raise UsageError(f"{new!r} is neither a table nor a folder", hint=hint)
    database, table, reference = named_table(new)
    if reference:
        raise UsageError(f"{new} is no new table", expected="DB.TABLE DB.NEW")
    forked = fork(source, database, table, share=share, **labels)
    packfiles = sizes.counted(forked.packfiles, "packfile")
    text = f"{new} {'shares' if share else 'has'} the {packfiles} of {name}"
    copied = f", {forked.sent:,} of them copied" if share and forked.sent else ""
    behind = "; it has no definition, and is not synced" if share else ""
    return forked.as_dict(), f"{text}{copied}{behind}"
