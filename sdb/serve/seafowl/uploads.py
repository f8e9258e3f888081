"""Uploads: a CSV or Parquet file becomes rows of a table, which is made if it is not there."""

from __future__ import annotations

import asyncio
import csv
import os
import tempfile

from starlette.responses import Response

from sdb.packfile.inputs.inputs import recognise
from sdb.records import replace
from sdb.serve.problems import HttpError
from sdb.serve.seafowl.multipart import UploadForm
from sdb.serve.seafowl.names import placed
from sdb.serve.seafowl.schemas import hints_of
from sdb.serve.tables.following import version_of
from sdb.serve.tables.opening import absent, check_right
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.views import find_view
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.definition.create import CREATE
from sdb.table.format.keys import TableKeys, flaw_of_new_name, new_uid
from sdb.table.insert import groupcommit
from sdb.table.packfiles.pack import pack_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from starlette.requests import Request

    from sdb.packfile.inputs.inputs import Input
    from sdb.serve.access import Rights
    from sdb.serve.metrics import Metrics
    from sdb.table.catalog.root import TableRoot

_UPLOADS = 8
_HEAD_BYTES = 64 << 10
_FORMATS = {".csv": "csv", ".parquet": "parquet"}
_TRUE = ("", "true", "t", "1", "yes")


class UploadResources:
    """The resource that takes files.

    * ``in_thread``: Runs a function that reads or writes.
    """

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any], metrics: Metrics) -> None:
        self._root, self._in_thread, self._metrics = root, in_thread, metrics
        # How many files at most are on the disk at the same time.
        self._uploads = asyncio.Semaphore(_UPLOADS)

    async def seafowl_upload(self, request: Request) -> Response:
        """Insert the rows of a file, all of them or none."""
        request.scope["sdb.plain"] = True
        rights: Rights = request.state.rights
        schema, table = request.path_params["schema"], request.path_params["table"]
        database = placed(schema, request.path_params.get("database", ""))
        for name in (database, table):
            if flaw_of_new_name(name) or "@" in name:
                raise HttpError(400, f"{name[:80]!r} is no name of a table")
        keys = TableKeys(database, table)
        # All that can be refused is, before the file comes in.
        await self._in_thread(self._check, keys, rights)
        await self._in_thread(request.app.state.service.root_check.room)
        async with self._uploads:
            with tempfile.TemporaryDirectory(prefix="sdb-serve-") as folder:
                form = UploadForm(folder, _format)
                await form.read(request)
                if form.file is None:
                    raise HttpError(400, "the form has no file: data=@FILE.csv")
                done = await self._in_thread(self._inserted, form, keys, rights)
        rows, version = done
        if rows:
            self._metrics.commits.inc()
            self._metrics.rows.inc(rows)
        text = f"{form.file_name} appended to table {table} version {version}\n"
        headers = {"cache-control": "no-store", "etag": f'"{version}"'}
        return Response(text.encode(), 200, headers, "text/plain; charset=utf-8")

    def _check(self, keys: TableKeys, rights: Rights) -> None:
        """Check that rows may come in, and that the table is there or may be made."""
        check_right(keys, rights, "ingest")
        if self._is_new(keys) and not rights.may("write", keys.database, keys.table):
            raise absent(keys.name)

    def _is_new(self, keys: TableKeys) -> bool:
        is_defined = self._root.has(keys.definition)
        return not is_defined and find_table(self._root, keys.database, keys.table) is None

    def _inserted(self, form: UploadForm, keys: TableKeys, rights: Rights) -> tuple[int, int]:
        """Insert the rows, and return how many there are, and in which version."""
        inputs = _input(form)
        if self._is_new(keys):
            return self._made(keys, inputs, rights)
        done = groupcommit.append(self._root, keys.database, keys.table, inputs, author=rights.name)
        rows = 0 if done.packed is None else done.packed.rows
        if rows:
            return rows, done.version
        handle = find_table(self._root, keys.database, keys.table)
        return 0, 0 if handle is None else version_of(handle)

    def _made(self, keys: TableKeys, inputs: Input, rights: Rights) -> tuple[int, int]:
        """Make a table with the rows, in one version."""
        if find_view(self._root, keys.database, keys.table) is not None:
            name = keys.name
            raise HttpError(409, f"{name} is a view, and rows go into tables", code="exists")
        commit_id = new_uid()
        packed = pack_rows(self._root, keys, inputs, rules=None, commit_id=commit_id)
        rows = () if packed.descriptor is None else (packed.descriptor,)
        change = TableChange(CREATE, rows, author=rights.name, makes_table=True)
        done = commit(self._root, keys, change, commit_id=commit_id, is_new=True)
        return packed.result.rows, done.version


def _format(name: str) -> str:
    """Return the format of a file by its name. Raises `HttpError` if such files are not taken."""
    form = _FORMATS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122 - it is no path here
    if form is None:
        raise HttpError(400, f"File {name[:200]} not supported")
    return form


def _input(form: UploadForm) -> Input:
    """Return the file of a form as an input."""
    assert form.file is not None  # noqa: S101 - it was checked
    kind = _format(form.file_name)
    text = form.fields.get("has_header", "").strip().lower()
    has_header = text.startswith(_TRUE[1:]) or not text
    schema = form.fields.get("schema", "")
    hints = hints_of(schema, has_header=has_header) if schema and kind == "csv" else None
    inputs = replace(recognise(form.file.name, kind, hints=hints), name=form.file_name[:200])
    if kind != "csv" or has_header or hints is not None:
        return inputs
    names = _names(form.file.name)

    def pieces() -> Generator[bytes]:
        yield names
        yield from inputs.pieces()

    return replace(inputs, source=pieces, size_bytes=None, file=None, stored=None)


def _names(path: str) -> bytes:
    """Return a first record with names for the columns of a CSV file that has no names."""
    with open(path, "rb") as file:  # noqa: PTH123
        head = file.read(_HEAD_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    first = next((line for line in head.splitlines() if line.strip()), "")
    plain = "".join(first.split('"')[::2])  # without what is between quotes
    separator = next((each for each in ",;\t|" if each in plain), ",")
    count = len(next(csv.reader(head.splitlines(keepends=True), delimiter=separator), [""]))
    return (separator.join(f"column_{number + 1}" for number in range(count)) + "\n").encode()
