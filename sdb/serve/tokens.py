"""The file of tokens: names, digests and rights. The tokens themselves are nowhere."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
from contextlib import contextmanager

from sdb import instants
from sdb.errors import CorruptError, ExistsError, NotFoundError, UsageError, from_os
from sdb.records import record
from sdb.serve.access import Rights, TokenLimits, check_new, rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PREFIX = "sdb_"  # by which scanners for secrets know a token
_BYTES = 32
_FORMAT = 1


@record
class StoredToken:
    """A token, without its secret."""

    name: str
    digest: str  # SHA-256 of the token, in hexadecimal digits
    can: tuple[str, ...]  # rights as texts
    created: str  # when it was made
    limits: TokenLimits = TokenLimits()

    @property
    def rights(self) -> Rights:
        """The rights that it has."""
        return rights(self.name, self.can, self.limits)


def create(
    path: Path, name: str, can: Sequence[str], *, now_us: int, limits: TokenLimits | None = None
) -> str:
    """Make a token, and return it; it is not stored, and never shown again.

    Raises `UsageError` if the name is empty, a right is unknown, or there are no rights;
    `ExistsError` if there is a token of the name.
    """
    if not name or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!r} cannot be the name of a token")
    if not can:
        raise UsageError("a token without rights is of no use", hint="--can read:web.*")
    for text in can:
        check_new(text)
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    with _changed(path) as tokens:
        if any(token.name == name for token in tokens):
            raise ExistsError(
                f"there is a token {name!r} already", path=str(path), hint="sdb token revoke"
            )
        created = instants.text(now_us)
        tokens.append(
            StoredToken(name, _digest(secret), tuple(can), created, limits or TokenLimits())
        )
    return secret


def revoke(path: Path, name: str) -> None:
    """Remove a token: requests with it are refused within a second.

    Raises `NotFoundError` if there is no token of the name.
    """
    with _changed(path) as tokens:
        rest = [token for token in tokens if token.name != name]
        if len(rest) == len(tokens):
            raise NotFoundError(
                f"there is no token {name!r}", path=str(path), hint="sdb token list"
            )
        tokens[:] = rest


def read(path: Path) -> list[StoredToken]:
    """Read the tokens.

    Raises `NotFoundError` or `AccessError` if the file is missing, or cannot be read;
    `CorruptError` if it is no file of tokens; `UsageError` if other users may read or write it.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text()
    except OSError as error:
        raise from_os(error, "opening", str(path)) from None
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(
            f"{path} may be read or written by others", path=str(path), hint=f"chmod 600 {path}"
        )
    return _tokens(text, path)


def _tokens(text: str, path: Path) -> list[StoredToken]:
    try:
        stored = json.loads(text)
        if stored["format"] != _FORMAT:
            raise ValueError  # noqa: TRY301 - one message for all of it
        tokens = [
            StoredToken(
                str(each["name"]),
                _checked_digest(each["digest"]),
                tuple(each["can"]),
                str(each["created"]),
                _limits(each.get("limits", {})),
            )
            for each in stored["tokens"]
        ]
        for token in tokens:
            rights(token.name, token.can)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CorruptError(f"{path} is no file of tokens", path=str(path)) from None
    return tokens


def _checked_digest(text: str) -> str:
    if len(bytes.fromhex(text)) != hashlib.sha256().digest_size:
        raise ValueError
    return text.lower()


def _limits(members: dict[str, float]) -> TokenLimits:
    if not all(type(value) in {int, float} and value > 0 for value in members.values()):
        raise ValueError
    return TokenLimits(**members)  # type: ignore[arg-type]  # a TypeError says that there is no such limit


@contextmanager
def _changed(path: Path) -> Iterator[list[StoredToken]]:
    """Change the tokens: one program at a time, and the file appears whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = read(path) if path.exists() else []
            yield tokens
            new = path.with_name(f".{path.name}.new")
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w") as out:  # noqa: PTH123 - a descriptor
                out.write(_text(tokens))
                out.flush()
                os.fsync(descriptor)
            new.replace(path)
    except OSError as error:
        raise from_os(error, "writing", str(path)) from None


def _text(tokens: Sequence[StoredToken]) -> str:
    listed = []
    for token in tokens:
        members = {name: getattr(token, name) for name in ("name", "digest", "can", "created")}
        if limits := token.limits.as_dict():
            members["limits"] = limits
        listed.append(members)
    return json.dumps({"format": _FORMAT, "tokens": listed}, indent=2) + "\n"


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class TokenFile:
    """The tokens of a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._known: list[tuple[str, Rights]] = []
        self.refresh()

    def refresh(self) -> None:
        """Read the file if it is another one than before.

        Raises `SdbError` if it cannot be read; see :func:`read`.
        """
        try:
            status = self._path.stat()
        except OSError as error:
            raise from_os(error, "opening", str(self._path)) from None
        seen = (status.st_mtime_ns, status.st_ino, status.st_size)
        if seen != self._seen:
            self._known = [(token.digest, token.rights) for token in read(self._path)]
            self._seen = seen

    def rights(self, secret: str) -> Rights | None:
        """Return the rights of a token; None: it is unknown, or was revoked.

        Raises `SdbError` if the file cannot be read any more: nobody gets in then.
        """
        self.refresh()
        digest = _digest(secret)
        granted = None
        for known, its_rights in self._known:  # all of them, so that the time says nothing
            if hmac.compare_digest(known, digest):
                granted = its_rights
        return granted


class TokenRights:
    """Rights of requests, by their tokens.

    * ``path``: The file of tokens; None: there are none.
    * ``others``: The rights of everybody where there are none.
    """

    def __init__(self, path: Path | None, others: Rights) -> None:
        self._file = None if path is None else TokenFile(path)
        self._others = others

    def of(self, secret: str) -> Rights | None:
        """Return the rights of a token; None: it has none.

        Raises `SdbError` if the file of tokens cannot be read.
        """
        if self._file is None:
            return self._others
        return self._file.rights(secret) if secret else None
