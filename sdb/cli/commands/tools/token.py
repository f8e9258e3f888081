"""`sdb token`."""

from __future__ import annotations

import time

from sdb import bounds, durations
from sdb.cli import output
from sdb.cli.options import AsJson
from sdb.cli.parameters import Argument, Option, Together
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb token create grafana --can 'read:web.*' --tokens tokens.json",
    "sdb token list --tokens tokens.json",
    "sdb token revoke grafana --tokens tokens.json",
)

_ACTIONS = ("create", "list", "revoke")


@record
class _Limits(Together):
    """Limits of the queries of the token."""

    timeout: Annotated[
        str | None, Option(metavar="TIME", help="How long a query of the token may run.")
    ] = None
    running: Annotated[
        int | None,
        Option(
            metavar="COUNT",
            help="How many queries of the token compute at the same time.",
            bounds=bounds.TASKS,
        ),
    ] = None
    max_scan: Annotated[
        str | None,
        Option(
            "--max-scan",
            metavar="SIZE",
            help="Refuse queries of the token that would read more.",
            bounds=bounds.SCAN,
        ),
    ] = None
    max_bytes: Annotated[
        str | None,
        Option(
            "--max-bytes",
            metavar="SIZE",
            help="End answers that are larger with an error.",
            bounds=bounds.ANSWER,
        ),
    ] = None


LIMITS = _Limits()


def command(
    action: Annotated[
        str, Argument(metavar="create|list|revoke", help="Make, list or remove tokens.")
    ],
    name: Annotated[str | None, Argument(metavar="NAME", help="The name of the token.")] = None,
    can: Annotated[
        list[str] | None,
        Option(
            metavar="RIGHT",
            help="read:DB.TABLE, write:DB.TABLE, ingest:DB.TABLE (with * and ?), query:NAME of a"
            " stored query, or admin.",
        ),
    ] = None,
    most: _Limits = LIMITS,
    tokens: Annotated[
        str, Option(metavar="FILE", help="The file of tokens, for sdb serve --tokens.")
    ] = "tokens.json",
    as_json: AsJson = False,
) -> None:
    """Make, list and revoke the tokens of `sdb serve`.

    A token is shown once, when it is made: the file has only its digest, and no one but its owner
    may read that. A server sees changes of the file with the next request.
    """
    from pathlib import Path

    from sdb.serve import tokens as stored
    from sdb.serve.access import TokenLimits

    path = Path(tokens)
    if action not in _ACTIONS:
        raise UsageError(f"unknown action {action!r}", expected=", ".join(_ACTIONS))
    if action == "list":
        _list(stored.read(path), as_json=as_json)
        return
    if name is None:
        raise UsageError(f"the name of the token is missing: sdb token {action} NAME")
    if action == "revoke":
        stored.revoke(path, name)
        return
    limits = TokenLimits(
        None if most.timeout is None else durations.seconds(most.timeout, bare=True),
        bounds.TASKS.check(most.running),
        None if most.max_scan is None else bounds.SCAN.read(most.max_scan),
        None,
        None if most.max_bytes is None else bounds.ANSWER.read(most.max_bytes),
    )
    secret = stored.create(path, name, can or [], now_us=time.time_ns() // 1000, limits=limits)
    if as_json:
        output.say_json({"name": name, "token": secret, "can": can})
    else:
        output.say(secret)


def _list(listed: list, *, as_json: bool) -> None:  # type: ignore[type-arg]
    from sdb.view.facts import table

    if as_json:
        output.say_json(
            [
                {
                    "name": each.name,
                    "can": list(each.can),
                    "created": each.created,
                    "limits": each.limits.as_dict(),
                }
                for each in listed
            ]
        )
    elif listed:
        rows = [[each.name, " ".join(each.can), each.created] for each in listed]
        output.say(output.plain(table(["name", "can", "created"], rows, columns=1 << 16)))
