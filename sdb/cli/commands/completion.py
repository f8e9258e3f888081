"""`sdb completion`."""

from __future__ import annotations

from sdb.cli.output import say
from sdb.cli.parameters import Argument
from sdb.typed import Annotated

EXAMPLES = (
    "sdb completion bash",
    """eval "$(sdb completion bash)\"""",
)


def command(
    shell: Annotated[str, Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Print the script that makes a shell complete command lines.

    Commands, options and their values, packfiles, and the names of fields after --fields. Let the
    shell read it when it starts: eval "$(sdb completion bash)" in ~/.bashrc.
    """
    from sdb.cli.complete import script

    say(script(shell))
