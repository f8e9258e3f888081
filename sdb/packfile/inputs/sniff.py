"""Find out the format and compression of an input by its first bytes and its name."""

from __future__ import annotations

from sdb import _core, formats
from sdb.errors import InputError, UnsupportedError
from sdb.packfile.inputs.unpacking import compression_of, foreign
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.store.base import Reader
    from sdb.times import Path

    Members: TypeAlias = Mapping[str, bytes]

HEAD_BYTES = 64 << 10

_ION = formats.get("ion").magic
_MARKED = tuple(form for form in formats.FORMATS if form.magic)
_MARKS = tuple(form.magic for form in _MARKED)
_FRAME = b"\xae"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\n\r\v\f"
_UTF32_MARKS = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_CSVLOG = (
    rb"""\d{4}-\d\d-\d\d [\d:.]{12} [A-Z]{2,5},("[^"]*")?,("[^"]*")?,\d+,"""
    rb"""[^,]*,[0-9a-f]+\.[0-9a-f]+,\d+,"""
)


@record
class Sniffed:
    """Format, compression and encoding, by the first bytes of an input.

    * ``format``: The name of its format, with options that were found out: ``json:records=items``.
    * ``compression``: That of the whole input.
    * ``is_utf8``: Whether it need not be converted.
    * ``forms``: Fields whose texts or numbers are times, as those of the journal, with their forms.
    """

    format: str
    compression: str
    is_utf8: bool = True
    forms: tuple[tuple[Path, str], ...] = ()


def sniff(head: bytes, name: str, *, forced: tuple[str, str] | None, seen: str | None) -> Sniffed:
    """Decide on the format and compression of an input.

    * ``head``: Its first bytes, `HEAD_BYTES` of them if it has as many.
    * ``seen``: The format that other places of the input showed.

    Raises `InputError` if it is in no known format, or in an encoding other than UTF-8;
    `UnsupportedError` if it is compressed, and of a format that is read at any position.
    """
    suffix, named = _of_name(name) if forced is None else forced
    compression = _compression(head)
    if compression != "none":
        head = _inflated(head, compression)
        if (inner := compression_of(head, all_of_them=True)) is not None:
            command = "zcat" if compression == "gzip" else "zstdcat"
            message = f"{name}: is {inner.name} inside of {compression}"
            raise InputError(message, hint=f"{command} {name} | sdb pack -o OUTPUT -", path=name)
    elif seen is None and named != "none" and not _is_plain(head):
        compression = named
    encoding = _encoding(head)
    head = head.decode(encoding, errors="replace").encode() if encoding else head
    head = head.removeprefix(_UTF8_MARK)
    kind = (suffix if forced else seen) or _by_content(head, suffix, name)
    form = formats.get(kind)
    if form.encoding and encoding == "utf-32":
        message = f"{name}: is UTF-32 text, where UTF-8 or UTF-16 was expected"
        raise InputError(message, hint="iconv -f UTF-32 -t UTF-8", path=name, offset=0, line=1)
    if form.at_any_position and compression != "none":
        message = f"{name}: {form.title} is not read inside {compression}"
        raise UnsupportedError(message, hint="unpack it first", path=name)
    is_utf8 = not (form.encoding and encoding)
    return Sniffed(kind, compression, is_utf8, journal_forms(head) if form.name == "json" else ())


def trailer_offset(reader: Reader, head: bytes) -> int | None:
    """Find the trailer of what looks like a packfile from both ends.

    Returns: Where the trailer begins; 0 in a packfile without blocks, which a file of Ion can look
    like. None: this is no packfile.
    """
    size = reader.size_bytes
    if not head.startswith((_FRAME, _ION)) or size < 8:  # noqa: PLR2004 - marker and length
        return None
    start = size - 4 - int.from_bytes(reader.read(size - 4, size), "little")
    if start < 0 or (start > 0) != head.startswith(_FRAME):
        return None
    return start if reader.read(start, min(start + 4, size)) == _ION else None


def _of_name(name: str) -> tuple[str | None, str]:
    """Return the format of a name's suffix, if it can be packed, and the compression."""
    kind, compression = formats.of_name(name)
    return (kind if kind in formats.INPUTS else None), compression


def _by_content(head: bytes, suffix: str | None, name: str) -> str:
    for form in _MARKED:
        if head.startswith(form.magic):
            return form.name
    if suffix is not None and formats.get(suffix).by_name:
        return "postgres-csv" if suffix == "csv" and _is_csvlog(head) else suffix
    if (unfolded := _unfolded_form(head)) is not None:
        return unfolded
    start = head.lstrip(_SPACE)[:1]
    if start == b"{" and (path := records_path(head)):
        return f"json:records={path}"
    if _is_json(head):
        return "json"
    kind = suffix if suffix not in {None, "json"} else _form_of_log(head) or suffix
    if kind is not None or not start:
        return kind or "json"
    if (error := foreign(head, name)) is not None:
        raise error
    raise InputError(
        f"{name}: unknown format: neither its content nor its name tells it",
        hint=f"-f text makes a row of each line; other formats: {', '.join(formats.INPUTS)}",
        path=name,
        offset=0,
    )


