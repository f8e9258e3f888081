"""Requests that change tables: each is one version, once, however often it is sent."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import cast
from urllib.parse import unquote

import msgspec
from starlette.responses import Response

from sdb import notes
from sdb.errors import InputError, UsageError
from sdb.packfile.inputs.inputs import Input
from sdb.query.catalog.dataset import table_name
from sdb.query.syntax import ast, visitor, writes
from sdb.records import replace
from sdb.serve.bodies import bounded
from sdb.serve.conditional import changed, check_match, matched, with_warnings
from sdb.serve.described import body_of
from sdb.serve.problems import HttpError
from sdb.serve.queries import check_sql
from sdb.serve.tables.following import version_of
from sdb.serve.tables.opening import absent, check_right, named, version_tag
from sdb.serve.tables.parameters import ExecBody
from sdb.serve.tables.replays import REPLAYED, digest, key_of
from sdb.statements.execute import bound_statements, execute, execute_together, groups
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.views import find_view
from sdb.table.format.keys import TableKeys, flaw_of_name
from sdb.table.format.versionref import MAIN
from sdb.table.insert import groupcommit
from sdb.table.packfiles.rules import REJECTED, row_rules, told_of
from sdb.times import of_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import Any, BinaryIO

    from starlette.requests import Request

    from sdb.packfile.write.pack import PackResult
    from sdb.query.catalog.dataset import TableName
    from sdb.query.result.result import Result
    from sdb.serve.access import Rights
    from sdb.serve.answers import Engine
    from sdb.serve.described import NoMembers
    from sdb.serve.metrics import Metrics
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tables.parameters import RowsParams
    from sdb.table.catalog.root import TableRoot
    from sdb.table.packfiles.rules import RowRules

MOST_BYTES = 64 << 20
_MOST_STATEMENT_BYTES = 4 << 20
"""Of statements with their parameters: objects of Python take many times as much memory."""
_MOST_INFLATED_BYTES = 1 << 30
_UTF8 = "UTF-8''"
_TYPES = {
    "application/x-ndjson": "json",
    "application/ndjson": "json",
    "application/jsonl": "json",
    "application/json": "json",
    "application/ion": "ion",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
_PIECE_BYTES = 1 << 20
_MOST_WINDOW = 8 << 20


class Writes:
    """The requests that change rows.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(
        self,
        root: TableRoot,
        in_thread: Callable[..., Any],
        engine: Engine,
        settings: ServerSettings,
        metrics: Metrics,
    ) -> None:
        self._root, self._in_thread, self._metrics = root, in_thread, metrics
        self._engine, self._settings = engine, settings

    async def rows(self, request: Request, asked: RowsParams) -> Response:
        """Insert the rows of a body into a table, all of them or none."""
        rights: Rights = request.state.rights
        name = request.path_params["name"]
        keys, at = named(name)
        branch = at or MAIN
        form = form_of_rows(request)
        reading = of_fields(asked.times, asked.timezone, asked.time_field)
        expects = await self._in_thread(self._check, request, keys, branch)
        data = await bounded(request, MOST_BYTES)
        encoding = request.headers.get("content-encoding", "")

        def again(version: int, commit: str, inputs: Input) -> dict[str, object]:
            rules = row_rules(self._root, keys, branch)
            return _as_before(name, version, commit, inputs, rules)

        def inserted() -> tuple[dict[str, object], bool, list[str]]:
            with notes.collected() as warnings:
                inputs = replace(rows_of(data, form, encoding), times=reading)
                # The same rows may be compressed otherwise when they are sent again.
                has_key = "idempotency-key" in request.headers
                of_rows = digest(_inflated(data, encoding)) if has_key else ""
                key = key_of(request, rights.name, form, of_rows, *reading.texts())
                version = key.earlier(self._root, keys, branch)
                if version is not None:
                    return again(version, key.txn_id, inputs), False, warnings
                done = groupcommit.append(
                    self._root,
                    keys.database,
                    keys.table,
                    inputs,
                    txn_id=key.txn_id,
                    fingerprint=key.fingerprint,
                    expects=expects,
                    branch=branch,
                    author=_label(request, "sdb-author") or rights.name,
                    message=_label(request, "sdb-message"),
                )
                if done.packed is None or (done.packed.rows and not done.is_new):
                    # The same request was faster, or another with its key.
                    key.earlier(self._root, keys, branch)
                    return again(done.version, key.txn_id, inputs), False, warnings
                members = _inserted(name, done.version, done.commit, done.packed)
                if not done.packed.rows:
                    members |= {"version": self._version(keys, branch), "new": False}
                return members, bool(done.packed.rows), warnings

        members, is_new, warnings = await self._in_thread(inserted)
        if is_new:
            self._metrics.commits.inc()
            self._metrics.rows.inc(int(str(members["rows"])))
        is_replayed = not is_new and bool(members["new"])
        headers = {"cache-control": "no-store", **(REPLAYED if is_replayed else {})}
        if members["version"]:
            headers["etag"] = f'"{members["version"]}"'
        status = 201 if members["new"] else 200
        response = Response(msgspec.json.encode(members), status, headers, "application/json")
        return with_warnings(request, response, warnings, self._root.location)

    async def statements(self, request: Request, _: NoMembers) -> Response:
        """Run statements that change tables: one, or one transaction."""
        rights: Rights = request.state.rights
        if not rights.may_write_some:
            raise HttpError(403, "the token may not change tables", code="forbidden")
        asked = await body_of(request, ExecBody, _MOST_STATEMENT_BYTES)
        check_sql(asked.sql, self._settings.sql_bytes)
        params = msgspec.json.encode(asked.params, order="sorted")
        key = key_of(request, rights.name, asked.sql, params)

        def done(running: Running) -> tuple[list[dict[str, object]], bool, list[str]]:
            with notes.collected() as warnings:
                statements = bound_statements(asked.sql, asked.params)
                _check_one(statements)
                for statement in statements:
                    self._check_statement(statement, rights)
                request.app.state.service.root_check.room()
                targets = _targets(statements)
                expects = self._expected(request, targets)
                is_replayed = any(
                    key.earlier(self._root, keys, branch) is not None for keys, branch in targets
                )

                @contextmanager
                def follow(result: Result) -> Generator[None]:
                    with running.cancellation.interrupting(result.interrupt):
                        yield

                executed = execute(
                    asked.sql,
                    root=replace(self._root, visible=rights.reads),
                    params=asked.params,
                    author=asked.author or rights.name,
                    message=asked.message,
                    txn_id=key.txn_id,
                    fingerprint=key.fingerprint,
                    expects=expects,
                    dry_run=asked.dry_run,
                    threads=self._settings.query_threads,
                    memory_bytes=self._settings.query_memory_bytes,
                    dialect=asked.dialect or None,
                    progress=running.check,
                    follow=follow,
                )
                if not is_replayed and key.txn_id and not all(each.effects for each in executed):
                    # The same request was faster, or another with its key.
                    is_replayed = True
                    for keys, branch in targets:
                        key.earlier(self._root, keys, branch)
                return [each.as_dict() for each in executed], is_replayed, warnings

        results, is_replayed, warnings = await self._engine.work(request, done, rights)
        self._metrics.commits.inc(sum(bool(each["new"]) for each in results))
        if is_replayed:
            results = [each | {"new": True} for each in results]
        headers = REPLAYED if is_replayed else None
        return changed(request, {"transactions": results}, warnings, headers=headers)

    async def executed(
        self, request: Request, sql: str, read: Callable[[str], writes.WriteStatement]
    ) -> None:
        """Run statements that change tables, as far as the rights of a request go."""
        rights: Rights = request.state.rights

        def done(running: Running) -> int:
            statements = bound_statements(sql, {}, read)
            for statement in statements:
                self._check_statement(statement, rights)
            request.app.state.service.root_check.room()
            transactions = [
                execute_together(
                    group,
                    replace(self._root, visible=rights.reads),
                    author=rights.name,
                    threads=self._settings.query_threads,
                    memory_bytes=self._settings.query_memory_bytes,
                    progress=running.check,
                )
                for group in groups(statements)
            ]
            return sum(bool(each.as_dict()["new"]) for each in transactions)

        self._metrics.commits.inc(await self._engine.work(request, done, rights))

    def _check(self, request: Request, keys: TableKeys, branch: str) -> int | None:
        """Check that rows may come in, and that the table is what the client takes it for.

        Returns: The version that they must follow; None: any.
        """
        check_right(keys, request.state.rights, "ingest")
        request.app.state.service.root_check.room()
        handle = find_table(self._root, keys.database, keys.table, branch=branch)
        if handle is None and branch == MAIN and self._root.has(keys.definition):
            # A table that is only defined has no version yet.
            return None if check_match(request, '"0"', needed=False) else 0
        if handle is None or handle.is_dropped:
            raise absent(keys.name + (f"@{branch}" if branch != MAIN else ""))
        if check_match(request, version_tag(handle) or '"0"', needed=False):
            return None
        return version_of(handle)

    def _version(self, keys: TableKeys, branch: str) -> int:
        handle = find_table(self._root, keys.database, keys.table, branch=branch)
        return 0 if handle is None else version_of(handle)

    def _expected(self, request: Request, targets: list[tuple[TableKeys, str]]) -> dict[str, int]:
        """Return the version that the one table must have, by its name."""
        if not matched(request) and "if-match" not in request.headers:
            return {}
        if len(targets) != 1:
            raise UsageError("If-Match is of one table, and the statements change several")
        ((keys, branch),) = targets
        handle = find_table(self._root, keys.database, keys.table, branch=branch)
        tag = '"0"' if handle is None else version_tag(handle)
        if check_match(request, tag or '"0"', needed=False):
            return {}
        name = keys.name + (f"@{branch}" if branch != MAIN else "")
        return {name: 0 if handle is None else version_of(handle)}

    def _check_statement(self, statement: writes.WriteStatement, rights: Rights) -> None:
        """Check that a statement names no table that may not be changed or read, and no file."""
        if isinstance(statement.write, writes.Control):
            return
        nodes = list(visitor.nodes(statement))
        written = [node for node in nodes if isinstance(node, writes.WrittenTable)]
        if not written:
            raise HttpError(403, "the service does not run such statements", code="forbidden")
        for target in written:
            check_right(TableKeys(target.database, target.table), rights, "write")
        for name in named_tables(nodes):
            database, table = (*name.parts, "", "")[:2] if name.kind == "path" else ("", "")
            is_table = len(name.parts) == 2 and not (flaw_of_name(database) or flaw_of_name(table))  # noqa: PLR2004
            if not is_table or not rights.reads(database, table):
                raise absent(name.text)
            is_there = find_table(self._root, database, table) or find_view(
                self._root, database, table
            )
            if not is_there:
                raise absent(name.text)


