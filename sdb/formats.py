"""Registry of formats: names, suffixes, how inputs are recognised, what writes them.

`FORMATS` says everything once; messages, help, completion and definitions of tables read it.
A new input format is a row here, a parser in Rust (``pack/format.rs``) and a row in docs/inputs.md.
"""

from __future__ import annotations

from sdb.errors import UsageError, text_of
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence


@record
class Format:
    """A format of rows."""

    name: str  # what ``-f`` and ``--fmt`` call it
    title: str  # its name in prose
    suffixes: tuple[str, ...] = ()  # the first is the one that is written

    # As an input
    parser: str = ""  # the parser of the core that reads it; empty: it is no input
    magic: bytes = b""  # the bytes that every file begins with
    by_name: bool = False  # whether a name with its suffix decides, whatever the content
    encoding: bool = False  # whether it is text, in UTF-8 or UTF-16
    at_any_position: bool = False  # whether it is read there, so neither compressed nor from a pipe
    takes_hints: bool = False
    is_cut_at_lines: bool = False  # whether a file can be packed in pieces that end with a line
    is_streamed: bool = False  # whether each line may be a record, so that a pipe can be followed
    is_log: bool = False  # whether the first lines tell it, see `sdb._core.log_form`
    is_unfolded: bool = False  # whether records are written around what they mean, in JSON
    lacks_year: bool = False  # whether its times may have none, so that one is guessed
    # Suffixes of compressions with which definitions of tables name it, as the original does
    in_definitions: tuple[str, ...] = ()

    # As an output
    writers: frozenset[str] = frozenset()  # of `WRITERS`; empty: it is no output
    is_text: bool = False  # whether a terminal can show it
    has_types: bool = False  # whether values keep types that JSON has not

    @property
    def is_input(self) -> bool:
        """True if it can be packed."""
        return bool(self.parser)

    @property
    def word(self) -> str:
        """The word by which inputs are named: the first suffix without its dot, or the name."""
        return self.suffixes[0].removeprefix(".") if self.suffixes else self.name


@record
class Compression:
    """A compression of whole inputs and outputs."""

    name: str
    suffix: str
    magic: bytes  # its first bytes


# What writes rows: the two commands and the library's functions behind them, `sdb grep`, `sdb
# head` and `sdb tail` (rows), and `sdb query` on the command line (shown).
WRITERS = ("unpack", "query", "grep", "rows", "shown")
_EVERYWHERE = frozenset(WRITERS)
_TABLES = frozenset({"unpack", "query", "rows", "shown"})
_FILES = frozenset({"unpack", "query", "shown"})
_SCREEN = frozenset({"rows", "shown"})
_PLAIN_OR_COMPRESSED = ("", ".gz", ".zst")

