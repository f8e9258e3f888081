"""`sdb validate`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    At,
    MaxFindings,
    NextWord,
    ProgressMode,
    Root,
    TableVersion,
    Verbose,
    table_root,
)
from sdb.cli.parameters import Context
from sdb.cli.tablenames import version_of
from sdb.errors import CorruptError

EXAMPLES = ("sdb validate --root lake web.gha", "sdb validate --json --root lake web gha")


def command(
    context: Context,
    name: TableVersion,
    table: NextWord = None,
    at: At = "",
    root: Root = None,
    max_findings: MaxFindings = 1000,
    verbose: Verbose = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Read a table completely and report damage.

    Checks the signature, every object that the index refers to with its ETag and content id, every
    row, and the versions that are kept. Exit code 6 when anything is wrong.
    """
    from sdb.table.catalog.handle import open_table
    from sdb.table.maintenance.validate import validate_table

    def watch(key: str) -> None:
        if verbose:
            output.say(output.plain(f"checking {key}"), to=sys.stderr)

    database, table, reference = version_of(name, table, at)
    handle = open_table(table_root(context, root), database, table, at=reference)
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
