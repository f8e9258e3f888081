"""`sdb concat`."""

from __future__ import annotations

import sys

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, NoVerify, Packfiles, ProgressMode, Replace, Verbose
from sdb.cli.parameters import Context, Option
from sdb.cli.values import locate
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.rewrite.concat import ConcatResult

EXAMPLES = (
    "sdb concat -o both.zion events.zion more.zion",
    "sdb concat --force --json -o both.zion events.zion more.zion",
)


def command(
    context: Context,
    packfiles: Packfiles,
    target: Annotated[
        str, Option("--output", "-o", metavar="PACKFILE", help="The packfile to write.")
    ],
    force: Replace = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Join packfiles without packing their rows again.

    They must have the same compression and the same constants.
    """
    from sdb.packfile.rewrite.concat import concat

    output.prepare(verbose=verbose, unverified=no_verify)
    with Meter("joining", progress) as meter:
        result = concat(
            [locate(context, path) for path in packfiles],
            target,
            overwrite=force,
            verify=not no_verify,
            progress=meter,
        )
    if as_json:
        output.say_json(_facts(result))
    elif not output.is_quiet() and (verbose or sys.stderr.isatty()):
        output.say(output.plain(_text(result)), to=sys.stderr)


def _facts(result: ConcatResult) -> dict[str, object]:
    from sdb.cli.render.pack import index_facts

    return {
        "path": result.path,
        "algorithm": result.trailer.algorithm,
        "inputs": result.inputs,
        "rows": result.rows_total,
        "blocks": len(result.trailer.blocks),
        "output_bytes": result.output_bytes,
        "copied_bytes": result.copied_bytes,
        "copied_by": result.copied_by,
        "written_bytes": result.written_bytes,
        "seconds": round(result.seconds, 3),
        "indexes": index_facts(result.trailer),
    }


def _text(result: ConcatResult) -> str:
    total = result.rows_total
    rows = "rows not counted" if total is None else sizes.counted(total, "row")
    inputs = sizes.counted(result.inputs, "packfile")
    blocks = sizes.counted(len(result.trailer.blocks), "block")
    copied, written = sizes.human(result.copied_bytes), sizes.human(result.written_bytes)
    return (
        f"joined   {inputs}: {rows} in {blocks}\n"
        f"size     {sizes.human(result.output_bytes)}\n"
        f"moved    {copied} kept by {result.copied_by}, {written} written, {result.seconds:.2f} s"
    )