FORMATS = (
    Format(
        "json",
        "JSON",
        (".json", ".ndjson", ".jsonl"),
        parser="json",
        encoding=True,
        takes_hints=True,
        is_cut_at_lines=True,
        is_streamed=True,
        in_definitions=_PLAIN_OR_COMPRESSED,
        writers=_EVERYWHERE,
        is_text=True,
    ),
    Format(
        "cloudtrail",
        "CloudTrail",
        (".cloudtrail.json",),
        parser="cloudtrail",
        by_name=True,
        encoding=True,
        in_definitions=(".gz",),
    ),
    *[
        Format(
            name,
            title,
            parser=name,
            encoding=True,
            takes_hints=True,
            is_streamed=True,
            is_unfolded=True,
            in_definitions=_PLAIN_OR_COMPRESSED,
        )
        for name, title in (("otlp", "OTLP"), ("mongodb", "the extended JSON of MongoDB"))
    ],
    Format(
        "csv",
        "CSV",
        (".csv",),
        parser="csv",
        by_name=True,
        encoding=True,
        takes_hints=True,
        in_definitions=_PLAIN_OR_COMPRESSED,
        writers=_TABLES,
        is_text=True,
    ),
    Format(
        "tsv",
        "TSV",
        (".tsv",),
        parser="tsv",
        by_name=True,
        encoding=True,
        takes_hints=True,
        in_definitions=_PLAIN_OR_COMPRESSED,
        writers=_TABLES,
        is_text=True,
    ),
    *[
        Format(
            name,
            title,
            parser=name,
            encoding=True,
            is_streamed=name != "journald",
            is_log=name not in {"text", "regex"},
            lacks_year=name in {"syslog", "klog", "cef", "leef"},
            in_definitions=_PLAIN_OR_COMPRESSED,
        )
        for name, title in (
            ("text", "lines of text"),
            ("logfmt", "logfmt"),
            ("combined", "access logs of Apache and nginx"),
            ("apache-error", "error logs of Apache"),
            ("nginx-error", "error logs of nginx"),
            ("syslog", "syslog"),
            ("journald", "journalctl -o export"),
            ("java", "logs of Java programs"),
            ("python", "logs of Python programs"),
            ("app", "lines of a time, a level and a message"),
            ("klog", "logs of Kubernetes (klog)"),
            ("postgres", "logs of PostgreSQL"),
            ("alb", "access logs of an Application Load Balancer"),
            ("elb", "access logs of a Classic Load Balancer"),
            ("s3-access", "access logs of S3"),
            ("vpc-flow", "flow logs of a VPC"),
            ("cef", "CEF"),
            ("leef", "LEEF"),
            ("auditd", "logs of auditd"),
            ("regex", "lines that a pattern takes apart"),
        )
    ],
    *[
        Format(
            name,
            title,
            parser="tsv",
            encoding=True,
            is_log=True,
            in_definitions=_PLAIN_OR_COMPRESSED,
        )
        for name, title in (("w3c", "logs of IIS and CloudFront (W3C)"), ("zeek", "logs of Zeek"))
    ],
    Format(
        "postgres-csv",
        "csvlog of PostgreSQL",
        parser="csv:names=log_time,user_name,database_name,process_id,connection_from,session_id,"
        "session_line_num,command_tag,session_start_time,virtual_transaction_id,transaction_id,"
        "error_severity,sql_state_code,message,detail,hint,internal_query,internal_query_pos,"
        "context,query,query_pos,location,application_name,backend_type,leader_pid,query_id",
        encoding=True,
        is_log=True,
        in_definitions=_PLAIN_OR_COMPRESSED,
    ),
    Format(
        "markdown",
        "Markdown",
        (".md", ".markdown"),
        writers=_TABLES - {"unpack"},
        is_text=True,
    ),
    Format("html", "HTML", (".html", ".htm"), writers=frozenset({"query", "shown"}), is_text=True),
    Format("table", "a table", writers=_SCREEN, is_text=True),
    Format("vertical", "a line for each value", writers=_SCREEN, is_text=True),
    Format(
        "ion",
        "Ion",
        (".ion", ".10n"),
        parser="ion",
        magic=b"\xe0\x01\x00\xea",
        writers=_FILES,
        has_types=True,
    ),
    Format("ion-text", "Ion", writers=_EVERYWHERE, is_text=True, has_types=True),
    Format("arrow", "Arrow", (".arrow", ".arrows"), writers=_FILES, has_types=True),
    Format(
        "parquet",
        "Parquet",
        (".parquet",),
        parser="rows",
        magic=b"PAR1",
        at_any_position=True,
        in_definitions=("",),
        writers=_FILES,
        has_types=True,
    ),
    # Its magic is the trailer, at the other end.
    Format("packfile", "packfile", (".zion",), parser="rows", at_any_position=True),
)
COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b"),
    Compression("zstd", ".zst", b"\x28\xb5\x2f\xfd"),
)
PATTERN = "regex"  # the format that is named with a pattern behind it: ``regex:PATTERN``
# Those with options behind them: ``csv:header=no;columns=id:text``, ``json:records=hits.hits``
WITH_OPTIONS = ("csv", "tsv", "json", "cloudtrail")
_NESTED = "nested="  # the option that all inputs have: fields whose texts are JSON
FOUND = "auto"  # the format that the content tells, with options that several have
INPUTS = tuple(form.name for form in FORMATS if form.is_input)
TEXTS = frozenset(form.name for form in FORMATS if form.is_text)
TYPED = frozenset(form.name for form in FORMATS if form.has_types)
UNFOLDED = frozenset(form.name for form in FORMATS if form.is_unfolded)

_BY_NAME = {form.name: form for form in FORMATS}
_SUFFIXES = {suffix: form.name for form in FORMATS for suffix in form.suffixes}
_MOST_LETTERS = 10


def get(name: str) -> Format:
    """Return the format of a name, which may have a pattern behind it: ``regex:PATTERN``."""
    return _BY_NAME[name.partition(":")[0]]


