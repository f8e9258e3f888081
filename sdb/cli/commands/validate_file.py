"""`sdb validate-file`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Packfiles, ProgressMode, Verbose
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = ("sdb validate-file events.zion", "sdb validate-file --json events.zion")


def command(
    context: Context,
    packfiles: Packfiles,
    max_findings: Annotated[
        int,
        Option(
            "--max-findings",
            metavar="N",
            bounds=bounds.FINDINGS,
            help="Most findings of a file to print; the others are counted.",
        ),
    ] = 1000,
    verbose: Verbose = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Read packfiles completely and report what is wrong.

    Every row is checked, and the time index against the rows. Exit code 1 when anything was found.
    """
    from sdb.packfile.inspect.validate import validate
    from sdb.packfile.read.resolve import resolve

    found = resolve(packfiles, root=context.obj)
    reports = []
    for one in found:
        if verbose:
            output.say(output.plain(f"checking {one.name}"), to=sys.stderr)
        with Meter("checking", progress) as meter:
            report = validate(one.location, max_findings=max_findings, progress=meter)
        reports.append(report)
        for finding in report.findings:
            output.say(output.plain(str(finding)), to=sys.stderr)
        if report.dropped:
            text = output.more_findings(one.name, len(report.findings), report.dropped)
            output.say(text, to=sys.stderr)
    ok = all(report.ok for report in reports)
    if as_json:
        files = [
            {
                "path": one.name,
                "blocks": report.blocks,
                "rows": report.rows,
                "findings": [str(finding) for finding in report.findings],
                "more_findings": report.dropped,
            }
            for one, report in zip(found, reports, strict=True)
        ]
        output.say_json({"ok": ok, "files": files})
    return 0 if ok else 1
