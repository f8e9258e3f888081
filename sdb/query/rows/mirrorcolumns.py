"""Columns of one packfile of a table with a schema, for mirrors, which lie below queries."""

from __future__ import annotations

from contextlib import contextmanager

from sdb import notes
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_NAME = "the rows of a packfile"


@contextmanager
def packfile_columns(
    handle: TableHandle,
    descriptor: Descriptor,
    names: Sequence[str],
    threads: int | None = None,
) -> Iterator[tuple[Iterator[pa.RecordBatch], dict[str, int]]]:
    """Read columns of one packfile of a version whose table has a schema.

    Yields: The rows, and for each column how many values are NULL since they are not of its type.
    """
    # Mirrors of tables without a schema do not run queries.
    from sdb.query.catalog.dataset import QueryRequest
    from sdb.query.rows.selected import OpenedSource
    from sdb.query.run.api import run
    from sdb.query.syntax import ast

    items = tuple([ast.Item(ast.Name(name)) for name in names])
    source = ast.Source(ast.PathTable(ast.Name(_NAME)), None)
    objects = OpenObjects(1)
    try:
        pack = TablePackfile(handle.root, descriptor.checked(), objects)
        opened = OpenedSource(handle.name, [pack], handle.schema)
        # Misfits are counted over all packfiles, and told once.
        with (
            notes.collected(),
            run(
                QueryRequest(
                    ast.Statement(ast.Select(items, sources=(source,))),
                    root=handle.root.location,
                    threads=threads,
                    known={(_NAME,): opened},
                )
            ) as result,
        ):
            frame = result._framed()  # noqa: SLF001 - of the same kind
            yield frame.batches(), frame.misfits
    finally:
        objects.close()