def _check_one(statements: list[writes.WriteStatement]) -> None:
    """Check that a body is one statement or one transaction: all of it happens, or nothing.

    Raises `UsageError` if it is more.
    """
    words = [each.write.word for each in statements if isinstance(each.write, writes.Control)]
    is_joint = words == ["BEGIN", "COMMIT"] and len(statements) > len(words)
    ends = statements[0].write, statements[-1].write
    if len(statements) > 1 and not (
        is_joint and all(isinstance(write, writes.Control) for write in ends)
    ):
        raise UsageError(
            f"the body has {len(statements) - len(words):,} statements, and may be one transaction",
            hint="put BEGIN; and COMMIT; around the statements",
        )


def _targets(statements: list[writes.WriteStatement]) -> list[tuple[TableKeys, str]]:
    """Return the tables and branches that statements change."""
    targets: dict[tuple[str, str, str], None] = {}
    for statement in statements:
        for node in visitor.nodes(statement):
            if isinstance(node, writes.WrittenTable):
                targets[node.database, node.table, node.branch] = None
    return [(TableKeys(database, table), branch or MAIN) for database, table, branch in targets]


def _inserted(name: str, version: int, commit: str, packed: PackResult) -> dict[str, object]:
    """Return the answer to rows that came in; the same for a request that is sent again."""
    departed = {"rows": packed.departed, "table": f"{name.partition('.')[0]}.{REJECTED}"}
    return {
        "table": name,
        "version": version,
        "id": commit,
        "new": True,
        "rows": packed.rows,
        "text_bytes": packed.text_bytes,
        **({"quarantined": departed | {"reasons": packed.departures}} if packed.departed else {}),
    }