def said(
    name: str | None,
    *,
    records: str | None = None,
    nested: Iterable[str] = (),
    duplicates: str | None = None,
) -> str | None:
    """Return the format that a user names, with what other options say of it.

    * ``records``: The path of the list of the records in objects of JSON.
    * ``nested``: Fields whose texts are JSON to take apart.
    * ``duplicates``: What shall count where a name comes twice.

    Raises `UsageError` if one of them is no such thing.

    >>> said("csv:skip=1", duplicates="last"), said(None, duplicates="fail"), said("ion")
    ('csv:skip=1;duplicates=last', 'auto:duplicates=fail', 'ion')
    >>> said("syslog", nested=["message"])
    'syslog:nested=message'
    """
    if records is not None:
        name = with_option(name, "json", f"records={records}")
    if duplicates is not None:
        if duplicates not in {"first", "last", "fail"}:
            raise UsageError(f"duplicates is {duplicates!r}", hint="it is first, last or fail")
        name = with_option(name, FOUND, f"duplicates={duplicates}")
    if paths := ",".join(nested):
        name = with_option(name, FOUND, f"{_NESTED}{paths}")
        taken_apart(name)
    return name


def taken_apart(format: str) -> tuple[str, tuple[tuple[str, ...], ...]]:  # noqa: A002
    """Return a format without its option `nested`, and the paths that this names.

    Raises `UsageError` if it names no paths.

    >>> taken_apart("json:records=items;nested=message,a.b")
    ('json:records=items', (('message',), ('a', 'b')))
    >>> taken_apart("regex:nested=message:(?P<message>.*)")
    ('regex:(?P<message>.*)', (('message',),))
    """
    if _NESTED not in format:
        return format, ()
    word, _, options = format.partition(":")
    separator = ":" if word == PATTERN else ";"
    if word == PATTERN and not options.startswith(_NESTED):
        return format, ()
    split = options.split(separator, 1) if word == PATTERN else options.split(separator)
    lists = [option.removeprefix(_NESTED) for option in split if option.startswith(_NESTED)]
    others = separator.join(option for option in split if not option.startswith(_NESTED))
    paths = [tuple(path.split(".")) for path in ",".join(lists).split(",")] if lists else []
    if any("" in path for path in paths):
        text = f"nested is {','.join(lists)!r}, where names of fields were expected"
        raise UsageError(text, expected="nested=FIELD,FIELD, as nested=message")
    return f"{word}:{others}" if others else word, tuple(paths)


def option_of(format: str, name: str) -> str | None:  # noqa: A002 - the word users know
    """Return an option of a format; None: it has none of the name.

    >>> option_of("json:records=items;duplicates=last", "records"), option_of("json", "records")
    ('items', None)
    """
    options = format.partition(":")[2].split(";")
    named = dict(option.split("=", 1) for option in options if "=" in option)
    return named.get(name)


def with_options(parser: str, options: str, name: str) -> str:
    """Return the parser of an input whose format was found, with options that were asked for.

    Raises `UsageError` if the format has none of them, and rows might be others than the user
    wants.

    >>> with_options("json:records=items", "duplicates=last", "a.json")
    'json:records=items;duplicates=last'
    """
    word = parser.partition(":")[0]
    options, nested = taken_apart(f"{FOUND}:{options}")
    _, colon, options = options.partition(":")
    if colon and word in WITH_OPTIONS:
        parser = with_option(parser, word, options)
    elif colon and word != "rows" and options != "duplicates=first":
        *others, last = [get(form).title for form in WITH_OPTIONS]
        text = f"{options} is for {', '.join(others)} and {last}"
        raise UsageError(f"{name}: {text}, and this is {get(word).title}")
    return said(parser, nested=map(".".join, nested)) or parser


def parser_at(form: str, seconds: float, *, is_later: bool = False) -> str:
    """Return the parser of a form of logs for lines that were written at an instant.

    * ``form``: The parser, perhaps for another instant.
    * ``is_later``: Whether they go on with others, so that the first one need not begin a record.

    >>> parser_at("syslog", 1.5), parser_at("java", 1, is_later=True), parser_at("csv:skip=1", 1)
    ('syslog:1', 'java:1,later', 'csv:skip=1')
    """
    named = get(form)
    if not (named.lacks_year or (named.is_log and is_later)):
        return form
    nested = taken_apart(form)[1]
    later = ",later" if is_later else ""
    dated = f"{named.parser}:{int(seconds)}{later}"
    return said(dated, nested=map(".".join, nested)) or dated


