"""An Iceberg table that mirrors one of ours, in a catalog that `pyiceberg` knows.

A version becomes one snapshot. In the same commit properties of the table say which version it is,
and the catalog refuses a commit when another one came first: so each version is there once.
"""

from __future__ import annotations

import json

from sdb.errors import (
    AccessError,
    NotFoundError,
    SdbError,
    UnsupportedError,
    UsageError,
)
from sdb.lake.columntypes import arrow_schema, chosen_columns, published
from sdb.records import changing_record, field
from sdb.store.base import child
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.lake.columntypes import Columns
    from sdb.lake.mirrorlog import LogAction

_APPLICATION, _VERSION, _COLUMNS = "sdb.application", "sdb.version", "sdb.columns"
_CATALOG = "default"  # catalogs in databases keep tables by the name of the catalog, too
_MAPPING = "schema.name-mapping.default"
# A commit that is tried again by the library would be the version a second time.
_NO_RETRIES = {"commit.retry.num-retries": "0"}


@changing_record
class IcebergLog:
    """A table in a catalog, as a mirror sees it."""

    uri: str  # the catalog: the URI of one, or its name in the settings of `pyiceberg`
    name: str  # ``namespace.table``
    options: dict[str, str] = field(default_factory=dict, repr=False)  # properties of the catalog
    version: int = -1
    files: dict[str, LogAction] = field(default_factory=dict, repr=False)
    transactions: dict[str, int] = field(default_factory=dict)
    metadata: LogAction = field(default_factory=dict, repr=False)
    _catalog: Any = None
    _table: Any = None
    _data_files: dict[str, Any] = field(default_factory=dict, repr=False)

    def refresh(self) -> None:
        """Read the newest snapshot."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        if self._catalog is None:
            self._catalog = _opened(self.uri, self.options)
        try:
            self._table = _reached(self.uri, lambda: self._catalog.load_table(self.name))
        except (NoSuchTableError, NoSuchNamespaceError):
            self._table = None
            return
        self._read()

    def _read(self) -> None:
        properties = self._table.properties
        snapshot = self._table.current_snapshot()
        self.transactions, self.metadata = {}, {}
        if _VERSION in properties and snapshot is not None:
            self.transactions = {properties[_APPLICATION]: int(properties[_VERSION])}
            self.metadata = {"configuration": dict(properties)}
        self.version = -1 if snapshot is None else self._table.metadata.last_sequence_number
        tasks = [] if snapshot is None else self._table.scan().plan_files()
        self._data_files = {task.file.file_path.rpartition("/")[2]: task.file for task in tasks}
        self.files = {
            path: {"path": path, "size": file.file_size_in_bytes}
            for path, file in self._data_files.items()
        }

    def prepare(self, columns: Columns) -> None:
        """Create the table and the folder of its files, where they are not there."""
        if self._table is None:
            self._create(columns)
        folder = self.place("")
        store_of(folder).make_folder(folder)

    def _create(self, columns: Columns) -> None:
        from pyiceberg.exceptions import TableAlreadyExistsError

        namespace = self.name.rpartition(".")[0]
        try:
            _reached(self.uri, lambda: self._catalog.create_namespace_if_not_exists(namespace))
            self._table = _reached(
                self.uri,
                lambda: self._catalog.create_table(
                    self.name, schema=_schema(columns), properties=_NO_RETRIES
                ),
            )
        except TableAlreadyExistsError:
            self._table = self._catalog.load_table(self.name)
        self._read()

    def place(self, path: str) -> str:
        """Return where a file is."""
        location = self._table.location().removeprefix("file://")
        return child(child(location, "data"), path)

    def takes_schemas(self) -> bool:
        """Return whether commits may have the columns of schemas: they have fields of rows."""
        return False

    def put(self, actions: list[LogAction]) -> bool:
        """Commit a version as one snapshot; False: another commit came first, or may have."""
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        (info,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
        (txn,) = (action["txn"] for action in actions if "txn" in action)
        try:
            _reached(self.uri, lambda: self._commit(actions, info, txn))
        except (CommitFailedException, CommitStateUnknownException):
            return False
        self._read()
        return True

    def _commit(self, actions: list[LogAction], info: LogAction, txn: LogAction) -> None:
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        transaction = self._table.transaction()
        properties = {_APPLICATION: txn["appId"], _VERSION: str(txn["version"])}
        for action in actions:
            if (metadata := action.get("metaData")) is not None:
                stored = metadata["configuration"][_COLUMNS]
                with transaction.update_schema() as update:
                    update.union_by_name(_schema(chosen_columns(json.loads(stored))))
                mapping = transaction.table_metadata.schema().name_mapping
                properties |= {_COLUMNS: stored, _MAPPING: mapping.model_dump_json()}
        transaction.set_properties(properties | _NO_RETRIES)
        paths = [action["add"]["path"] for action in actions if "add" in action]
        gone = [action["remove"]["path"] for action in actions if "remove" in action]
        places = iter([self._uri_of(path) for path in paths])
        added = list(
            parquet_files_to_data_files(self._table.io, transaction.table_metadata, places)
        )
        facts = {name: str(value) for name, value in info.items() if name.startswith("sdb.")}
        facts |= {"sdb.author": info["userName"], "sdb.message": info["userMetadata"]}
        update = transaction.update_snapshot(snapshot_properties=facts)
        with update.overwrite() if gone else update.fast_append() as snapshot:
            for file in added:
                snapshot.append_data_file(file)
            for path in gone:
                snapshot.delete_data_file(self._data_files[path])
        self._table = transaction.commit_transaction()

    def _uri_of(self, path: str) -> str:
        return f"{self._table.location()}/data/{path}"

    def tend(self) -> None:
        """Do nothing: catalogs tend their tables."""

    def flaw(self) -> tuple[str, str] | None:
        """Return why nothing can be written to the table: nothing does."""
        return None

    def refusal(self) -> str:
        """Return why a column cannot get another type."""
        return "a column of Iceberg cannot become that; drop the table, or export to another one"


def _schema(columns: Columns) -> Any:  # noqa: ANN401 - of pyarrow
    import pyarrow as pa

    names = published(columns)
    return pa.schema([column.with_name(names[column.name]) for column in arrow_schema(columns)])


def _opened(uri: str, options: dict[str, str]) -> Any:  # noqa: ANN401 - of pyiceberg
    from pyiceberg.catalog import load_catalog

    if "://" in uri:
        return _reached(uri, lambda: load_catalog(_CATALOG, uri=uri, **options))
    return _reached(uri, lambda: load_catalog(uri, **options))


def _reached(uri: str, call: Any) -> Any:  # noqa: ANN401 - of any kind
    """Call the catalog, and say in one line what is wrong with it."""
    from pyiceberg import exceptions

    try:
        return call()
    except (
        SdbError,
        exceptions.CommitFailedException,
        exceptions.CommitStateUnknownException,
        exceptions.NoSuchTableError,
        exceptions.NoSuchNamespaceError,
        exceptions.TableAlreadyExistsError,
    ):
        raise
    except (exceptions.UnauthorizedError, exceptions.ForbiddenError) as error:
        raise AccessError(f"the catalog {uri}: {_line(error)}") from None
    except NotImplementedError as error:
        raise UnsupportedError(f"the catalog {uri}: {_line(error)}") from None
    except Exception as error:
        raise SdbError(f"the catalog {uri}: {_line(error)}") from error


def _line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0][:300]


def named_iceberg(target: str, options: dict[str, str]) -> IcebergLog:
    """Return the table that ``CATALOG/NAMESPACE.TABLE`` names.

    Raises `UsageError` if it has another form and `NotFoundError` if `pyiceberg` is not installed.
    """
    uri, slash, name = target.rpartition("/")
    if not slash or not uri or uri.endswith(":/") or "." not in name.strip("."):
        expected = "CATALOG/NAMESPACE.TABLE, as in http://host:8181/web.gha or prod/web.gha"
        raise UsageError(f"{target!r} names no table of a catalog", expected=expected)
    try:
        import pyiceberg  # noqa: F401
    except ImportError:
        hint = "pip install 'sdb-packfile[iceberg]'"
        raise NotFoundError("pyiceberg is not installed", hint=hint) from None
    return IcebergLog(uri, name, options)
