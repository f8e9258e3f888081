"""`sdb help`."""

from __future__ import annotations

from sdb.cli.output import say
from sdb.cli.parameters import Argument
from sdb.typed import Annotated

EXAMPLES = ("sdb help", "sdb help times", "sdb help describe-file")


def command(
    name: Annotated[
        str | None, Argument(metavar="[TOPIC|COMMAND]", help="The topic; default: list all.")
    ] = None,
) -> None:
    """Explain a topic, or show the help of a command.

    `sdb help COMMAND` is `sdb COMMAND --help`, and `sdb --help` lists the commands.
    `sdb help config` is the topic.
    """
    from difflib import get_close_matches

    from sdb.cli.commands import COMMANDS
    from sdb.cli.topictexts import TOPICS, summary, text
    from sdb.errors import UsageError

    if name is None:
        width = max(map(len, TOPICS))
        say("Topics:")
        for topic in TOPICS:
            say(f"  {topic:{width}}  {summary(topic)}")
        say("\nsdb help TOPIC explains one, sdb help COMMAND is the help of a command.")
        say("sdb --help lists the commands.")
        return
    if name not in TOPICS:
        near = get_close_matches(name, [*TOPICS, *COMMANDS], 1)
        hint = f"did you mean {near[0]}?" if near else f"topics are {', '.join(TOPICS)}"
        raise UsageError(f"there is no topic or command {name!r}", hint=hint)
    say(text(name).removesuffix("\n"))
