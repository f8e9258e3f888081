"""`sdb version`."""

from __future__ import annotations

import sys

from sdb.cli.options import AsJson
from sdb.cli.output import say_json
from sdb.version import LINE, VERSION

EXAMPLES = ("sdb version", "sdb version --json")


def command(
    as_json: AsJson = False,
) -> None:
    """Show the version."""
    if not as_json:
        sys.stdout.write(LINE)
        return
    import platform

    from sdb import _core
    from sdb.packfile.write.pack import ALGORITHMS

    say_json(
        {
            "version": VERSION,
            "core": _core.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "algorithms": list(ALGORITHMS),
        }
    )
