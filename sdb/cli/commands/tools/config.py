"""`sdb config`."""

from __future__ import annotations

import os

from sdb.cli import output
from sdb.cli.options import AsJson, NextWord
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.settings import index_key_file
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.settingfiles import Files, Known
    from sdb.table.catalog.root import TableRoot

EXAMPLES = (
    "sdb config",
    "sdb config --json",
    "sdb config root --root lake sh",
    "sdb config set index-key --new",
)


def command(
    context: TableContext,
    action: Annotated[
        str,
        Argument(
            metavar="root|set",
            help="root shows how a root is reached; set index-key --new makes the key for S3.",
        ),
    ] = "show",
    name: NextWord = None,
    new: Annotated[bool, Option("--new", help="Make a key by chance.")] = False,
    reveal: Annotated[bool, Option("--reveal", help="Print secrets of a root as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the settings, their values, and where each is from.

    Flags come first, then the environment, sdb.toml in this folder or above, and the user's
    config.toml. What each setting does: `sdb help config`. With `root`: region, keys and endpoint
    of a root, as text or, with sh, pwsh or cmd behind it, as commands for a shell.
    """
    if action == "root" and not new:
        _show_root(table_root(context), name or "text", reveal=reveal, as_json=as_json)
        return
    from sdb.cli.settingfiles import all_known
    from sdb.cli.settings import ROOT

    if (action, name, new) == ("set", "index-key", True):
        _make_key()
        return
    if (action, name, new, reveal) != ("show", None, False, False):
        hint = f"{EXAMPLES[-2]}, {EXAMPLES[-1]}"
        raise UsageError("config shows settings or a root, or makes a key", hint=hint)
    before = context.before if context.before != os.environ.get(ROOT) else None
    settings, files = all_known(context.own or before)
    if as_json:
        output.say_json(_facts(settings, files))
        return
    for line in _lines(settings, files):
        output.say(output.plain(line))


def _show_root(root: TableRoot, form: str, *, reveal: bool, as_json: bool) -> None:
    from sdb.table.catalog.config import FORMATS, root_config

    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}", expected=", ".join(FORMATS))
    config = root_config(root)
    if as_json:
        output.say_json(config.as_dict(reveal=reveal))
        return
    text = config.text(reveal=reveal) if form == "text" else config.script(form, reveal=reveal)
    output.say(output.plain(text.removesuffix("\n")))
    if form != "text" and config.hidden and not reveal:
        output.note(f"left out: {', '.join(config.hidden)}; --reveal prints secrets")


def _make_key() -> None:
    from sdb.cli.indexkey import make
    from sdb.table.format.signature import VARIABLE

    path = make()
    output.say(f"a new key for tables on S3 is in {path}: keep a copy where you keep passwords")
    output.say(f"other programs and machines need it: export {VARIABLE}=$(cat {path})")


def _lines(settings: list[Known], files: Files) -> list[str]:
    rows = [
        (entry.setting.name, entry.value or "-", entry.origin or entry.source) for entry in settings
    ]
    width = max(len(value) for _, value, _ in rows)
    lines = [f"{name:12}  {value:{width}}  {source}" for name, value, source in rows]
    lines += [
        f"{entry.setting.name} does not count: {entry.refusal}"
        for entry in settings
        if entry.refusal
    ]
    there = "" if os.path.exists(files.user) else " (not there)"  # noqa: PTH110 - as in settings
    if os.path.exists(index_key_file()):  # noqa: PTH110
        lines.append(f"key of tables on S3: {index_key_file()}")
    project = files.project or "no sdb.toml in this folder or above"
    return [*lines, f"project: {project}", f"user:    {files.user}{there}"]


def _facts(settings: list[Known], files: Files) -> dict[str, object]:
    return {
        "settings": [
            {
                "name": entry.setting.name,
                "value": entry.value or None,
                "from": entry.source,
                "place": entry.origin or None,
                "variable": entry.setting.variable,
                "counts": not entry.refusal,
            }
            for entry in settings
        ],
        "project_file": files.project or None,
        "user_file": files.user,
    }