def _as_before(
    name: str, version: int, commit: str, inputs: Input, rules: RowRules | None
) -> dict[str, object]:
    """Return the answer that a request had before: its rows are read again, to be counted."""
    from tempfile import NamedTemporaryFile

    from sdb.packfile.read.reader import open_packfile
    from sdb.packfile.write.pack import pack

    with NamedTemporaryFile(prefix="sdb-", suffix=".zion") as spool:
        packed = pack(inputs, cast("BinaryIO", spool))
        spool.flush()
        if rules is not None and rules.are_quarantined and packed.rows:
            with open_packfile(spool.name) as opened:
                rows, _ = rules.departing(opened)
            left = packed.rows - len(rows)
            packed = replace(packed, rows=left, departed=len(rows), departures=told_of(rows))
    return _inserted(name, version, commit, packed)


def named_tables(nodes: list[ast.Node]) -> list[TableName]:
    """Return the tables that nodes of a statement name, but for names that it makes itself."""
    aliases = {node.alias for node in nodes if isinstance(node, ast.Source)}
    for node in nodes:
        if isinstance(node, ast.Statement):
            aliases |= {name for name, _ in node.with_}
    tables = [node for node in nodes if isinstance(node, ast.PathTable | ast.CallTable)]
    names = [name for name in map(table_name, tables) if name is not None]
    return [name for name in names if len(name.parts) > 1 or name.parts[0] not in aliases]


