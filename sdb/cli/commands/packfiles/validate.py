"""`sdb validate`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    AsPackfiles,
    At,
    MaxFindings,
    PackfilesOrTables,
    ProgressMode,
    Verbose,
)
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import Sources, at_version, single_table

EXAMPLES = (
    "sdb validate events.zion",
    "sdb validate --json events.zion",
    "sdb validate --root lake web.gha",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle


def command(
    context: TableContext,
    packfiles: PackfilesOrTables,
    as_packfiles: AsPackfiles = False,
    at: At = "",
    max_findings: MaxFindings = 1000,
    verbose: Verbose = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Read packfiles or a table completely and report damage.

    Of packfiles every row is checked, and the time index against the rows; exit code 1 when
    anything is wrong. Of a table also its signature, every object that the index refers to with its
    ETag and content id, and the versions that are kept; exit code 6.
    """
    handle = None if as_packfiles else single_table(context, packfiles, at)
    if handle is not None:
        return _table(handle, max_findings, verbose=verbose, as_json=as_json, progress=progress)
    from sdb.packfile.inspect.validate import validations

    with Sources(context) as sources:
        references = sources.resolve(at_version(packfiles, at))
        names = [
            reference.location if reference.is_of_table else reference.name
            for reference in references
        ]
        reports = []
        checks = validations(references, max_findings)
        for reference, name, check in zip(references, names, checks, strict=True):
            if verbose:
                output.say(output.plain(f"checking {name}"), to=sys.stderr)
            with Meter("checking", progress) as meter:
                report = check(meter)
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


def _table(
    handle: TableHandle, max_findings: int, *, verbose: bool, as_json: bool, progress: str
) -> int:
    """Check a table."""
    from sdb.errors import CorruptError
    from sdb.table.maintenance.validate import validate_table

    def watch(key: str) -> None:
        if verbose:
            output.say(output.plain(f"checking {key}"), to=sys.stderr)

    with Meter("checking", progress) as meter:
        report = validate_table(handle, max_findings=max_findings, watch=watch, progress=meter)
    for finding in report.findings:
        output.say(output.plain(str(finding)), to=sys.stderr)
    for key, count in report.dropped.items():
        output.say(output.more_findings(key, max_findings, count), to=sys.stderr)
    if as_json:
        findings = [{"key": entry.key, "text": entry.text} for entry in report.findings]
        more = sum(report.dropped.values())
        facts = {"packfiles": report.packfiles, "rows": report.rows, "inputs": report.inputs}
        output.say_json({"ok": report.ok, **facts, "findings": findings, "more_findings": more})
    return 0 if report.ok else CorruptError.exit_code
