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
    """Print the completion script of a shell.

    It completes commands, topics, options and their values, packfiles, and the names of fields
    after --fields. Load it when the shell starts: eval "$(sdb completion bash)" in ~/.bashrc.
    """
    from sdb.cli.complete import script

    say(script(shell))
