"""Reports what a query is going to read, from the plan that Spark made of it."""

from __future__ import annotations

from dataclasses import dataclass

from sdb.spark.read.reader import BlockPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pyspark.sql import DataFrame

_SCAN = "BatchScanExec"


@dataclass(frozen=True, slots=True)
class Planned:
    """The blocks that tasks read."""

    partitions: int  # number of tasks
    files: int  # number of packfiles of which a block is read
    files_total: int  # number of packfiles that were loaded
    blocks: int  # number of blocks that are read
    # Number of blocks of all packfiles; of a table, of those that times did not rule out
    blocks_total: int
    bytes: int  # size of the blocks that are read, as they are stored


def plan(df: DataFrame) -> list[Planned]:
    """Report what a query reads of packfiles, without running it.

    Each task reads the blocks that are planned for it, no others; it logs them as well, to the
    logger ``sdb.spark``.

    * ``df``: The query, of a classic session: plans of Spark Connect stay on its server.

    Returns: One for each time that packfiles are read, in the order of the plan.

    Examples
    --------
    >>> reader = spark.read.format("zion").option("since", "2026-01-31")   # doctest: +SKIP
    >>> (read,) = plan(reader.load("events/"))                             # doctest: +SKIP
    >>> read.blocks, read.blocks_total                                     # doctest: +SKIP
    (2, 240)
    """
    return [_planned(partitions) for partitions in _scans(df)]


def _scans(df: DataFrame) -> Iterator[list[BlockPartition]]:
    from pyspark import cloudpickle

    executed: Any = df._jdf.queryExecution().executedPlan()  # noqa: SLF001 - there is no other way
    if executed.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        executed = executed.inputPlan()
    leaves = executed.collectLeaves()
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() != _SCAN:
            continue
        inputs = leaf.inputPartitions()
        pickled = [inputs.apply(at).pickedPartition() for at in range(inputs.size())]
        partitions = [cloudpickle.loads(bytes(data)) for data in pickled]
        yield [partition for partition in partitions if isinstance(partition, BlockPartition)]


def _planned(partitions: list[BlockPartition]) -> Planned:
    parts = [part for partition in partitions for part in partition.parts]
    return Planned(
        partitions=len(partitions),
        files=len({part.path for part in parts}),
        files_total=max((partition.files for partition in partitions), default=0),
        blocks=sum(len(part.blocks) for part in parts),
        blocks_total=max((partition.blocks for partition in partitions), default=0),
        bytes=sum(part.compressed_bytes for part in parts),
    )
