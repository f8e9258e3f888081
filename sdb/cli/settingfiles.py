"""Files of settings: `sdb.toml`, and the user's `config.toml`; and where each setting is from.

Settings of files become the environment variables of the same meaning, where these are not set, so
that all that reads such a variable follows them, programs that a command starts included.

`sdb.toml` may come with a folder of somebody else. So it has only settings that cannot do harm, it
is not read if other users can write it, and a root out of its folder counts only where the user's
own file trusts the folder. What a file of the user says has no such limits.
"""
# ruff: noqa: PTH111, PTH118, PTH120, PTH123 - pathlib takes longer to load than short commands

from __future__ import annotations

import os
import stat

from sdb import notes
from sdb.cli.settings import (
    FORMAT,
    FORMATS,
    OWN_ROOT,
    ROOT,
    index_key_file,
    project_file,
    tell_root,
    user_file,
    xdg,
)
from sdb.errors import UsageError, from_os
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TRUSTED = "trusted"

_MOST_BYTES = 64 << 10
_OTHERS_WRITE = 0o002
_CREDENTIAL = r"(?i)secret|token|passw|credential|(access|api|private|index|aws)[-_. ]?key|^aws[-_]"
_DURATION = r"\d{1,5}(\.\d{1,3})?(ms|s|m|h)"


@record
class Setting:
    """A setting that files may have."""

    name: str  # in files: `cache.size` is `size` in the section `cache`
    variable: str  # of the environment
    expected: str  # what it may be
    default: str
    in_projects: bool  # whether `sdb.toml` may have it


SETTINGS = (
    Setting("root", ROOT, "a folder or s3:// URL", ".", in_projects=True),
    Setting("format", FORMAT, f"one of {', '.join(FORMATS)}", "", in_projects=True),
    Setting("color", "NO_COLOR", "auto or never", "auto", in_projects=True),
    Setting("patience", "SDB_PATIENCE", "a time like 90s or 5m", "60s", in_projects=True),
    Setting("dialect", "SDB_DIALECT", "standard or sneller", "standard", in_projects=True),
    Setting("cache.folder", "SDB_CACHE", "a path from / or ~ on", "", in_projects=False),
    Setting("cache.size", "SDB_CACHE_SIZE", "a size like 10GiB", "10GiB", in_projects=False),
    Setting("cache.columns", "SDB_COLUMN_CACHE", "a size like 256MiB", "256MiB", in_projects=False),
    Setting("allow-inputs", "SDB_ALLOW_INPUTS", "a list of folders or URLs", "", in_projects=False),
)


@record
class Known:
    """The value of a setting, and where it is from."""

    setting: Setting
    value: str
    source: str  # flag, environment, project, user or default
    origin: str  # the option, the variable or the file; empty for defaults
    refusal: str  # why it does not count, although nothing else sets it; or empty


@record
class Files:
    """The files of settings, and what they say."""

    project: str  # the path of `sdb.toml`, or empty
    user: str  # the path of the user's file, whether or not it is there
    values: Mapping[str, Known]  # by the name of the setting


_applied: set[str] = set()
"""Variables that are set because a file says so."""


def apply() -> None:
    """Make settings of files count: as environment variables, where these are not set.

    Raises `SdbError` if a file cannot be read or understood.
    """
    tell_root()
    if os.access(index_key_file(), os.F_OK):  # its module takes milliseconds to load
        from sdb.cli import indexkey

        indexkey.apply()
    for known in read().values.values():
        variable = known.setting.variable
        if os.environ.get(variable):
            continue
        if known.refusal:
            _refuse_root(known)
            continue
        _applied.add(variable)
        if known.setting.name == "root":
            start = f"without --root, paths start at {known.value}"
            tell_root(note=f"{start}: {known.origin} says so")
        if known.setting.name != "color":
            os.environ[variable] = known.value
        elif known.value == "never":
            os.environ[variable] = "1"


def _refuse_root(known: Known) -> None:
    import json

    folder = json.dumps(os.path.dirname(known.origin), ensure_ascii=False)
    hint = f"--root, or {TRUSTED} = [{folder}] in {user_file()}"
    tell_root(refusal=f"{known.origin}: {known.refusal}", hint=hint)


def all_known(root: str | None = None) -> tuple[list[Known], Files]:
    """Return all settings with their values, and the files.

    * ``root``: What a flag says, if it does.

    Raises `SdbError` if a file cannot be read or understood.
    """
    files = read()
    settings = []
    for setting in SETTINGS:
        named = None if setting.variable in _applied else os.environ.get(setting.variable)
        if root and setting.name == "root":
            settings.append(Known(setting, root, "flag", "--root", ""))
        elif named:
            value = "never" if setting.name == "color" else named
            is_own = setting.name == "root" and os.environ.get(OWN_ROOT)
            variable = OWN_ROOT if is_own else setting.variable
            settings.append(Known(setting, value, "environment", variable, ""))
        elif setting.name in files.values:
            settings.append(files.values[setting.name])
        else:
            settings.append(Known(setting, _default(setting), "default", "", ""))
    return settings, files


