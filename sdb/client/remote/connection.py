"""`sdb.connect("http://...")`: the tables of a server."""

from __future__ import annotations

import gzip
import re
from fnmatch import fnmatchcase
from tempfile import SpooledTemporaryFile
from typing import cast
from urllib.parse import parse_qsl, quote, unquote

from sdb.client.calls import ConnectionCalls
from sdb.client.remote import answers
from sdb.client.remote.faults import Refused, refused
from sdb.errors import NotFoundError, UnsupportedError, UsageError
from sdb.query.analyze.params import bind
from sdb.query.result import wire
from sdb.query.result.result import Result
from sdb.query.run.storedquery import texts_of
from sdb.query.syntax import ast, printer, visitor, writes
from sdb.query.syntax.parser import parse
from sdb.query.syntax.writeparser import parse_write
from sdb.statements.execute import bound_statements, groups
from sdb.table.format.keys import flaw_of_name, new_uid
from sdb.table.format.versionref import parse_reference, split_reference
from sdb.table.insert.insert import Inserted
from sdb.table.upkeep.maintain import Maintained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO, Unpack

    from sdb.client.options import (
        AppendOptions,
        ExecuteOptions,
        MaintainOptions,
        Params,
        RestoreOptions,
        SqlOptions,
        WriteOptions,
    )
    from sdb.client.remote.table import RemoteTable
    from sdb.client.remote.transport import Transport
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.query.exec.execution import Execution
    from sdb.statements.effects import Executed
    from sdb.statements.transacting import TransactionContext
    from sdb.table.catalog.storedqueries import StoredQuery
    from sdb.table.catalog.views import View
    from sdb.table.format.versionref import Given
    from sdb.table.history.restore import Restored
    from sdb.table.inspect.describe import TableFacts
    from sdb.table.upkeep.status import TableStatus

