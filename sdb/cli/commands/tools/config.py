"""`sdb config`."""

from __future__ import annotations

import os

from sdb.cli import output
from sdb.cli.options import AsJson, Root
from sdb.cli.parameters import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.settingfiles import Files, Known

EXAMPLES = ("sdb config", "sdb config --json", "sdb config --root lake")


def command(context: Context, root: Root = None, as_json: AsJson = False) -> None:
    """Show the settings, their values, and where each is from.

    Flags come first, then the environment, sdb.toml in this folder or above, and the user's
    config.toml. What each setting does: `sdb help config`.
    """
    from sdb.cli.settingfiles import all_known
    from sdb.cli.settings import ROOT

    before = context.root if context.root != os.environ.get(ROOT) else None
    settings, files = all_known(root or before)
    if as_json:
        output.say_json(_facts(settings, files))
        return
    for line in _lines(settings, files):
        output.say(output.plain(line))


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
