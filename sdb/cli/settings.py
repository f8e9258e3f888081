"""Settings that commands ask for; :mod:`sdb.cli.settingfiles` reads files of them.

Every command loads this module, so it is small: where there are no files, all is done here.
"""
# ruff: noqa: PTH109, PTH110, PTH111, PTH116, PTH118, PTH120 - pathlib takes long to load

from __future__ import annotations

import os

from sdb.errors import AccessError, UsageError

PROJECT = "sdb.toml"
ROOT = "SNELLER_BUCKET"
OWN_ROOT = "SDB_ROOT"
"""Counts before the variable that the original has, too."""
FORMAT = "SDB_FORMAT"
FORMATS = ("json", "csv", "tsv", "markdown", "table", "vertical", "ion-text")

_root: dict[str, str] = {}
"""What commands say of a root that a file names: a note, or why it is refused, and a hint."""


def adopt_root() -> None:
    """Set `SDB_ROOT` from its older name, for the command and the programs it starts."""
    if root := os.environ.get(OWN_ROOT):
        os.environ[ROOT] = root


def are_there() -> bool:
    """Return whether there is a file of settings."""
    own = user_file(), index_key_file()
    return any(os.path.exists(path) for path in own) or bool(project_file())


def tell_root(**texts: str) -> None:
    """Remember what to say of a root that a file names.

    * ``texts``: A ``note`` if it counts; ``refusal`` and ``hint`` if it does not; or nothing.
    """
    _root.clear()
    _root.update(texts)


def check_root() -> None:
    """Require that no root was refused that a command would use now.

    Raises `AccessError` if one was.
    """
    if "refusal" in _root:
        raise AccessError(_root["refusal"], hint=_root["hint"])


def root_note() -> str:
    """Return where the root is from if a file has set it, for messages; else empty."""
    return _root.get("note", "")


def terminal_format() -> str | None:
    """Return the format for rows on a terminal, if a setting has one.

    Raises `UsageError` if it is not in `FORMATS`.
    """
    form = os.environ.get(FORMAT)
    if form and form not in FORMATS:
        raise UsageError(f"{FORMAT}={form[:40]}: no such format", expected=", ".join(FORMATS))
    return form or None


def user_file() -> str:
    """Return the path of the user's own file, which need not be there."""
    return f"{xdg('XDG_CONFIG_HOME', '.config')}/sdb/config.toml"


def index_key_file() -> str:
    """Return the path of the user's key for tables on S3, which need not be there."""
    return f"{xdg('XDG_CONFIG_HOME', '.config')}/sdb/index-key"


def xdg(variable: str, folder: str) -> str:
    """Return a base folder; the XDG specification says that relative ones are to be ignored."""
    above = os.environ.get(variable, "")
    return above if above.startswith("/") else os.path.expanduser(f"~/{folder}")


def project_file() -> str:
    """Return the nearest `sdb.toml` in the current folder or above, up to home; or empty."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return ""
    home = os.path.realpath(os.path.expanduser("~"))
    while True:
        path = os.path.join(folder, PROJECT)
        try:
            os.stat(path)
        except OSError:
            above = os.path.dirname(folder)
            if folder in {above, home}:
                return ""
            folder = above
        else:
            return path
