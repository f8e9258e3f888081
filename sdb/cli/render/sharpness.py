"""Sharpness of paths, shown."""

from __future__ import annotations

from sdb.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.selectivity import Sharpness


def show_sharpness(sharpness: Sharpness) -> None:
    """Show what `--stats` has found out, below the description."""
    from sdb.view.sharpnesstable import sharpness_text

    text = sharpness_text(sharpness, columns=output.columns())
    output.say(output.plain(f"\n{text.removesuffix(chr(10))}"))
