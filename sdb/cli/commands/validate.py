"""`sdb validate`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, At, Database, ProgressMode, Root, Table, Verbose, table_root
from sdb.cli.parameters import Context, Option
from sdb.errors import CorruptError
from sdb.typed import Annotated

EXAMPLES = ("sdb validate --root lake web gha", "sdb validate --json --root lake web gha")


def command(
    context: Context,
    database: Database,
    table: Table,
    at: At = "",
    root: Root = None,
    max_findings: Annotated[
        int,
        Option(
            "--max-findings",
            metavar="N",
            bounds=bounds.FINDINGS,
            help="Most findings of a packfile to print; the others are counted.",
        ),
    ] = 1000,
    verbose: Verbose = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Read a table completely and report what is wrong.

    The signature, every object that the index leads to, its ETag and content id, every row, and the
    versions that are kept. Exit code 6 when anything was found.
    """
    from sdb.table.catalog.handle import open_table
    from sdb.table.maintenance.validate import validate_table

    def watch(key: str) -> None:
        if verbose:
            output.say(output.plain(f"checking {key}"), to=sys.stderr)

    handle = open_table(table_root(context, root), database, table, at=at)
    with Meter("checking", progress) as meter:
        report = validate_table(handle, max_findings=max_findings, watch=watch, progress=meter)
    for finding in report.findings:
        output.say(output.plain(str(finding)), to=sys.stderr)
    for key, count in report.dropped.items():
        output.say(output.more_findings(key, max_findings, count), to=sys.stderr)
    if as_json:
        findings = [{"key": one.key, "text": one.text} for one in report.findings]
        more = sum(report.dropped.values())
        facts = {"packfiles": report.packfiles, "rows": report.rows, "inputs": report.inputs}
        output.say_json({"ok": report.ok, **facts, "findings": findings, "more_findings": more})
    return 0 if report.ok else CorruptError.exit_code
