"""Rights: what a request may see and change."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb.errors import UsageError
from sdb.records import record
from sdb.table.format.keys import joined, split_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VERBS = ("read", "write", "ingest")
"""Rights that name tables: to query, to change in any way, and to insert rows alone."""
QUERY = "query"
"""The right that names stored queries: to ask them, whatever they read."""
ADMIN = "admin"
EVERY = "*"
"""The pattern of all tables, which no token has."""
_HOW = "as in read:web.*, write:web.gha, ingest:logs.*, query:daily or admin"


@record
class TokenLimits:
    """Limits of one request, and of all requests of a token; None: those of the server."""

    timeout_seconds: float | None = None  # for which a query may run
    running: int | None = None  # queries at the same time
    scan_bytes: int | None = None  # that a query may read
    rows: int | None = None  # of an answer that is one JSON object, or a page
    answer_bytes: int | None = None  # of an answer

    def as_dict(self) -> dict[str, float]:
        """Return the limits that there are, by name."""
        names = ("timeout_seconds", "running", "scan_bytes", "rows", "answer_bytes")
        values = [(name, getattr(self, name)) for name in names]
        return {name: value for name, value in values if value is not None}


@record
class Rights:
    """Rights of a request."""

    name: str  # of the token; empty: there are no tokens
    # Verbs, and patterns of ``db.table``, or of names of stored queries
    grants: tuple[tuple[str, str], ...]
    limits: TokenLimits = TokenLimits()
    asker: Rights | None = None  # whose rights decide what answers name, if not its own

    def may(self, verb: str, database: str, table: str) -> bool:
        """Return whether something may be done with a table; who may write may do the rest too."""
        verbs = {verb, "write", ADMIN}
        return any(
            granted in verbs and (granted == ADMIN or is_meant(pattern, database, table))
            for granted, pattern in self.grants
        )

    def reads(self, database: str, table: str) -> bool:
        """Return whether a table may be read."""
        return self.may("read", database, table)

    def knows(self, database: str, table: str) -> bool:
        """Return whether answers may name a table."""
        return (self.asker or self).reads(database, table)

    def asks(self, query: str) -> bool:
        """Return whether a stored query may be asked by a separate right."""
        return any(verb == QUERY and fnmatchcase(query, pattern) for verb, pattern in self.grants)

    @property
    def is_admin(self) -> bool:
        """True if everything may be done."""
        return any(verb == ADMIN for verb, _ in self.grants)

    @property
    def may_write_some(self) -> bool:
        """True if something may be changed."""
        return any(verb in {"write", "ingest", ADMIN} for verb, _ in self.grants)


def is_meant(pattern: str, database: str, table: str) -> bool:
    """Return whether a pattern means a table: each of its two parts fits the name of that part.

    >>> is_meant("web.*", "web", "gha"), is_meant("web.*", "web.private", "gha")
    (True, False)
    """
    if pattern == EVERY:
        return True
    of_database, of_table = split_name(pattern)
    return fnmatchcase(database, of_database) and fnmatchcase(table, of_table)


def rights(name: str, texts: Iterable[str], limits: TokenLimits | None = None) -> Rights:
    """Read rights as `sdb token create --can` takes them.

    Raises `UsageError` if a text is no right.

    >>> rights("grafana", ["read:web.*"]).reads("web", "gha")
    True
    """
    return Rights(name, tuple([_grant(text) for text in texts]), limits or TokenLimits())


def check_new(text: str) -> None:
    """Check a right that a new token gets.

    Raises `UsageError` if it is no right, or does not tell the database from the table.
    """
    verb, pattern = _grant(text)
    database, table = split_name(pattern)
    if verb in VERBS and pattern not in {f"{database}.{table}", joined(database, table)}:
        raise UsageError(f"{text!r} is no right", expected=_HOW)
    if verb in VERBS and '"' not in pattern and "." in table:
        hint = f"as in {verb}:{joined(*pattern.rsplit('.', 1))} for a database with a dot"
        raise UsageError(f"{text!r} has more than a database and a table", hint=hint)


def _grant(text: str) -> tuple[str, str]:
    if text == ADMIN:
        return ADMIN, ""
    verb, colon, pattern = text.partition(":")
    if verb == QUERY and pattern:
        return verb, pattern
    if verb not in VERBS or not colon or not split_name(pattern)[1]:
        raise UsageError(f"{text!r} is no right", expected=_HOW)
    return verb, pattern


EVERYTHING = Rights("", ((ADMIN, ""),))
"""Rights of a server without tokens that takes writes, which only this machine can reach."""
READING = Rights("", (("read", EVERY),))
"""Rights of a server without tokens."""
