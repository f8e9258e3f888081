"""`sdb spark env`."""

from __future__ import annotations

from sdb import sizes
from sdb.cli.options import AsJson, Replace
from sdb.cli.output import note, say_json
from sdb.cli.parameters import Option
from sdb.typed import Annotated

EXAMPLES = ("sdb spark env -o sdb.pex", "sdb spark env --force --json")


def command(
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="The archive to write.")
    ] = "sdb.pex",
    force: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Build the environment archive that executors of Spark run from.

    It contains sdb and what it depends on, for this system and this version of Python.
    """
    from sdb.spark.session.environment import build

    size = build(target, overwrite=force)
    if as_json:
        say_json({"path": target, "size_bytes": size})
    else:
        note(f"built {target}, {sizes.human(size)}")
