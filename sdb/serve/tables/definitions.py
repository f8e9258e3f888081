"""Definitions, descriptions and schemas of tables as resources."""

from __future__ import annotations

import json

from sdb import notes
from sdb.errors import ExistsError, UsageError
from sdb.records import replace
from sdb.serve.conditional import answered, changed, check_match
from sdb.serve.described import body_of
from sdb.serve.tables.catalog import of_table
from sdb.serve.tables.opening import check_right, named, opened, version_tag
from sdb.serve.tables.parameters import DescriptionBody, SchemaBody, SchemaParams
from sdb.statements.schemasetting import set_schema
from sdb.table.definition.alter import alter_table
from sdb.table.definition.cache import read_definition
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.schemas import inferred

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.running import Running
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.schema.columns import TableSchema

_MOST_BYTES = 1 << 20


class DefinitionResources:
    """The resources that say what a table is.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any], engine: Engine) -> None:
        self._root, self._in_thread, self._engine = root, in_thread, engine

    async def definition(self, request: Request, _: NoMembers) -> Response:
        """Show the definition of a table to who may change the table: it names places."""
        keys, at = named(request.path_params["name"])

        def read() -> dict[str, object]:
            check_right(keys, request.state.rights, "write")
            if at:
                raise UsageError(f"{keys.name}: versions have no definition")
            return {
                "table": keys.name,
                "definition": json.loads(read_definition(self._root, keys).shown()),
            }

        return answered(request, await self._in_thread(read))

    async def describe(self, request: Request, _: NoMembers) -> Response:
        """Set the description and the steward of a table; what is not named stays."""
        asked = await body_of(request, DescriptionBody, _MOST_BYTES)
        keys, at = named(request.path_params["name"])
        texts = {"description": asked.description, "steward": asked.steward}
        members = {name: text for name, text in texts.items() if text is not None}
        if at or not members:
            what = "versions have no description" if at else "the body has nothing to set"
            raise UsageError(f"{keys.name}: {what}", expected="description, steward or both")

        def described() -> tuple[dict[str, object], list[str]]:
            check_right(keys, request.state.rights, "write")

            def change(old: Definition) -> Definition:
                return replace(old, **members)

            with notes.collected() as warnings:
                altered = alter_table(self._root, keys, change)
            after = {name: getattr(altered.after, name) or None for name in texts}
            return {"table": keys.name, "new": altered.is_new, **after}, warnings

        return changed(request, *await self._in_thread(described))

    async def schema(self, request: Request, asked: SchemaParams) -> Response:
        """Show the schema of a version, or one that its rows conform to."""
        rights: Rights = request.state.rights

        def shown(handle: TableHandle) -> dict[str, object]:
            schema = None if handle.schema is None else handle.schema.as_dict()
            return {"table": handle.name, "schema": schema}

        def made(_: Running) -> dict[str, object]:
            handle = opened(self._root, request.path_params["name"], rights)
            return {"table": handle.name, "schema": inferred(handle).as_dict()}

        if asked.infer:
            return answered(request, await self._engine.work(request, made, rights))
        return await of_table(self._root, self._in_thread, request, shown)

    async def put_schema(self, request: Request, _: NoMembers) -> Response:
        """Set the schema of a table that the client has seen, or begin one of its rows."""
        asked = await body_of(request, SchemaBody, _MOST_BYTES)
        rights: Rights = request.state.rights
        name = request.path_params["name"]
        keys, at = named(name)
        if asked.infer == (asked.schema is not None) and asked.mode:
            raise UsageError("mode goes with the schema or infer that it is of")
        if asked.infer and asked.schema is not None:
            raise UsageError("infer makes a schema, and the body has another one")

        def put(running: Running) -> tuple[dict[str, object], list[str]]:
            check_right(keys, rights, "write")
            handle = opened(self._root, name, rights, "write")
            is_any = check_match(request, version_tag(handle), needed=True)
            with notes.collected() as warnings:
                schema = self._inferred(handle, running) if asked.infer else asked.schema
                done = set_schema(
                    self._root,
                    keys,
                    schema,
                    mode=asked.mode,
                    branch=at or MAIN,
                    author=asked.author or rights.name,
                    message=asked.message or ("infer the schema" if asked.infer else ""),
                    expects=None if is_any or handle.state is None else handle.state.version,
                )
            after = None if done.schema is None else done.schema.as_dict()
            members = {"table": name, "version": done.version, "new": done.is_new, "schema": after}
            return members, warnings

        return changed(request, *await self._engine.work(request, put, rights))

    @staticmethod
    def _inferred(handle: TableHandle, running: Running) -> TableSchema:
        if handle.schema is not None:
            raise ExistsError(f"{handle.name} has a schema already", hint="PUT takes its place")
        running.check()
        return inferred(handle)