_SPOOL_BYTES = 8 << 20
_MOST_BODY_BYTES = 64 << 20
_ANY = {"if-match": "*"}
_WITHOUT_ID = (
    writes.Vacuum | writes.UndropTable | writes.CreateView | writes.DropView | writes.UndropView
)
"""Statements that take no ID, so that sending them twice may do more than once."""
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class RemoteConnection(ConnectionCalls):
    """The tables of a server: what :class:`Connection` is for a folder, as far as rights go."""

    def __init__(self, transport: Transport, *, dialect: str | None = None) -> None:
        self.transport = transport
        self._defaults = {} if dialect is None else {"dialect": dialect}

    def tables(self, database: str | None = None) -> list[TableFacts]:
        """Return the facts of the tables that the token may read."""
        listed = self.paged("/v1/tables", "tables")
        return [
            answers.facts(each)
            for each in listed
            if "error" not in each and database in {None, each["database"]}
        ]

    def views(self, database: str | None = None) -> list[View]:
        """Return the views that the token may read; their texts if it may change them."""
        listed = self.transport.request("GET", "/v1/views").json()["views"]
        names = [each["name"] for each in listed]
        return [
            answers.view(self.transport.request("GET", f"/v1/views/{name}").json())
            for name in names
            if database in {None, name.partition(".")[0]}
        ]

    def status(self, name: str | None = None, *, exact: bool = False) -> list[TableStatus]:
        """Report what tables need; see :meth:`Connection.status`."""
        return [self.table(each).status(exact=exact) for each in self._meant(name)]

    def maintain(self, name: str | None = None, **options: Unpack[MaintainOptions]) -> Maintained:
        """Keep tables small; see :meth:`Connection.maintain`."""
        done = [self.table(each).maintain(**options) for each in self._meant(name)]
        return Maintained(
            tuple([action for each in done for action in each.actions]),
            tuple([failure for each in done for failure in each.failures]),
        )

    def _meant(self, name: str | None) -> list[str]:
        """Return the tables that ``db``, ``db.table`` or ``db.pattern*`` means.

        Raises `NotFoundError` if no table has such a name.
        """
        database, _, pattern = (name or "").partition(".")
        listed = self.tables(database or None)
        meant = [each.name for each in listed if fnmatchcase(each.table, pattern or "*")]
        if not meant and name:
            raise NotFoundError(f"there is no table {name[:200]}")
        return meant

    def paged(self, path: str, members: str, **params: object) -> Iterator[dict[str, Any]]:
        """Iterate over a list, page by page."""
        reply = self.transport.request("GET", path, params=params).json()
        yield from reply[members]
        while "next" in reply:
            path, _, query = reply["next"].partition("?")
            asked = dict(parse_qsl(query))
            reply = self.transport.request("GET", unquote(path), params=asked).json()
            yield from reply[members]

    def table(self, name: str) -> RemoteTable:
        """Return a table, or a version of it, ``db.table@12``."""
        from sdb.client.remote.table import RemoteTable

        plain, at = split_reference(name)
        if "." not in plain:
            raise UsageError(f"{name!r} is not the name of a table", expected="database.table")
        return RemoteTable(self, plain, at=at)

    def append(self, name: str, inputs: Inputs, **options: Unpack[AppendOptions]) -> Inserted:
        """Insert rows; see :meth:`Connection.append`.

        They are packed here first, so that their flaws are the same errors as those of a folder.
        At most 64 MiB go into one request, and one version.
        """
        from sdb.packfile.write.pack import pack

        if options.get("partition"):
            raise refused("partition=", "the server does not take partitions with rows")
        txn_id = options.pop("txn_id", "")
        labels = {name: options.pop(name, "") for name in ("author", "message")}  # type: ignore[misc]
        options.pop("partition", None)
        if txn_id and not _KEY.fullmatch(txn_id):
            raise UsageError("txn_id: 1 to 200 printable characters without spaces")
        with SpooledTemporaryFile(_SPOOL_BYTES) as spool:
            packed = pack(inputs, cast("BinaryIO", spool), **cast("dict[str, Any]", options))
            body = _ion_of(spool) if packed.rows else b""
        headers = {
            "content-type": "application/ion",
            "content-encoding": "gzip",
            "idempotency-key": txn_id or new_uid(),
            **{f"sdb-{label}": _header(str(text)) for label, text in labels.items() if text},
        }
        data = gzip.compress(body, 1, mtime=0)
        if len(data) > _MOST_BODY_BYTES:
            raise UnsupportedError(
                f"{packed.rows:,} rows are {len(data):,} bytes, and a request takes "
                f"{_MOST_BODY_BYTES:,}",
                hint="append them in parts",
            )
        reply = self.transport.request(
            "POST", f"/v1/tables/{name}/rows", body=data, headers=headers
        )
        members = reply.json()
        is_new = members["new"] and "idempotency-replayed" not in reply.headers
        # Of rows that were in before nothing is result, as on a folder.
        result = packed if is_new or not packed.rows else None
        return Inserted(members["version"], txn_id or members["id"], is_new, result)

    def insert(
        self,
        database: str,
        table: str,
        inputs: Inputs,
        *,
        branch: str = "main",
        **options: Any,  # noqa: ANN401
    ) -> Inserted:
        """Insert rows; see :func:`sdb.table.insert.insert.insert`."""
        behind = "" if branch == "main" else f"@{branch}"
        return self.append(f"{database}.{table}{behind}", inputs, **options)

    def restore(self, name: str, reference: Given, **options: Unpack[RestoreOptions]) -> Restored:
        """Make the content of an old version new; options as in :meth:`sdb.Table.restore`."""
        if options.get("only_dropped"):
            raise refused("only_dropped=", hint='execute("UNDROP TABLE ...") brings a table back')
        branch = options.get("branch", "main")
        at = "" if branch == "main" else f"@{branch}"
        members = {
            "at": parse_reference(reference).text,
            "author": options.get("author", ""),
            "message": options.get("message", ""),
        }
        path = f"/v1/tables/{name}{at}/restore"
        return answers.restored(self.changed(path, members))

    def changed(self, path: str, members: Mapping[str, object]) -> dict[str, Any]:
        """Ask for a change of whatever version is the newest."""
        reply = self.transport.request("POST", path, members=members, headers=_ANY)
        return cast("dict[str, Any]", reply.json())

    def sql(self, text: str, params: Params = None, **options: Unpack[SqlOptions]) -> Result:
        """Run a query on tables of the server; see :meth:`Connection.sql`."""
        members = _query_members(text, params or {}, options)
        reply = self.transport.request("POST", "/v1/query", members=members)
        execution = wire.execution_of(cast("BinaryIO", reply), reply.close)
        return _result(text, execution)

    def stored_queries(self) -> list[StoredQuery]:
        """Return the stored queries that the token may ask; their texts if it may do all."""
        listed = self.transport.request("GET", "/v1/queries").json()["queries"]
        return [answers.stored_query(each) for each in listed]

    def run_query(self, name: str, params: Mapping[str, object] | None = None) -> Result:
        """Run a stored query of the server; see :meth:`Connection.run_query`."""
        if flaw_of_name(name) or "." in name:
            raise NotFoundError(f"there is no query {name[:80]!r}")
        path = f"/v1/queries/{name}"
        asked = {**texts_of(params or {}), "format": "rows"}
        reply = self.transport.request("GET", path, params=asked)
        execution = wire.execution_of(cast("BinaryIO", reply), reply.close)
        return _result("", execution)

    def execute(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> list[Executed]:
        """Run statements that change tables; see :func:`sdb.execute`.

        Each transaction is a separate request.
        """
        params = params or {}
        transactions = groups(bound_statements(text, params))
        txn_id = options.get("txn_id", "")
        if txn_id and len(transactions) > 1:
            raise UsageError(
                "one transaction ID for several transactions",
                hint="put BEGIN; and COMMIT; around the statements",
            )
        executed = []
        for statements in transactions:
            texts = [statement.text.strip().rstrip(";") for statement in statements]
            joined = texts[0] if len(texts) == 1 else f"BEGIN; {'; '.join(texts)}; COMMIT;"
            dialects = {statement.dialect for statement in statements} - {""}
            members = {
                "sql": joined,
                "params": _params_of(texts, params),
                "author": options.get("author", ""),
                "message": options.get("message", ""),
                "dry_run": options.get("dry_run", False),
                "dialect": next(iter(dialects), options.get("dialect") or ""),
            }
            is_alone = isinstance(statements[0].write, _WITHOUT_ID)
            key = {} if is_alone else {"idempotency-key": txn_id or new_uid()}
            reply = self.transport.request(
                "POST",
                "/v1/exec",
                members=members,
                headers=key,
                may_repeat=not is_alone,
            )
            is_replayed = "idempotency-replayed" in reply.headers
            executed += [
                answers.executed(each, is_replayed=is_replayed)
                for each in reply.json()["transactions"]
            ]
        return executed

    def transaction(self, **options: Unpack[WriteOptions]) -> TransactionContext:
        """Begin a transaction; its statements are sent together at its end."""
        from sdb.client.remote.transacting import RemoteTransaction

        return RemoteTransaction(self, options)

    def close(self) -> None:
        """Close the connections to the server that are idle."""
        self.transport.close()

    # What works on the objects of tables, and not on their rows

    root = Refused("reading the root")
    create = Refused(
        "creating a table with a definition",
        "its patterns are about files where the root is",
        'execute("CREATE TABLE db.table") makes one without inputs',
    )
    sync = Refused("syncing tables", "their inputs are files where the root is")
    store_query = Refused("storing a query", hint="sdb query-store put, where the root is")
    drop_query = Refused("dropping a query", hint="sdb query-store drop, where the root is")

    def __repr__(self) -> str:
        """Show the server."""
        return f"<Connection to {self.transport.url}>"


def _params_of(texts: Sequence[str], params: Mapping[str, object]) -> dict[str, object]:
    """Return the values of the parameters that statements have.

    Raises `UnsupportedError` if JSON has no such values.
    """
    names = {
        node.name
        for text in texts
        for node in visitor.nodes(parse_write(text))
        if isinstance(node, ast.Param)
    }
    wanted = {name: value for name, value in params.items() if name in names}
    for name, value in wanted.items():
        if not _is_plain(value):
            raise refused(
                f"the parameter ${name}",
                f"JSON has no values of the type {type(value).__name__}",
                "write it into the statement, as in TIMESTAMP '2026-11-01T00:00:00Z'",
            )
    return wanted


def _result(text: str, execution: Execution) -> Result:
    """Return the rows that a server sends; who reads them is warned of what it tells."""
    result = Result(text, execution, [])
    result.warns = True
    return result


def _query_members(
    text: str, params: Mapping[str, object], options: Mapping[str, Any]
) -> dict[str, object]:
    """Return the body of a request for a query."""
    for name, value in options.items():
        is_default = value is None or value is False
        if name == "prune" and value is not True:
            raise refused("prune=False", "the server decides what it reads")
        if name in {"strict", "tables"} and not is_default:
            raise refused(f"{name}=", "the server has no such member")
    if any(not _is_plain(value) for value in params.values()):
        # JSON has no times: these are written into the statement.
        text, params = printer.statement(bind(parse(text), params)), {}
    field = options.get("time_field")
    if field is not None and not isinstance(field, str):
        if any("." in part for part in field):
            raise refused("a time field with a dot in a name")
        field = ".".join(field)
    members: dict[str, object] = {
        "sql": text,
        "params": params,
        "format": "rows",
        "since": _time(options.get("since")),
        "until": _time(options.get("until")),
        "time_field": field or "",
        "at": options.get("at") or "",
        "dialect": options.get("dialect") or "",
    }
    return {name: value for name, value in members.items() if value not in ("", {})}


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return (
        value is None
        or type(value) in {bool, int, str}
        or (isinstance(value, float) and value - value == 0)
    )


def _time(value: str | datetime | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    from sdb import instants

    return instants.text(instants.to_us(value))


def _ion_of(spool: Any) -> bytes:  # noqa: ANN401 - a file
    """Return the rows of a packfile as a stream of Ion."""
    import io
    import os
    from tempfile import NamedTemporaryFile

    from sdb.packfile.export.unpack import unpack

    output = io.BytesIO()
    with NamedTemporaryFile(suffix=".zion") as file:
        spool.seek(0)
        while piece := spool.read(1 << 20):
            file.write(piece)
        file.flush()
        unpack([os.fspath(file.name)], output, fmt="ion")
    return output.getvalue()


def _header(text: str) -> str:
    """Return a text as a header takes it (RFC 8187 if it has other letters than those of ASCII)."""
    is_plain = text.isascii() and text.isprintable() and not text.startswith("UTF-8''")
    return text if is_plain else f"UTF-8''{quote(text, safe='')}"