def _form_of_log(head: bytes) -> str | None:
    if head.startswith((b"#Software:", b"#Version:", b"#Fields:")):
        return "w3c"
    if head.startswith(b"#separator "):
        return "zeek"
    return "postgres-csv" if _is_csvlog(head) else _core.log_form(head)


def _is_csvlog(head: bytes) -> bool:
    import re

    return re.match(_CSVLOG, head) is not None


def _encoding(head: bytes) -> str:
    """Return the encoding of a text by its mark or its zero bytes; empty: UTF-8, or no text."""
    if head.startswith(_UTF32_MARKS):
        return "utf-32"
    if head.startswith(_UTF16_MARKS):
        return "utf-16"
    # Without a mark every second byte is zero.
    zeros = [byte == 0 for byte in head[:4]]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else ""


def _is_json(head: bytes) -> bool:
    """Return whether a text begins as objects or lists of JSON do; lines of logs begin with [."""
    text = head.lstrip(_SPACE)
    second = text[1:].lstrip(_SPACE)[:1]
    return text[:1] == b"{" or (text[:1] == b"[" and second in {b"[", b"{", b"]", b""})


def _compression(head: bytes) -> str:
    for compression in formats.COMPRESSIONS:
        if head.startswith(compression.magic):
            return compression.name
    return "none"


def _is_plain(head: bytes) -> bool:
    """Return whether a text that claims to be compressed shows that it is not."""
    return head.startswith(_MARKS) or head.lstrip(_SPACE)[:1] in {b"{", b"["}


def _inflated(head: bytes, compression: str) -> bytes:
    """Return the first bytes of the text; nothing if they are malformed: the packer reports it."""
    if compression == "gzip":
        import zlib

        try:
            return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error:
            return b""
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(head, read_across_frames=True) as reader:
            return reader.read(HEAD_BYTES)
    except zstandard.ZstdError:
        return b""


# Objects around records, as services and programs write them: known by their members.

_TOKEN = rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+|"'
_JOURNAL_TIME = rb'"((?:_SOURCE|_)_REALTIME_TIMESTAMP)"\s*:\s*"\d{15,17}"'
_NEXT_LINE = b"}\n{"  # between objects: inside of one there is a comma behind the bracket
BYTES: tuple[Path, str] = ((), "bytes")
"""Says that lists of bytes are texts: so the journal writes those that are no UTF-8."""

# Names that tell the extended JSON of MongoDB
_EXTENDED = {"$oid", "$date", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal"}
_MOST_BYTES = 64  # of a value
_DEEPEST = 16  # this many objects and lists are followed


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

    >>> records_path(b'{"a": 1, "Records": [{"eventName": "x"}]}')
    'Records'
    >>> records_path(b'{"records": 7}'), records_path(b'{"items": [{}]}')
    ('', '')
    """
    end = head.find(_NEXT_LINE)
    first = head if end < 0 else head[: end + 1]
    if not any(word in first for word in _WORDS):
        return ""
    members = _members(first)
    for path, is_meant in _SHAPES:
        value = members.get(path, b"")
        if value in {b"[{", b"[]", b"["} and is_meant(members):
            return path
    return ""


def journal_forms(head: bytes) -> tuple[tuple[Path, str], ...]:
    """Return the forms of what ``journalctl -o json`` writes: times are texts of digits.

    >>> journal_forms(b'{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1709528767123456"}')
    ((('__REALTIME_TIMESTAMP',), 'unix_us'), ((), 'bytes'))
    """
    if b'"__CURSOR"' not in head:
        return ()
    import re

    names = dict.fromkeys(re.findall(_JOURNAL_TIME, head))
    return (*[((name.decode(),), "unix_us") for name in names], BYTES)


def _unfolded_form(head: bytes) -> str | None:
    """Return the form of records that are written around what they mean, by the first one.

    >>> _unfolded_form(b'[{"_id": {"$oid": "65e5"}}]')
    'mongodb'
    >>> _unfolded_form(b'{"resourceLogs": [{"scopeLogs": []}]}'), _unfolded_form(b'{"$a": {}}')
    ('otlp', None)
    """
    # A byte that is not there is looked for some fifty times as fast as a text that begins with ".
    if (b"$" not in head or b'"$' not in head) and b'"resource' not in head:
        return None
    members = _members(head.lstrip(_SPACE + b"["))
    for what in ("Logs", "Spans", "Metrics"):
        if f"resource{what}[].scope{what}" in members:
            return "otlp"
    names = (path.rpartition(".") for path in members)
    return "mongodb" if any(above and name in _EXTENDED for above, _, name in names) else None


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
