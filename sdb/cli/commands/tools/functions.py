"""`sdb functions`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson
from sdb.cli.parameters import Argument
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.analyze.reference import FunctionEntry

EXAMPLES = ("sdb functions", "sdb functions REGEXP", "sdb functions --json 'ARRAY_*'")


def command(
    pattern: Annotated[
        str | None, Argument(metavar="PATTERN", help="A part of a name, or a pattern with *.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the functions of SQL: arguments, results, examples.

    PATTERN selects some: a part of a name, of another spelling of it or of a heading, in any case.
    docs/functions.md has the same.
    """
    from sdb.query.analyze.reference import entries

    listed = entries(pattern)
    if as_json:
        output.say_json([_facts(entry) for entry in listed])
        return
    lines = _brief(listed) if pattern is None else _whole(listed)
    output.say(output.plain("\n".join(lines)))


def _facts(entry: FunctionEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "call": entry.call,
        "types": entry.types,
        "returns": entry.returns,
        "missing": entry.missing,
        "example": entry.example,
        "result": entry.result,
        "aliases": list(entry.aliases),
    }


def _brief(listed: list[FunctionEntry]) -> Iterator[str]:
    """Yield a line for each function, below its heading."""
    kind = ""
    for entry in listed:
        if entry.kind != kind:
            if kind:
                yield ""
            kind = entry.kind
            yield f"{kind}:"
        yield f"  {entry.call}: {entry.returns}"


def _whole(listed: list[FunctionEntry]) -> Iterator[str]:
    """Yield all that is known of each function."""
    for number, entry in enumerate(listed):
        if number:
            yield ""
        yield entry.call
        facts = [
            ("types", entry.types),
            ("returns", entry.returns),
            ("missing", entry.missing),
            ("example", f"{entry.example} is {entry.result}"),
            ("also", ", ".join(entry.aliases)),
        ]
        yield from (f"  {name:8} {text}" for name, text in facts if text)
