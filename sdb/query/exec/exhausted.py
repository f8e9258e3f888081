"""Errors of queries that ran out of memory or room, or met what the engine refuses."""

from __future__ import annotations

from sdb.errors import ExhaustedError, QueryError, SdbError
from sdb.query.duckdb_sql.functions.growth import TOO_LONG, TOO_LONG_TO_COMPARE

_OUT_OF_MEMORY = ("Out of Memory", "maximum total string size")
_NO_ROOM = ("failed to offload", "max_temp_directory_size", "No space left")
_BUCKETS = "FILL would make more than"
_ROWS = "More than one row returned by a subquery"
# What the engine finds wrong with a regular expression that `analyze.regexes` lets pass.
_PATTERNS = (
    "invalid escape sequence",
    "invalid character class",
    "invalid repetition size",
    "bad repetition operator",
    "no argument for repetition operator",
    "invalid perl operator",
    "invalid named capture group",
    "invalid UTF-8",
    "pattern too large",
)


def exhausted(error: BaseException) -> SdbError | None:
    """Return the error that tells what ran out, or None where nothing did.

    * ``error``: An error of the engine, of what reads its rows, or of Python.

    Returns: It says whether memory was too little, or the folder for what does not fit into it; or
    that there are too many buckets or rows of a sub-query, or an invalid regular expression.
    """
    text = str(error).strip()
    lines = text.splitlines() or [type(error).__name__]
    if (refused := _refused(text, lines[0])) is not None:
        return refused
    if any(words in text for words in _NO_ROOM):
        import tempfile

        folder = tempfile.gettempdir()
        return ExhaustedError(
            f"{folder} has no room for what the query cannot keep in memory: {lines[0]}",
            hint="let TMPDIR name a folder with more room, or allow more with --memory",
            path=folder,
        )
    if any(words in text for words in _OUT_OF_MEMORY) or isinstance(error, MemoryError):
        return ExhaustedError(
            f"the query needs more memory than it may have: {lines[0]}",
            hint="allow more with --memory, or ask for fewer groups, columns or rows at a time",
        )
    return None


def _refused(text: str, line: str) -> SdbError | None:
    """Return the error for what statements themselves refuse as they run."""
    if _BUCKETS in text:
        hint = "ask for wider buckets, or for fewer times with WHERE"
        return QueryError(text[text.index(_BUCKETS) :].splitlines()[0], hint=hint)
    if TOO_LONG_TO_COMPARE in text:
        hint = "compare parts of them, as with LEFT, or fewer rows at a time"
        return ExhaustedError(TOO_LONG_TO_COMPARE, hint=hint)
    if TOO_LONG in text:
        hint = "make shorter texts, or texts of fewer rows; constants count for each row"
        return ExhaustedError(text[text.index(TOO_LONG) :].splitlines()[0], hint=hint)
    if _ROWS in text:
        hint = "write LIMIT 1, an aggregate such as MAX, or compare by IN or = ANY"
        return QueryError("a sub-query that stands for one value has several rows", hint=hint)
    if "Invalid Input Error" in text and any(words in text for words in _PATTERNS):
        return QueryError(f"error parsing regexp: {line.partition(': ')[2]}")
    return None
