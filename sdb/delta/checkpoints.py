"""Checkpoints of the log of a Delta table, by `deltalake`."""

from __future__ import annotations

import os

from sdb import notes
from sdb.store.url import store_of


def checkpoint(location: str) -> None:
    """Write a checkpoint of a Delta table; say so where that is not possible."""
    try:
        import deltalake
    except ImportError:
        notes.warn(
            f"{location}: no checkpoints without deltalake (pip install 'sdb-packfile[delta]'): "
            "readers go through all commits"
        )
        return
    try:
        table = deltalake.DeltaTable(location, storage_options=store_options(location))
        table.create_checkpoint()
    except Exception as error:  # noqa: BLE001 - whatever it raises: the commits count
        text = str(error).partition("\n")[0][:200]
        notes.warn(f"{location}: no checkpoint was written: {text}")


def store_options(location: str) -> dict[str, str] | None:
    """Return what deltalake needs to reach the same store as `sdb`."""
    if not store_of(location).is_remote:
        return None
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return {}
    is_plain = endpoint.startswith("http://")
    return {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true" if is_plain else "false"}
