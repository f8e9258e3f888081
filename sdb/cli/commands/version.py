"""`sdb version`."""

from __future__ import annotations

from typing import Annotated

import typer

from sdb.cli.main import show_version
from sdb.cli.output import say_json

EXAMPLES = ("sdb version", "sdb version --json")


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Show the version."""
    if not as_json:
        show_version()
        return
    import platform

    from sdb import _core
    from sdb.packfile.trailer import ALGORITHMS
    from sdb.version import VERSION

    say_json(
        {
            "version": VERSION,
            "core": _core.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "algorithms": sorted(ALGORITHMS),
        }
    )
