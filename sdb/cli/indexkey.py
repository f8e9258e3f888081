"""The user's key for tables on S3: made once, and read where the environment has none."""
# ruff: noqa: PTH103, PTH120 - pathlib takes longer to load than short commands

from __future__ import annotations

import os

from sdb import notes
from sdb.cli.settings import index_key_file
from sdb.errors import ExistsError, UsageError, from_os
from sdb.table.format.signature import KEY_BYTES, VARIABLE, Keyring

_MOST_BYTES = 1 << 12
_OTHERS = 0o077


def make() -> str:
    """Make a key by chance, in a file that nobody else can read; return its path.

    Raises `ExistsError` if there is a key already, without which tables that it signed cannot be
    read.
    """
    from base64 import b64encode

    path = index_key_file()
    if os.environ.get(VARIABLE) and not os.path.exists(path):  # noqa: PTH110
        raise ExistsError(f"{VARIABLE} has a key already", hint="unset it to make another one")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        hint = "tables that it has signed need it: move it away to make another one"
        raise ExistsError(f"there is a key in {path} already", path=path, hint=hint) from None
    except OSError as error:
        raise from_os(error, "writing", path) from error
    with open(descriptor, "wb") as file:  # noqa: PTH123
        file.write(b64encode(os.urandom(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(descriptor)
    return path


def apply() -> None:
    """Make the key of the user's file count where the environment has none.

    Raises `UsageError` if the file has something else.
    """
    if os.environ.get(VARIABLE):
        return
    path = index_key_file()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os(error, "opening", path) from error
    with open(descriptor, "rb") as file:  # noqa: PTH123
        status = os.fstat(descriptor)
        if status.st_mode & _OTHERS or status.st_uid not in {os.geteuid(), 0}:
            notes.warn(f"{path} is not read: other users may read or write it (chmod 600 mends it)")
            return
        text = file.read(_MOST_BYTES).decode(errors="replace").strip()
    try:
        Keyring.parse(text)
    except UsageError as error:
        raise error.within(path, path=path) from None
    os.environ[VARIABLE] = text