def written_by(writer: str) -> tuple[str, ...]:
    """Return the names of the formats that one of `WRITERS` writes.

    >>> written_by("grep")
    ('json', 'ion-text')
    """
    return tuple(form.name for form in FORMATS if writer in form.writers)


def check(writer: str, name: str) -> None:
    """Require a format that one of `WRITERS` writes.

    Raises `UsageError` if it writes no such format.
    """
    names = written_by(writer)
    if name not in names:
        raise UsageError(f"unknown format {name!r}", expected=", ".join(names))


def metavar(writer: str) -> str:
    """Return how help names the formats of one of `WRITERS`."""
    return "|".join(written_by(writer))


def in_definitions() -> tuple[str, ...]:
    """Return the formats that definitions of tables can name, as suffixes without a first dot.

    Besides there is ``regex:PATTERN``.
    """
    return tuple(form.word + compression for form in FORMATS for compression in form.in_definitions)


def input_names() -> tuple[str, ...]:
    """Return the inputs as completion offers them: by their first suffix, without its dot."""
    return tuple(
        form.word + (":" if form.name == PATTERN else "") for form in FORMATS if form.is_input
    )


def input_named(text: str) -> tuple[str, str]:
    """Return the format and compression of inputs that ``-f`` names.

    * ``text``: The name of an input format, or a suffix like ``.json.gz``.

    Raises `UsageError` if there is no such format.

    >>> input_named("csv.gz"), input_named("cloudtrail"), input_named("10n")
    (('csv', 'gzip'), ('cloudtrail', 'none'), ('ion', 'none'))
    >>> input_named("regex:(?P<level>[A-Z]+)"), input_named("csv.gz:header=no")
    (('regex:(?P<level>[A-Z]+)', 'none'), ('csv:header=no', 'gzip'))
    """
    if text.startswith((f"{PATTERN}:", f"{FOUND}:duplicates=", f"{FOUND}:{_NESTED}")):
        return text, "none"
    word, colon, options = text.partition(":")
    if colon:
        name, compression = input_named(word)
        if name not in WITH_OPTIONS and ":" in taken_apart(text)[0]:
            raise UsageError(
                f"{name} takes no options but nested=FIELD",
                hint=f"{' and '.join(WITH_OPTIONS)} do",
            )
        return f"{name}:{options}", compression
    word = text.lower().removeprefix(".")
    name, compression = _without_compression(word)
    if name not in INPUTS:
        kind, compression = of_name(f".{word}")
        if kind not in INPUTS:
            names = ", ".join(INPUTS)
            hint = f"known formats: {names}"
            raise UsageError(f"unknown format {text!r}", hint=hint, expected=names)
        name = kind
    if name == PATTERN:
        hint = "regex:'(?P<time>\\S+) (?P<level>\\w+) (?P<message>.*)'"
        raise UsageError("regex needs a pattern with named groups", hint=hint)
    return name, compression


def with_option(format: str | None, usual: str, option: str) -> str:  # noqa: A002
    """Return a format with an option behind it, which replaces one of its name.

    * ``format``: The format as ``-f`` names it; None: the usual one.

    Raises `UsageError` if the format is a pattern, which does not have the option.

    >>> with_option(None, "json", "records=a.b"), with_option("csv:skip=1", "csv", "names=a")
    ('json:records=a.b', 'csv:skip=1;names=a')
    >>> with_option("json.gz:records=a", "json", "records=b")
    'json.gz:records=b'
    """
    named = format or usual
    if named.startswith(f"{PATTERN}:"):
        if not option.startswith(_NESTED):
            raise UsageError(f"{option} is not for {PATTERN}")
        return f"{PATTERN}:{option}:{named.removeprefix(f'{PATTERN}:')}"
    word, _, options = named.partition(":")
    replaced = option.partition("=")[0] + "="
    if replaced == _NESTED:
        replaced = option  # whose fields add up
    others = [each for each in options.split(";") if each and not each.startswith(replaced)]
    return f"{word}:{';'.join([*others, option])}"


def found_or_named(text: str) -> tuple[tuple[str, str] | None, str]:
    """Return the format and compression of inputs that ``-f`` names, and options of one to find.

    >>> found_or_named("csv"), found_or_named("auto:duplicates=last")
    ((('csv', 'none'), ''), (None, 'duplicates=last'))
    """
    named = input_named(text)
    word, colon, options = named[0].partition(":")
    return (None, options) if colon and word == FOUND else (named, "")