def _default(setting: Setting) -> str:
    if setting.name != "cache.folder":
        return setting.default
    return f"{xdg('XDG_CACHE_HOME', '.cache')}/sdb"


def read() -> Files:
    """Read the files there are. Raises `SdbError` if one cannot be read or understood."""
    project, user = project_file(), user_file()
    values: dict[str, Known] = {}
    trusted: list[str] = []
    content = _content(user, trusted)
    if content is not None:
        folders = _folders(content.pop(TRUSTED, []), f"{user}: {TRUSTED}")
        trusted = [os.path.realpath(folder) for folder in folders]
        for setting, value in _settings(content, user):
            values[setting.name] = Known(setting, _text(setting, value, user), "user", user, "")
    content = _content(project, trusted) if project else None
    for setting, value in _settings(content or {}, project):
        if not setting.in_projects:
            what = f"{project}: {setting.name} does not belong in a file that comes with a folder"
            raise UsageError(what, hint=f"{user}, or the variable {setting.variable}")
        text, refusal = _text(setting, value, project), ""
        if setting.name == "root":
            text, refusal = _project_root(text, project, trusted)
        values[setting.name] = Known(setting, text, "project", project, refusal)
    return Files(project, user, values)


def _project_root(root: str, project: str, trusted: list[str]) -> tuple[str, str]:
    """Return the root that a project's file names, and why it does not count, if so."""
    folder = os.path.dirname(project)
    if "://" not in root:
        root = os.path.normpath(os.path.join(folder, root))
        real = os.path.realpath(root)
        if _is_below(real, os.path.realpath(folder)):
            return root, ""
    if folder in trusted:
        return root, ""
    return root, f"the root {root} is outside of this folder, which you have not trusted"


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _content(path: str, trusted: list[str]) -> dict[str, Any] | None:
    """Read a file, unless it is not there, or other users may write it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os(error, "opening", path) from error
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise UsageError(f"{path}: not a file of settings", path=path)
        is_own = status.st_uid in {os.geteuid(), 0} and not status.st_mode & _OTHERS_WRITE
        if not is_own and os.path.dirname(path) not in trusted:
            notes.warn(f"{path} is not read: other users may write it")
            return None
        data = file.read(_MOST_BYTES)
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: invalid TOML: {error}", path=path) from None


def _settings(content: dict[str, Any], path: str) -> Iterator[tuple[Setting, Any]]:
    """Iterate over the settings of a file. Raises `UsageError` if it has another member."""
    by_name = {setting.name: setting for setting in SETTINGS}
    for name, value in content.items():
        members = {name: value}
        if isinstance(value, dict):
            members = {f"{name}.{inner}": member for inner, member in value.items()}
        for full, member in members.items():
            if full not in by_name:
                raise _unknown(full, path, list(by_name))
            yield by_name[full], member


def _unknown(name: str, path: str, names: list[str]) -> UsageError:
    import re
    from difflib import get_close_matches

    if re.search(_CREDENTIAL, name):
        what = f"{path}: {name[:80]!r} looks like a credential, and files of sdb have none"
        return UsageError(what, hint="the environment, or the files of AWS (sdb help s3)")
    near = get_close_matches(name, names, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    return UsageError(f"{path}: unknown setting {name[:80]!r}", hint=hint)


def _text(setting: Setting, value: object, path: str) -> str:
    """Return the value of a setting as its variable has it.

    Raises `UsageError` if it is of another type, or not what the setting takes.
    """
    what = f"{path}: {setting.name}"
    wrong = UsageError(f"{what} is {_quoted(value)}", expected=setting.expected)
    if setting.name == "allow-inputs":
        return os.pathsep.join(_folders(value, what))
    if setting.name == "patience" and isinstance(value, int) and not isinstance(value, bool):
        value = f"{value}s"
    if not isinstance(value, str) or not value or "\0" in value:
        raise wrong
    if setting.name == "cache.folder":
        return _folders([value], what)[0]
    import re

    is_fine = {
        "format": value in FORMATS,
        "color": value in {"auto", "never"},
        "dialect": value in {"standard", "sneller"},
        "patience": re.fullmatch(_DURATION, value) is not None,
    }
    if not is_fine.get(setting.name, True):
        raise wrong
    if setting.name in {"cache.size", "cache.columns"}:
        from sdb import bounds

        bounds.KEPT.read(value)
    return value


def _folders(value: object, what: str) -> list[str]:
    """Return a list of absolute paths and URLs."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UsageError(f"{what} is {_quoted(value)}", expected='a list like ["~/in", "s3://b"]')
    folders = [os.path.expanduser(text) for text in value]
    for folder in folders:
        is_url = "://" in folder
        if "\0" in folder or not (is_url or folder.startswith("/")):
            raise UsageError(f"{what} has {_quoted(folder)}", expected="paths from / or ~ on")
    return [folder if "://" in folder else os.path.normpath(folder) for folder in folders]


def _quoted(value: object) -> str:
    """Show a value as TOML would, shortened."""
    import json

    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError):  # a date
        return str(value)[:80]
