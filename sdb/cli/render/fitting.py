"""Report which inputs the patterns of a table find now, and how to load them."""

from __future__ import annotations

import os
import sys

from sdb import sizes
from sdb.cli import output
from sdb.errors import NotFoundError
from sdb.table.inputs.fitting import FittingInputs, fitting_inputs, why_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.catalog.root import TableRoot

_LOCAL = "file://"


def fitting(root: TableRoot, patterns: Sequence[str]) -> list[FittingInputs]:
    """Return what each pattern finds now; a folder that is missing has nothing."""
    fits = []
    for pattern in patterns:
        try:
            fits.append(fitting_inputs(root, pattern))
        except NotFoundError:
            fits.append(FittingInputs(pattern, 0, 0, is_more=False, passed=0))
    return fits


def say_fitting(root: TableRoot, name: str, fits: Sequence[FittingInputs], root_words: str) -> None:
    """Write to standard error what the patterns of a new table find, and what to do next.

    * ``root_words``: The words of a command that name the root; empty: it is known without them.
    """
    for fit in fits:
        if fit.count:
            _say(f"{name}: {fit.pattern} finds {_counted(fit)} now")
        else:
            _say(f"{name}: {fit.pattern} finds nothing now: {nothing(root, fit.pattern)}")
        if fit.passed:
            _say(f"{name}: {fit.passed:,} more have temporary names, and are passed over")
    if any(fit.pattern.startswith(_LOCAL) for fit in fits):
        _say(f"paths of patterns start at the root, {_root_shown(root)}")
    number = sum(fit.count for fit in fits)
    what = ("loads what comes, each", "loads it,", "loads them, each")[min(number, 2)]
    _say(f"next: sdb sync {root_words}{name} {what} once; sdb follow goes on")


def nothing(root: TableRoot, pattern: str) -> str:
    """Return why a pattern finds nothing, with the pattern that may be meant."""
    reason = why_nothing(root, pattern)
    meant = _from_here(root, pattern)
    return f"{reason}; did you mean {meant}?" if meant else reason


def _from_here(root: TableRoot, pattern: str) -> str:
    """Return the pattern for files that a local one finds from the current folder on, if it does.

    Patterns start at the root, and who types one thinks of the current folder.
    """
    import glob
    import re

    path = pattern.removeprefix(_LOCAL)
    if path == pattern or root.store.is_remote or "{" in path:
        return ""
    if not any(glob.iglob(path)):  # noqa: PTH207 - paths as they are typed
        return ""
    meant = os.path.relpath(path, root.location)
    if meant == path:
        return ""
    if not meant.startswith(".."):
        return meant
    folder = re.split(r"[^/]*[*?\[]", path)[0].rstrip("/")
    return f"{meant}, with --allow-inputs {folder or '.'} here and for sync"


def _counted(fit: FittingInputs) -> str:
    number = f"more than {fit.count:,}" if fit.is_more else f"{fit.count:,}"
    inputs = "input" if fit.count == 1 else "inputs"
    size = sizes.human(fit.size_bytes)
    return f"{number} {inputs}, {size}{' bytes' if size.isdigit() else ''}"


def _root_shown(root: TableRoot) -> str:
    return root.location if root.location != "." else f"this folder, {os.getcwd()}"  # noqa: PTH109


def _say(text: str) -> None:
    output.say(output.plain(text), to=sys.stderr)
