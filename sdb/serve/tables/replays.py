"""Requests that are sent again: done once, and answered as at the first time (Idempotency-Key)."""

from __future__ import annotations

import hashlib
import re

from sdb.errors import UsageError
from sdb.records import record
from sdb.serve.problems import HttpError
from sdb.table.commit.commit import find_commit
from sdb.table.format.keys import commit_on
from sdb.table.format.versionref import MAIN
from sdb.table.insert.insert import fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

REPLAYED = {"idempotency-replayed": "true"}
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_ID_LETTERS = 32
_PRINT = "request-"


@record
class RequestKey:
    """The key of a request, as the versions that it makes record it."""

    txn_id: str  # the id of its transaction; empty: the request has no key
    fingerprint: str  # of the key and of what is asked for

    def earlier(self, root: TableRoot, keys: TableKeys, branch: str = MAIN) -> int | None:
        """Return the version that the same request has made of a table before; None: none.

        Raises `HttpError` if another request had the key.
        """
        if not self.txn_id:
            return None
        version = find_commit(root, keys, self.txn_id, branch=branch)
        if version is None:
            return None
        prints = [
            each
            for each in fingerprints(root, keys, version, branch=branch)
            if each.startswith(_PRINT) and _of_key(each) == _of_key(self.fingerprint)
        ]
        if prints and commit_on(branch, self.fingerprint) not in prints:
            raise HttpError(
                422,
                f"Idempotency-Key: another request had it, which is version {version:,}",
                code="key_reused",
                hint="a key is for one request: choose a new one for other rows",
            )
        return version


def _of_key(fingerprint: str) -> str:
    """Return the part of a fingerprint that is of the key alone."""
    return fingerprint[len(_PRINT) :].partition("-")[0]


def key_of(request: Request, owner: str, *asked: str | bytes) -> RequestKey:
    """Return the key of a request: each token has its own keys.

    * ``owner``: Name of the token.
    * ``asked``: What the request asks for: the same key is for the same only.

    Raises `UsageError` if the header is no key.
    """
    text = request.headers.get("idempotency-key")
    if text is None:
        return RequestKey("", "")
    key = text.strip('"')
    if not _KEY.fullmatch(key):
        raise UsageError("Idempotency-Key: 1 to 200 printable characters without spaces")
    of_key = _digest(request.url.path, owner, key)
    return RequestKey(f"http-{of_key}", f"{_PRINT}{of_key}-{_digest(*asked)}")


def digest(pieces: Iterable[bytes]) -> str:
    """Return the digest of a body, piece by piece."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:_ID_LETTERS]
