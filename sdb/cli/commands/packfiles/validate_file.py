"""`sdb validate-file`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, MaxFindings, PackfilesOrTables, ProgressMode, Root, Verbose
from sdb.cli.parameters import Context
from sdb.cli.tablenames import Sources

EXAMPLES = ("sdb validate-file events.zion", "sdb validate-file --json events.zion")


def command(
    context: Context,
    packfiles: PackfilesOrTables,
    max_findings: MaxFindings = 1000,
    root: Root = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Read packfiles completely and report damage.

    Every row is checked, and the time index against the rows. Exit code 1 when anything is wrong.
    Of a table this is a part of what sdb validate does.
    """
    from sdb.packfile.inspect.validate import validate

    with Sources(context, root) as sources:
        references = sources.resolve(packfiles)
        names = [
            reference.location if reference.is_of_table else reference.name
            for reference in references
        ]
        reports = []
        for reference, name in zip(references, names, strict=True):
            if verbose:
                output.say(output.plain(f"checking {name}"), to=sys.stderr)
            with Meter("checking", progress) as meter:
                report = validate(reference.location, max_findings=max_findings, progress=meter)
            reports.append(report)
            prefix = f"{name}: " if reference.is_of_table else ""
            for finding in report.findings:
                output.say(output.plain(f"{prefix}{finding}"), to=sys.stderr)
            if report.dropped:
                text = output.more_findings(name, len(report.findings), report.dropped)
                output.say(text, to=sys.stderr)
    ok = all(report.ok for report in reports)
    if as_json:
        files = [
            {
                "path": name,
                "blocks": report.blocks,
                "rows": report.rows,
                "findings": [str(finding) for finding in report.findings],
                "more_findings": report.dropped,
            }
            for name, report in zip(names, reports, strict=True)
        ]
        output.say_json({"ok": ok, "files": files})
    return 0 if ok else 1
