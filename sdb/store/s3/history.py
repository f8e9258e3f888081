"""Marks by which a writer recognises its own work.

Each object carries the numbers of the last writes that made it, the newest first, as metadata
``sdb-writes``. A writer that gets no answer to the request that publishes an object looks for its
own number there, and finds it even when other writers have appended meanwhile.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "sdb-writes"
_MOST = 32
_METADATA_BYTES = 2000
_KEPT = (
    "Metadata",
    "ContentType",
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "StorageClass",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
)


def new_id() -> str:
    """Return the number of a new write."""
    return os.urandom(8).hex()


def ids_of(answer: dict[str, Any]) -> tuple[str, ...]:
    """Return the numbers that the answer to a GET or HEAD has."""
    return tuple(answer.get("Metadata", {}).get(NAME, "").split())


def settings_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what an object that grows keeps: its metadata, and how it is stored."""
    return {name: answer[name] for name in _KEPT if answer.get(name)}


def settings(write_id: str, before: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of an object."""
    metadata = {**before.get("Metadata", {}), NAME: ""}
    room = _METADATA_BYTES - sum(len(name) + len(text) for name, text in metadata.items())
    most = max(1, min(_MOST, room // (len(write_id) + 1)))
    metadata[NAME] = " ".join((write_id, *ids_of(before))[:most])
    return {"ContentType": "application/octet-stream", **before, "Metadata": metadata}
