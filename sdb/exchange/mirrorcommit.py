"""The commits of a mirror: the actions that Delta knows, and what they say of a version."""

from __future__ import annotations

import uuid

from sdb.delta.log import PROTOCOL
from sdb.delta.schema import statistics_text
from sdb.exchange.mirrorfiles import is_ours, mark_in
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.exchange.mirrorplan import MirrorStep
    from sdb.exchange.mirrorrun import MirrorRun
    from sdb.lake.columntypes import Columns
    from sdb.lake.footer import ParquetFile
    from sdb.lake.mirrorlog import LogAction
    from sdb.table.commit.environment import Environment


@record
class MirrorCommits:
    """Makes the commits of a mirror.

    * ``application``: The id of the table, by which commits are known.
    """

    run: MirrorRun
    application: str
    env: Environment

    def actions(
        self,
        step: MirrorStep,
        files: list[tuple[str, ParquetFile]],
        replaced: list[str],
        table_columns: Columns,
        metadata: LogAction | None,
    ) -> list[LogAction]:
        """Return the actions of the commit of a version.

        * ``replaced``: Files of packfiles that stay, instead of which there are others.
        """
        removed = [path for path in self.run.log.files if mark_in(path) in step.removed]
        if self.run.is_restart:
            strange = [path for path in self.run.log.files if not is_ours(path)]
            removed = list(dict.fromkeys(strange + removed))
        is_change = not step.has_same_rows or bool(replaced)
        now_ms = self.env.now_us() // 1000
        is_append = bool(files) and not (removed or replaced)
        actions: list[LogAction] = [self._commit_info(step, is_append=is_append)]
        if self.run.log.version < 0:
            actions.append({"protocol": PROTOCOL})
        if metadata is not None:
            actions.append({"metaData": metadata})
        transaction = {
            "appId": self.application,
            "version": step.state.version,
            "lastUpdated": now_ms,
        }
        actions.append({"txn": transaction})
        paths = {path for path, _ in files}
        actions += [
            {"remove": self._removal(path, now_ms, is_change=is_change)}
            for path in [*removed, *replaced]
            if path not in paths
        ]
        for path, file in files:
            if path in self.run.log.files:
                continue
            actions.append(
                {
                    "add": {
                        "path": path,
                        "partitionValues": {},
                        "size": file.size_bytes,
                        "modificationTime": step.state.at_us // 1000,
                        "dataChange": is_change,
                        "stats": statistics_text(file, table_columns),
                    }
                }
            )
        return actions

    def _commit_info(self, step: MirrorStep, *, is_append: bool) -> LogAction:
        state = step.state
        info: dict[str, Any] = {
            "timestamp": state.at_us // 1000,
            "operation": "OPTIMIZE" if step.has_same_rows else "WRITE",
            "operationParameters": {"mode": "Append" if is_append else "Overwrite"},
            "isBlindAppend": is_append,
            "engineInfo": "sdb",
            "userName": state.author,
            "userMetadata": state.message,
            "sdb.table": self.run.name,
            "sdb.version": state.version,
            "sdb.id": state.commit,
            "sdb.operation": state.operation,
        }
        if step.first != state.version:
            info["sdb.first-version"] = step.first
        return {"commitInfo": info}

    def metadata(self, schema: str, configuration: dict[str, str]) -> LogAction:
        """Return the metadata of the mirror with a schema."""
        before = self.run.log.metadata
        return {
            "id": before.get("id") or str(uuid.uuid4()),
            "name": self.run.name,
            "description": f"a mirror of {self.run.name} by sdb",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": [],
            "configuration": {
                "sdb.table": self.run.name,
                "sdb.id": self.application,
                **configuration,
            },
            "createdTime": before.get("createdTime") or self.env.now_us() // 1000,
        }

    def _removal(self, path: str, now_ms: int, *, is_change: bool) -> LogAction:
        size = self.run.log.files[path].get("size")
        return {
            "path": path,
            "deletionTimestamp": now_ms,
            "dataChange": is_change,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": size,
        }
