"""Fields that folders name, as ``day=2026-11-01/hour=03/``: rows of a file below get their values.

The value of a row itself goes before that of a folder. The text alone decides on its type, so
that all files of one folder agree.
"""

from __future__ import annotations

import re
from itertools import chain

from sdb import _core, ion, notes
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sdb.packfile.inputs.inputs import Input

_FOLDER = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=([^/]*)")
_SCHEME = re.compile(r"[a-z0-9]+://[^/]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})|[0-9]{2}")
_MISSING = {"", "__HIVE_DEFAULT_PARTITION__"}
_TRUTH = {"true": True, "false": False}


def folder_fields(name: str) -> dict[str, object]:
    """Return the fields that the folders in a path or URL name, with their values.

    >>> folder_fields("s3://logs/level=warn/hour=03/x.json")
    {'level': 'warn', 'hour': 3}
    """
    if "=" not in name:
        return {}
    from urllib.parse import unquote

    fields: dict[str, object] = {}
    for folder in _SCHEME.sub("", name, count=1).split("/")[:-1]:
        match = _FOLDER.fullmatch(folder)
        text = unquote(match[2]) if match is not None else ""
        if match is not None and text not in _MISSING:
            fields[unquote(match[1])] = _value(text)
    return fields


def has_folder_fields(pattern: str) -> bool:
    """Return whether a pattern of inputs has folders that name fields: ``in/day=*/*.json``."""
    return any(map(_FOLDER.fullmatch, pattern.split("/")[:-1]))


def defaults_of(name: str, apart_from: Mapping[str, object] | None = None) -> bytes | None:
    """Return the fields of the folders of an input as the core takes them; None: there are no such.

    * ``apart_from``: Fields that its rows have anyway.
    """
    fields = folder_fields(name)
    fields = {field: value for field, value in fields.items() if field not in (apart_from or {})}
    return ion.dumps(fields) if fields else None


def with_folder_fields(source: Input) -> Input:
    """Return an input whose rows get the fields of its folders; rows of packfiles get none."""
    if "=" not in source.name or source.is_packfile:
        return source
    return replace(source, defaults=defaults_of(source.name))


def say_folder_fields(names: Iterable[str]) -> None:
    """Say which fields the rows of inputs get of their folders."""
    fields = dict.fromkeys(chain.from_iterable(map(folder_fields, names)))
    if fields:
        text = f"fields of folders: {', '.join(fields)} (--no-hive leaves them out)"
        notes.tell(text, is_detail=False)


def _value(text: str) -> object:
    if _NUMBER.fullmatch(text):
        return int(text)
    if text in _TRUTH:
        return _TRUTH[text]
    us = _core.time_of_date_or_time(text)
    return text if us is None else ion.instant_from_us(us)
