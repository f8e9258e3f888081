"""Objects around records, as services and programs write them: known by their members.

What is known by itself is said when it was packed; ``-f json:records=none`` keeps the object as one
row, and ``-f json:records=PATH`` names the list of any other one (docs/inputs.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.times import Path

    # The texts and the first two bytes of other values, by path, of the first object of a text
    Members: TypeAlias = Mapping[str, bytes]

_TOKEN = rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+|"'
_JOURNAL_TIME = rb'"((?:_SOURCE|_)_REALTIME_TIMESTAMP)"\s*:\s*"\d{15,17}"'
_MOST_BYTES = 64  # of a value
_DEEPEST = 16  # so many objects and lists are followed


def _always(_: Members) -> bool:
    return True


def _is_list_of_kubernetes_or_google(members: Members) -> bool:
    kind = members.get("kind", b"")
    return kind.endswith(b'List"') or b"#" in kind or "apiVersion" in members


def _has(*names: str) -> Callable[[Members], bool]:
    return lambda members: any(name in members for name in names)


# The path of the list, and what else tells that it holds the records. CloudTrail and events of AWS,
# diagnostic logs of Azure, Elasticsearch and OpenSearch, Kubernetes and Google Workspace, Google
# Cloud, GuardDuty and Security Hub, OData and Microsoft Graph, subscriptions of CloudWatch.
_SHAPES: tuple[tuple[str, Callable[[Members], bool]], ...] = (
    ("Records", _always),
    ("records", _always),
    ("hits.hits", _has("hits.total", "took", "_shards", "hits.max_score")),
    ("items", _is_list_of_kubernetes_or_google),
    ("entries", _has("nextPageToken", "entries[].logName", "entries[].insertId")),
    ("Findings", _has("Findings[].SchemaVersion", "Findings[].Arn", "Findings[].ProductArn")),
    ("value", _has("@odata.context", "@odata.nextLink", "nextLink")),
    ("logEvents", _has("messageType", "logGroup")),
)
_WORDS = tuple(f'"{path.split(".", 1)[0]}"'.encode() for path, _ in _SHAPES)


def records_path(head: bytes) -> str:
    """Return the path of the list of records in the object that a text begins with.

    Returns: Names with dots between them; empty: it is an object as any other.

    Examples
    --------
    >>> records_path(b'{"a": 1, "Records": [{"eventName": "x"}]}')
    'Records'
    >>> records_path(b'{"records": 7}'), records_path(b'{"items": [{}]}')
    ('', '')
    """
    if not any(word in head for word in _WORDS):
        return ""
    members = _members(head)
    for path, is_meant in _SHAPES:
        value = members.get(path, b"")
        if value in {b"[{", b"[]", b"["} and is_meant(members):
            return path
    return ""


def journal_forms(head: bytes) -> tuple[tuple[Path, str], ...]:
    """Return the times of what ``journalctl -o json`` writes, which are texts of digits.

    Examples
    --------
    >>> journal_forms(b'{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1709528767123456"}')
    ((('__REALTIME_TIMESTAMP',), 'unix_us'),)
    """
    if b'"__CURSOR"' not in head:
        return ()
    import re

    names = dict.fromkeys(re.findall(_JOURNAL_TIME, head))
    return tuple([((name.decode(),), "unix_us") for name in names])


def _members(head: bytes) -> dict[str, bytes]:
    """Return what the first object of a text has, as far as its head goes."""
    import re

    values: dict[str, bytes] = {}
    around: list[tuple[str, bool]] = []  # paths of objects and lists, and whether it is an object
    path, is_name = "", False
    if head.lstrip()[:1] != b"{":
        return values
    for token in re.finditer(_TOKEN, head, re.DOTALL):
        text = token[0]
        prefix, is_object = around[-1] if around else ("", True)
        if text == b'"' or len(around) > _DEEPEST:
            break
        if is_name and text[:1] == b'"':
            path = f"{prefix}{text[1:-1].decode(errors='replace')}"
        elif text not in {b",", b":"}:
            if not is_object and values.get(prefix) == b"[":
                values[prefix] += text[:1]
            if text in {b"]", b"}"}:
                around.pop()
                if not around:
                    break
            else:
                where = path if is_object else f"{prefix}[]"
                values.setdefault(where, text[:_MOST_BYTES])
                if text in {b"{", b"["}:
                    dot = "." if text == b"{" and around else ""
                    around.append((f"{where}{dot}", text == b"{"))
        is_name = text == b"{" or (text == b"," and is_object)
    return values