def of_name(name: str) -> tuple[str | None, str]:
    """Return what the longest known suffix of a name says, and its compression.

    >>> of_name("s3://logs/2026.json.GZ"), of_name("x")
    (('json', 'gzip'), (None, 'none'))
    """
    inner, compression = _without_compression(name.lower())
    fitting = [suffix for suffix in _SUFFIXES if inner.endswith(suffix)]
    return (_SUFFIXES[max(fitting, key=len)] if fitting else None), compression


def _without_compression(name: str) -> tuple[str, str]:
    for compression in COMPRESSIONS:
        if name.lower().endswith(compression.suffix):
            return name[: -len(compression.suffix)], compression.name
    return name, "none"


def stem(name: str) -> str:
    """Return a name without what its known suffixes say.

    >>> stem("logs/a.json.gz"), stem("b.cloudtrail.json"), stem("2026.01")
    ('logs/a', 'b', '2026.01')
    """
    inner, _ = _without_compression(name)
    fitting = [suffix for suffix in _SUFFIXES if inner.lower().endswith(suffix)]
    return inner[: -len(max(fitting, key=len))] if fitting else inner


def written(
    target: str | os.PathLike[str] | None,
    fmt: str | None,
    formats: Sequence[str],
    default: str,
) -> tuple[str, str]:
    """Choose format and compression of what is written.

    * ``target``: Where it goes; None: to a stream without a name.
    * ``fmt``: The format that the user names, or a suffix that says it.

    Raises `UsageError` for an unknown format, and for a suffix that is unknown, cannot be written,
    or contradicts the user.

    >>> written("x.ndjson.gz", None, ("json", "csv"), "json")
    ('json', 'gzip')
    """
    if fmt is not None:
        fmt = _named(fmt, formats)
    if target is None:
        return fmt or default, "none"
    path = text_of(target)
    kind, compression = of_name(path)
    kind = "json" if kind == "cloudtrail" else kind
    if kind is None:
        _check_no_suffix(path, fmt, formats)
    elif kind not in formats:
        what = "a packfile" if kind == "packfile" else kind
        message = f"{path} is named like {what}, which this command does not write"
        raise UsageError(message, path=path, hint=f"suffixes: {_listed(formats)}")
    elif fmt is not None and fmt.removesuffix("-text") != kind:
        message = f"the suffix of {path} says {kind}, --fmt says {fmt}"
        raise UsageError(message, path=path, hint="leave one of them out")
    return fmt or kind or default, compression


def check_packfile(target: str | os.PathLike[str]) -> None:
    """Require a new packfile not having the name of something else.

    * ``target``: Where it goes. A name without a suffix, or with one that says no format, is fine.

    Raises `UsageError` if the suffix says another format, or a compression.

    >>> check_packfile("events.zion"), check_packfile("2026.01")
    (None, None)
    """
    path = text_of(target)
    kind, compression = of_name(path)
    if compression == "none" and kind in {None, "packfile"}:
        return
    what = compression if kind in {None, "packfile"} else kind
    raise UsageError(
        f"the suffix of {path} says {what}, and the output is a packfile",
        path=path,
        hint=f"call it {stem(path.rpartition('/')[2]) or 'events'}.zion",
    )


def _named(fmt: str, formats: Sequence[str]) -> str:
    """Return the format that a user names: by its name, or as a suffix."""
    if fmt in formats:
        return fmt
    kind = _SUFFIXES.get("." + fmt.lower().removeprefix("."))
    if kind is None or kind not in formats:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(formats))
    return kind


def _check_no_suffix(path: str, fmt: str | None, formats: Sequence[str]) -> None:
    """Refuse a suffix that says something else than any format, unless the user names one."""
    name = _without_compression(path.rpartition("/")[2])[0]
    before, dot, last = name.rpartition(".")
    looks_like_one = last.isalnum() and not last.isdecimal() and len(last) <= _MOST_LETTERS
    if before and dot and looks_like_one and fmt is None:
        message = f"unknown suffix .{last} of {path}"
        hint = f"name it with --fmt, or use one of {_listed(formats)}"
        raise UsageError(message, path=path, hint=hint)


def _listed(formats: Iterable[str]) -> str:
    wanted = set(formats)
    suffixes = [suffix for suffix, kind in _SUFFIXES.items() if kind in wanted]
    return f"{' '.join(suffixes)}, each also with .gz or .zst"