def _label(request: Request, name: str) -> str:
    """Return the text of a header, which may have other letters than those of ASCII (RFC 8187)."""
    text = request.headers.get(name, "")
    return unquote(text[len(_UTF8) :]) if text.startswith(_UTF8) else text


def form_of_rows(request: Request) -> str:
    """Return the format of the rows of a body, by its type.

    Raises `HttpError` if rows are not read from such bodies.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _TYPES:
        hint = f"there are {', '.join(_TYPES)}"
        raise HttpError(415, f"rows are no {kind or 'body without a type'}", hint=hint)
    return _TYPES[kind]


def rows_of(body: bytes, form: str, encoding: str) -> Input:
    """Return the rows of a body as an input.

    Raises `HttpError` if it is encoded in a way that is not known.
    """
    _inflater(encoding)
    return Input("the body", form, source=lambda: _inflated(body, encoding))


def _inflater(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    inflate = _INFLATE.get(encoding.strip().lower())
    if inflate is None:
        hint = f"there are {', '.join(filter(None, _INFLATE))}"
        raise HttpError(415, f"the content encoding {encoding[:40]!r} is not known", hint=hint)
    return inflate


def _inflated(body: bytes, encoding: str) -> Generator[bytes]:
    return _bounded(_inflater(encoding)(body))


def _bounded(pieces: Iterator[bytes]) -> Generator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > _MOST_INFLATED_BYTES:
            raise HttpError(413, f"the body has more than {_MOST_INFLATED_BYTES:,} bytes inflated")
        yield piece


def _plain(body: bytes) -> Iterator[bytes]:
    yield body


def _gunzipped(body: bytes) -> Iterator[bytes]:
    import zlib

    rest = body
    while rest:
        inflater = zlib.decompressobj(wbits=31)
        try:
            while rest and not inflater.eof:
                yield inflater.decompress(rest, _PIECE_BYTES)
                rest = inflater.unconsumed_tail or inflater.unused_data
                if inflater.eof:
                    rest = inflater.unused_data
        except zlib.error as error:
            raise InputError(f"the body is no gzip: {error}") from None
        if not inflater.eof:
            raise InputError("the body is cut: its gzip has no end")


def _unzstd(body: bytes) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).stream_reader(
        io.BytesIO(body), read_across_frames=True
    )
    try:
        while piece := reader.read(_PIECE_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        raise InputError(f"the body is no zstd: {error}") from None


_INFLATE = {"": _plain, "identity": _plain, "gzip": _gunzipped, "zstd": _unzstd}
